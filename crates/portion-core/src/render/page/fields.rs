//! Decides which fields of the records a page shows.

use portion_json::projection::{FieldSelection, is_path_within};

use super::builder::PageBuilder;
use crate::render::row_format::RowFormat;
use crate::view::RequestedFields;

impl PageBuilder<'_> {
    /// Returns the row format that the request asks for.
    pub(super) fn requested_format(&self) -> RowFormat {
        // Follow-up pages keep the fields that the first page was condensed to.
        let before =
            self.target.pagination.and_then(|pace| pace.kept_fields.as_ref()).filter(|_| self.may_condense());
        let summary = self.summary_selection().filter(|_| before.is_none());
        let is_condensed = before.is_some() || summary.is_some();
        let keep = match &self.target.view.field_selection {
            RequestedFields::Only(fields) => Some(fields.clone()),
            RequestedFields::Auto => before.cloned().or(summary),
            RequestedFields::All => None,
        };
        RowFormat { kept_fields: keep, is_condensed, noise: self.noise.clone(), ..RowFormat::default() }
    }

    /// Returns true if fields may be omitted. Answers and ranked records keep all fields; fewer of them are
    /// served.
    pub(super) fn may_condense(&self) -> bool {
        self.target.view.field_selection == RequestedFields::Auto
            && !self.is_ranked()
            && !self.target.is_answer
            && !self.is_unabridged
    }

    /// Returns the summary fields that the records have, if they are to have no others.
    fn summary_selection(&self) -> Option<FieldSelection> {
        let options = &self.target.policy.render_options;
        if !options.summary_only || !self.may_condense() {
            return None;
        }
        let paths = || self.rows.list.profile.fields.iter().map(|field| &field.path);
        let named = options.summary_fields.iter();
        let is_found = |name: &&String| paths().any(|path| is_path_within(path, name));
        let (found, others): (Vec<&String>, Vec<&String>) = named.partition(is_found);
        let kept =
            found.iter().flat_map(|name| paths().filter(move |path| is_path_within(path, name)).cloned());
        // Not all records are sampled: others may have these fields.
        let kept: Vec<String> = kept.chain(others.into_iter().cloned()).collect();
        // In a value that a caller selects, one common name, such as the id, is no sign of the records that the rule is about.
        let is_meant =
            found.len() > usize::from(self.target.is_singled_out && options.summary_fields.len() > 1);
        is_meant.then(|| kept.into_iter().collect())
    }
}
