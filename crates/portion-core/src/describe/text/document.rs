//! Describes documents: headings of Markdown, HTML and plain text as an outline, and the largest table.

use portion_text::chunk::heading_level;
use portion_text::html::plain_text;
use serde_json::Value;

use super::text_description;
use super::text_description::{
    LIST_OVERHEAD_TOKENS, TextDescription, closing_excerpt, more_marker, truncated_line,
};
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
        text_description::describe_table(table, kept, description);
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

/// Smallest number of headings in an outline, and of lines per heading.
const MIN_HEADINGS: usize = 4;
const MIN_LINES_PER_HEADING: usize = 5;
/// Longest heading shown, in characters.
const MAX_HEADING_CHARS: usize = 80;
/// Largest number of headings kept.
const MAX_HEADINGS: usize = 2000;

/// Returns the headings with their levels, each prefixed with its line number. Returns none if there are too
/// few.
///
/// A heading follows a blank line and precedes a blank or indented line.
pub(super) fn find_headings(text: &str, index: &LineIndex) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut after_gap = true;
    while let Some((at, line)) = lines.next() {
        let heads = |next: &str| next.trim().is_empty() || next.starts_with([' ', '\t']);
        if after_gap
            && lines.peek().is_some_and(|(_, next)| heads(next))
            && !line.contains("..")
            && let Some(level) = heading_level(line)
            && found.len() < MAX_HEADINGS
        {
            found.push((level.min(6), format!("{}: {}", at + 1, truncated_line(line, MAX_HEADING_CHARS))));
        }
        after_gap = line.trim().is_empty();
    }
    let is_outline = found.len() >= MIN_HEADINGS && found.len() * MIN_LINES_PER_HEADING <= index.line_count();
    if is_outline { found } else { Vec::new() }
}

/// Bytes of the end of a document that are read.
const TAIL_BYTES: usize = 4_000;

/// Describes the headings and the table. Returns false if there is neither.
pub(super) fn describe_markup(
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
            let signs = heading_signs(heading.level);
            (heading.level, format!("{}{signs} {title}", line.unwrap_or_default()))
        })
        .collect();
    let last = closing_excerpt(&plain_text(tail(text)), description);
    describe_headings(&outline, table, last, description);
    true
}

/// Returns the end of a document, from a tag on.
fn tail(text: &str) -> &str {
    let start = text.floor_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    let end = &text[start..];
    end.find('<').map_or(end, |tag| &end[tag..])
}
