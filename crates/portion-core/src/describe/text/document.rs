//! What is told of a document with headings: its outline.

use serde_json::Value;

use super::closing_excerpt;
use super::text_description::{LIST_OVERHEAD_TOKENS, TextDescription, more_marker, truncated_line};
use crate::chunk::outline::headings;

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 100;

pub(super) fn describe(text: &str, telling: &mut TextDescription) {
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
    telling.add("headings", found.len());
    let last = closing_excerpt(text, telling);
    let kept = telling.member_cost("last", &last);
    describe_outline(&found, telling.left().saturating_sub(kept), telling);
    telling.add("last", last);
}

fn heading_signs(level: u8) -> &'static str {
    "######".get(..level.into()).unwrap_or("######")
}

/// Says as many of the headings as fit into so many tokens: all, or those of the upper levels and then as many as fit
/// of the next.
pub(super) fn describe_outline(found: &[(u8, String)], tokens: usize, telling: &mut TextDescription) {
    let mut left = tokens.saturating_sub(LIST_OVERHEAD_TOKENS);
    let costs: Vec<_> = found.iter().map(|(_, said)| telling.list_item_cost(said)).collect();
    let mut shown = vec![false; found.len()];
    for level in 1..=6 {
        for ((_, cost), shown) in
            found.iter().zip(&costs).zip(&mut shown).filter(|(((of, _), _), _)| *of == level)
        {
            match left.checked_sub(*cost) {
                Some(rest) => (left, *shown) = (rest, true),
                None => left = 0,
            }
        }
    }
    let mut told: Vec<Value> = found
        .iter()
        .zip(&shown)
        .filter(|(_, shown)| **shown)
        .map(|((_, said), _)| said.as_str().into())
        .collect();
    if told.is_empty() {
        return;
    }
    if told.len() < found.len() {
        told.push(more_marker(found.len() - told.len()));
    }
    telling.add("outline", told);
}
