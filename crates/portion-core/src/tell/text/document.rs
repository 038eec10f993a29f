//! What is told of a document with headings: its outline.

use serde_json::Value;

use super::closing_of;
use super::telling::{LIST, Telling, more, quoted};
use crate::chunk::outline::headings;

/// Characters of a title.
const TITLE: usize = 100;

pub(super) fn tell(text: &str, telling: &mut Telling) {
    let found: Vec<(u8, String)> = headings(text)
        .into_iter()
        .map(|heading| (heading.level, format!("{} {}", signs(heading.level), quoted(heading.title, TITLE))))
        .collect();
    telling.say("headings", found.len());
    let last = closing_of(text, telling);
    let kept = telling.cost_of("last", &last);
    tell_outline(&found, telling.left().saturating_sub(kept), telling);
    telling.say("last", last);
}

fn signs(level: u8) -> &'static str {
    "######".get(..level.into()).unwrap_or("######")
}

/// Says as many of the headings as fit into so many tokens: all, or those of the upper levels and then as many as fit
/// of the next.
pub(super) fn tell_outline(found: &[(u8, String)], tokens: usize, telling: &mut Telling) {
    let mut left = tokens.saturating_sub(LIST);
    let costs: Vec<_> = found.iter().map(|(_, said)| telling.cost_in_list(said)).collect();
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
        told.push(more(found.len() - told.len()));
    }
    telling.say("outline", told);
}
