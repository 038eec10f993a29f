//! Tables of records that a text contains.

use super::list::ListFacts;
use super::profile::FieldType;

/// Tables of records that a text contains, besides its lines, entries and sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextTables {
    /// The table that queries call `items`.
    pub items: Option<ItemsTable>,
    /// Number of further tables of a document.
    pub further_count: usize,
}

/// A table of records in a text.
#[derive(Clone, Debug)]
pub(crate) struct ItemsTable {
    /// Kind of the table.
    pub source: TableSource,
    /// Number of rows below the header.
    pub row_count: usize,
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// Facts about the columns; none if the text is too large.
    pub facts: ListFacts,
    /// Number of the bytes of the text that it takes.
    pub byte_count: usize,
}

/// Smallest share of a document that its described table takes, as a divisor.
const DESCRIBED_SHARE: usize = 4;

/// Kind of a table in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableSource {
    /// The whole text: rows of separated values.
    Delimited,
    /// The largest table of a document.
    Document,
    /// The files of a diff.
    Diff,
}

impl ItemsTable {
    /// Returns true if the description of the text has facts about the columns.
    pub(crate) fn is_described(&self, text: &str) -> bool {
        match self.source {
            TableSource::Delimited => true,
            TableSource::Document => self.byte_count * DESCRIBED_SHARE >= text.len(),
            TableSource::Diff => false,
        }
    }

    /// Returns the columns with their types: `path string,added number,+4 more`, in at most this many characters.
    pub(crate) fn typed_columns(&self, characters: usize) -> String {
        let types = self.facts.field_types();
        let column = |name: &String| {
            let kind = types.get(name).copied().filter(|kind| *kind != FieldType::String);
            kind.map_or_else(|| name.clone(), |kind| format!("{name} {}", kind.name()))
        };
        column_list(&self.columns.iter().map(column).collect::<Vec<_>>(), characters)
    }
}

/// Returns columns with commas between them, as many as there is room for: `path,added,+4 more`.
pub(crate) fn column_list(columns: &[String], characters: usize) -> String {
    let mut written = String::new();
    for (at, column) in columns.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        if written.len() + column.len() > characters {
            return format!("{written}{comma}+{} more", columns.len() - at);
        }
        written.push_str(comma);
        written.push_str(column);
    }
    written
}
