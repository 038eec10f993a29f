//! Builds the notice of a reply: totals, what is missing, and the exact next call, in full and as the text holds it.

mod facts;
mod object;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::budget::Detail;
use super::context::FollowUpCall;
use super::meta::MetaKey;
use super::portion::PortionKind;
use super::query_tables::QueryTables;
use super::rendering::{EnvelopeType, Rendering};
use crate::cursor::CursorToken;
use crate::paging::UnshownRange;
use crate::payload::QueryAnswer;
use crate::policy::{MetadataMode, MetadataStyle, Policy};
use crate::snapshot::{FieldType, JsonOrigin, Part};

/// Number of missing parts that a notice names; it counts the others.
pub(super) const MAX_NAMED_PARTS: usize = 12;

/// Everything that a notice is built from.
pub(super) struct Notice<'a> {
    /// The rendering that the notice is about.
    pub rendering: &'a Rendering,
    /// Set if the payload answers a query.
    pub answer: Option<&'a QueryAnswer>,
    /// Facts about the whole.
    pub facts: Option<&'a Map<String, Value>>,
    /// Types of the fields of the described list.
    pub field_types: Option<&'a HashMap<String, FieldType>>,
    /// Cursor to the start of the reply; `None` if the snapshot could not be stored.
    pub start_cursor: Option<CursorToken>,
    /// Cursor to the next page.
    pub next_cursor: Option<CursorToken>,
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Name of the tool that answers queries, if there is one.
    pub query_tool: Option<&'a str>,
    /// Tables of blocks that are records.
    pub block_tables: Option<&'a QueryTables>,
    /// Address and bytes of each part that is not in the reply.
    pub missing_parts: &'a [(String, usize)],
    /// All parts.
    pub parts: &'a [Part],
    /// Address of the first image or audio among them.
    pub missing_media: Option<&'a str>,
    /// Number of invalid sequences that were replaced.
    pub replaced_count: usize,
    /// Fields with redacted values.
    pub redacted_fields: &'a [String],
    /// Items or bytes that the previous page did not show.
    pub unshown: Option<&'a UnshownRange>,
    /// Origin of the shown JSON, if it was found in a text.
    pub read_as: Option<&'a JsonOrigin>,
    /// Address of the part that the notice is about, if there are several parts.
    pub part_address: Option<&'a str>,
    /// Source of each piece, if it is reported: the URI of a resource or the role of a message.
    pub piece_owners: Vec<Option<&'a str>>,
    /// Prefix of the URIs for further pages, if the reply is the contents of a resource.
    pub read_uri: Option<&'a str>,
    /// Tokens that the reply may cost.
    pub budget: usize,
    /// Share of the budget from which a warning is added, if any.
    pub warning_threshold: Option<f64>,
    /// Style of its keys.
    pub key_style: MetadataStyle,
    /// True if the content is put in an envelope.
    pub is_enveloped: bool,
    /// True if everything is shown as received.
    pub is_whole: bool,
    /// Content that the text shows and `structuredContent` lacks.
    pub structured_gap: Option<Value>,
    /// True if this is the first reply to a call.
    pub is_first_reply: bool,
    /// True if it shows the whole, from its beginning, and so describes it.
    pub describes_whole: bool,
    /// True if the text form has the full notice.
    pub is_full_in_text: bool,
}

/// Reader of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// Programs, which read `_meta`, `structuredContent` or an envelope: they get every fact.
    Programs,
    /// A model, which reads the text: it gets what it can act on.
    Model,
}

impl Notice<'_> {
    /// Returns the cursors that the notice may contain.
    pub(super) fn cursors(&self) -> Vec<CursorToken> {
        let unshown = self.unshown.and_then(|unshown| unshown.cursor.as_ref());
        let cursors = [self.start_cursor.as_ref(), self.next_cursor.as_ref(), unshown];
        cursors.into_iter().flatten().cloned().collect()
    }

    /// Returns true if the content is put in an envelope of this type.
    pub(super) fn is_envelope_of(&self, envelope: EnvelopeType) -> bool {
        self.is_enveloped && self.rendering.envelope_type() == envelope
    }

    /// Returns the kind of the reply: `Query` for an answer, however it is rendered.
    pub(super) fn kind(&self) -> PortionKind {
        if self.answer.is_some() { PortionKind::Query } else { self.rendering.kind }
    }

    fn write(&self, tokens: usize, detail: Detail) -> NoticeText {
        let object = self.to_object(tokens, detail, Audience::Programs);
        let of_model = (!self.is_full_in_text).then(|| self.to_object(tokens, detail, Audience::Model));
        NoticeText::new(object, of_model.as_ref().map(written))
    }

    /// Returns a notice, written for another cost, as `write` does. Most notices differ in their figures only.
    fn rewrite(&self, notice: NoticeText, stated: usize, tokens: usize, detail: Detail) -> NoticeText {
        let is_warned = |tokens| self.warning(tokens, detail).is_some();
        if is_warned(stated) != is_warned(tokens)
            || !self.is_full_in_text && self.rendering.sections.is_some()
        {
            return self.write(tokens, detail);
        }
        let NoticeText { mut object, model_text, .. } = notice;
        if let Some(Value::Object(meta)) = object.get_mut("meta") {
            for (key, value) in self.cost_members(tokens) {
                meta.entry(self.key_style.key(key)).and_modify(|known| *known = value);
            }
        }
        NoticeText::new(object, (!self.is_full_in_text).then_some(model_text))
    }

    /// Returns the notice with the cost of the reply that contains it, the forms that it is in, that cost, and the count.
    ///
    /// The cost is that of a reply whose notice states a larger one. `content`: the cost without the notice. `digits`: tokens by
    /// which the notice may cost more because of other figures.
    pub(super) fn stating_cost<F>(
        &self,
        detail: Detail,
        (content, digits): (usize, usize),
        forms: impl Fn(&NoticeText) -> F,
        cost: impl Fn(&NoticeText, &F) -> usize,
    ) -> (NoticeText, F, usize, usize) {
        let warned =
            self.warning_threshold.map_or(self.budget, |share| (self.budget as f64 * share) as usize);
        let unwarned = Some(warned.saturating_sub(1)).filter(|largest| *largest >= content);
        let stated = |largest: usize| {
            let notice = self.write(largest, detail);
            let tokens = cost(&notice, &forms(&notice)) + digits;
            (notice, largest, tokens)
        };
        let within = unwarned.map(stated).filter(|(_, largest, tokens)| tokens <= largest);
        let (notice, largest, tokens) = within.unwrap_or_else(|| stated(self.budget));
        let notice = self.rewrite(notice, largest, tokens, detail);
        let forms = forms(&notice);
        let counted = cost(&notice, &forms);
        (notice, forms, tokens, counted)
    }

    /// Returns true if a model can do something with the cursor of this reply that it cannot do with the cursor of
    /// the next page or with a cursor that it has.
    fn needs_cursor(&self) -> bool {
        let rendering = self.rendering;
        // The pages of a walk lack the same fields, which the cursors of other replies return.
        let lacks_fields = rendering.meta.condensed.is_some() || rendering.stripped.has_any();
        let omits = rendering.meta.elided_count > 0
            || !rendering.meta.omitted_members.is_empty()
            || lacks_fields && self.next_cursor.is_none()
            || rendering.sections.is_some()
            || !self.missing_parts.is_empty()
            || self.unshown.is_some();
        let is_later_page = rendering.meta.offset.is_some_and(|offset| offset > 0);
        self.is_first_reply || omits || self.next_cursor.is_none() && is_later_page
    }

    /// Returns true if a model can act on a member of `meta`.
    fn is_for_model(&self, key: MetaKey) -> bool {
        let meta = &self.rendering.meta;
        // In a walk, the model knows where the previous reply ended.
        let goes_on = !self.is_first_reply && self.next_cursor.is_some();
        let is_one_line = meta.total_lines == Some(1);
        let is_whole =
            !self.is_first_reply && meta.chunk_bytes.is_some() && meta.chunk_bytes == meta.total_bytes;
        match key {
            MetaKey::PageSize
            | MetaKey::HasMore
            | MetaKey::Rows
            | MetaKey::Strategy
            | MetaKey::ChunkIndex
            | MetaKey::TotalChunks
            | MetaKey::TotalChunksEstimated
            | MetaKey::TotalTokens
            | MetaKey::BytesInChunk
            | MetaKey::ProjectedFields
            | MetaKey::StartByte => false,
            MetaKey::Omitted => !goes_on,
            MetaKey::UpstreamTotal => self.is_first_reply || meta.upstream_next.is_none(),
            MetaKey::Served => self.is_first_reply && self.next_cursor.is_some(),
            // At the end of a list, it follows from the total and the shown items.
            MetaKey::Offset => meta.offset != Some(0) && (self.is_first_reply || meta.is_past_end),
            // The first reply has said that there is one line.
            MetaKey::StartLine | MetaKey::EndLine | MetaKey::TotalLines
                if is_one_line && !self.is_first_reply =>
            {
                false
            }
            MetaKey::StartLine | MetaKey::TotalLines => !goes_on && !is_whole,
            MetaKey::EndLine => !is_whole,
            MetaKey::TotalBytes => self.kind() == PortionKind::Raw || is_one_line && !is_whole,
            // A raw item is a part of a list.
            MetaKey::Path => self.is_first_reply || self.rendering.total_count.is_some(),
            MetaKey::Sort => self.describes_whole,
            _ => true,
        }
    }

    /// Returns a member of `meta`, as short as the detail and the audience ask for.
    fn value(&self, key: MetaKey, detail: Detail, audience: Audience) -> Option<Value> {
        let meta = &self.rendering.meta;
        let is_for_model = audience == Audience::Model;
        let is_minimal = detail == Detail::Minimal;
        let value = match key {
            MetaKey::TotalTokens if is_minimal => return None,
            // A first reply names all fields.
            MetaKey::Condensed if is_for_model => meta.condensed.as_ref()?.total_count().into(),
            // A program need not ask if a page has all fields.
            MetaKey::Condensed
                if self.kind() == PortionKind::Page && meta.served > Some(0) && meta.condensed.is_none() =>
            {
                Value::Array(Vec::new())
            }
            MetaKey::Omitted
                if !meta.omitted_members.is_empty()
                    && (is_minimal || is_for_model && !self.is_first_reply) =>
            {
                meta.omitted_members.len().into()
            }
            // The summary itself shows its fields, so a short notice lists only the first names.
            MetaKey::ProjectedFields if detail > Detail::Full => {
                let characters = if is_minimal { MAX_MINIMAL_BYTES } else { MAX_ESSENTIAL_NAMES };
                meta.projected_fields.as_ref()?.shortened(characters).to_json()
            }
            MetaKey::UpstreamNext if is_for_model => shortened_url(meta.upstream_next.as_ref()?).into(),
            _ => meta.value(key)?,
        };
        match value {
            // A truncated value would name another call.
            Value::String(next)
                if is_minimal && key == MetaKey::UpstreamNext && next.len() > MAX_MINIMAL_BYTES =>
            {
                None
            }
            Value::String(text) if is_minimal && text.len() > MAX_MINIMAL_BYTES => {
                Some(format!("{}…", &text[..text.floor_char_boundary(MAX_MINIMAL_BYTES)]).into())
            }
            value => Some(value),
        }
    }
}

/// Returns the notice with only `nextCursor`, `totalCount` and `meta` at the top level: a closed schema lists
/// no other keys.
pub(super) fn nest_under_meta(notice: &Map<String, Value>, style: MetadataStyle) -> Map<String, Value> {
    let mut notice = notice.clone();
    let mut meta = Map::new();
    for key in ["cut".to_owned(), style.key("notShown")] {
        meta.extend(notice.shift_remove(&key).map(|value| (key, value)));
    }
    if let (false, Some(Value::Object(told))) = (meta.is_empty(), notice.get_mut("meta")) {
        meta.append(told);
        *told = meta;
    }
    notice
}

/// A notice in its written forms.
pub(super) struct NoticeText {
    /// The full JSON object.
    pub object: Map<String, Value>,
    /// The same object, written compactly.
    pub full_text: String,
    /// The notice of the text form.
    pub model_text: String,
}

impl NoticeText {
    /// Writes a notice. `model_text`: that of the text form, if it is not the full one.
    fn new(object: Map<String, Value>, model_text: Option<String>) -> Self {
        let full_text = written(&object);
        Self { model_text: model_text.unwrap_or_else(|| full_text.clone()), full_text, object }
    }
}

fn written(object: &Map<String, Value>) -> String {
    serde_json::to_string(object).unwrap_or_default()
}

/// Returns true if the text form has the full notice: the operator wants all metadata, or the text is the body of
/// an HTTP response, which has no `_meta`.
pub(super) fn is_full_in_text(policy: &Policy, read_call: FollowUpCall<'_>) -> bool {
    policy.render_options.metadata != MetadataMode::WhenShaped || matches!(read_call, FollowUpCall::Http(_))
}

/// Characters of a list of names in a notice without facts.
const MAX_ESSENTIAL_NAMES: usize = 250;

/// Bytes of a string or of a list of names in the shortest notice.
const MAX_MINIMAL_BYTES: usize = 60;

/// Longest call with a URL that is written in full, in bytes.
const MAX_URL_BYTES: usize = 40;

/// Returns how to request the upstream's next page, a long URL reduced to its query: the payload, or the request that was
/// sent, has the rest.
fn shortened_url(call: &str) -> String {
    let url = call.find("://").map(|at| call[..at].rfind(' ').map_or(0, |space| space + 1));
    match url.zip(call.rfind('?')).filter(|(start, query)| start < query && call.len() > MAX_URL_BYTES) {
        Some((start, query)) => format!("{}…{}", &call[..start], &call[query..]),
        None => call.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened_url;

    #[test]
    fn long_urls_are_reduced_to_their_query() {
        for (call, short) in [
            ("page=2", "page=2"),
            ("next: https://a.example/?page=2", "next: https://a.example/?page=2"),
            ("next: https://api.example.org/api/v1/schools/2013/?page=2", "next: …?page=2"),
            ("https://api.example.org/api/v1/schools/2013/?page=2&x=1", "…?page=2&x=1"),
            (
                "https://api.example.org/api/v1/schools/2013/pages/two/",
                "https://api.example.org/api/v1/schools/2013/pages/two/",
            ),
        ] {
            assert_eq!(shortened_url(call), short);
        }
    }
}
