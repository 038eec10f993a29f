//! Describes a document with headings by its outline.

use portion_text::chunk::outline::headings;
use serde_json::Value;

use super::ending::closing_excerpt;
use super::text_description::{LIST_OVERHEAD_TOKENS, TextDescription, more_marker, truncated_line};

/// Longest title shown, in characters.
const MAX_TITLE_CHARS: usize = 100;

pub(super) fn describe(text: &str, description: &mut TextDescription) {
    let found: Vec<(u8, String)> = headings(text)
        .into_iter()
        .map(|heading| {
            (
                heading.level,
                format!(
                    "{} {}",
                    heading_signs(heading.level),
                    truncated_line(heading.title, MAX_TITLE_CHARS)
                ),
            )
        })
        .collect();
    description.add("headings", found.len());
    let last = closing_excerpt(text, description);
    let kept = description.member_cost("last", &last);
    describe_outline(&found, description.remaining().saturating_sub(kept), description);
    description.add("last", last);
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
