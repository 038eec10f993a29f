//! Describes a document with headings by its outline and its largest table.

use serde_json::Value;

use super::ending::closing_excerpt;
use super::table;
use super::text_description::{LIST_OVERHEAD_TOKENS, TextDescription, more_marker, truncated_line};
use crate::snapshot::{ItemsTable, LineIndex};

/// Longest title shown, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 100;

/// Describes the headings, and the table if it is a large part of the document.
pub(super) fn describe(
    text: &str,
    index: &LineIndex,
    table: Option<&ItemsTable>,
    description: &mut TextDescription,
) {
    let outline: Vec<(u8, String)> = index
        .headings(text)
        .into_iter()
        .map(|heading| {
            let title = truncated_line(&heading.title, MAX_TITLE_CHARS);
            (heading.level, format!("{} {title}", heading_signs(heading.level)))
        })
        .collect();
    let last = closing_excerpt(text, description);
    describe_headings(&outline, table, last, description);
}

/// Describes the headings, with at most half of the tokens if there is a table, then the table, then the end of the text.
pub(super) fn describe_headings(
    outline: &[(u8, String)],
    table: Option<&ItemsTable>,
    last: Value,
    description: &mut TextDescription,
) {
    if !outline.is_empty() {
        description.add("headings", outline.len());
    }
    let kept = description.member_cost("last", &last);
    let share = if table.is_some() { 2 } else { 1 };
    describe_outline(outline, description.remaining().saturating_sub(kept) / share, description);
    if let Some(table) = table {
        table::describe(table, kept, description);
    }
    // A page may end with a script, which has no text.
    if last.as_str().is_some_and(|last| !last.is_empty()) {
        description.add("last", last);
    }
}

pub(super) fn heading_signs(level: u8) -> &'static str {
    "######".get(..level.into()).unwrap_or("######")
}

/// Describes the headings that fit the token budget: all, or those of the upper levels and then as many as
/// fit of the next level.
pub(super) fn describe_outline(found: &[(u8, String)], tokens: usize, description: &mut TextDescription) {
    let mut remaining = tokens.saturating_sub(LIST_OVERHEAD_TOKENS);
    let costs: Vec<_> = found.iter().map(|(_, heading)| description.list_item_cost(heading)).collect();
    let mut shown = vec![false; found.len()];
    for level in 1..=6 {
        for ((_, cost), shown) in
            found.iter().zip(&costs).zip(&mut shown).filter(|(((of, _), _), _)| *of == level)
        {
            match remaining.checked_sub(*cost) {
                Some(rest) => (remaining, *shown) = (rest, true),
                None => remaining = 0,
            }
        }
    }
    let mut entries: Vec<Value> = found
        .iter()
        .zip(&shown)
        .filter(|(_, shown)| **shown)
        .map(|((_, heading), _)| heading.as_str().into())
        .collect();
    if entries.is_empty() {
        return;
    }
    if entries.len() < found.len() {
        entries.push(more_marker(found.len() - entries.len()));
    }
    description.add("outline", entries);
}
