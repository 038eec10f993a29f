//! Describes HTML by its headings and its largest table.

use portion_text::html::plain_text;

use super::document::{self, MAX_TITLE_CHARS};
use super::ending::closing_excerpt;
use super::text_description::{TextDescription, truncated_line};
use crate::snapshot::{ItemsTable, LineIndex};

/// Bytes of the end of a document that are read.
const TAIL_BYTES: usize = 4_000;

/// Describes the headings and the table. Returns false if there is neither.
pub(super) fn describe(
    text: &str,
    index: &LineIndex,
    table: Option<&ItemsTable>,
    description: &mut TextDescription,
) -> bool {
    let headings = index.headings(text);
    if headings.is_empty() && table.is_none() {
        return false;
    }
    // In a document of one line, line numbers tell nothing.
    let has_lines = index.line_count() > 1;
    let outline: Vec<(u8, String)> = headings
        .into_iter()
        .map(|heading| {
            let title = truncated_line(&heading.title, MAX_TITLE_CHARS);
            let line = has_lines.then(|| format!("{}: ", index.line_at(text, heading.start) + 1));
            let signs = document::heading_signs(heading.level);
            (heading.level, format!("{}{signs} {title}", line.unwrap_or_default()))
        })
        .collect();
    let last = closing_excerpt(&plain_text(tail(text)), description);
    document::describe_headings(&outline, table, last, description);
    true
}

/// Returns the end of a document, from a tag on.
fn tail(text: &str) -> &str {
    let start = text.floor_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    let end = &text[start..];
    end.find('<').map_or(end, |tag| &end[tag..])
}
