//! Words that tell how grave things are: how many lines have them, and the first of those lines.
//!
//! A line counts where it contains the word as it is written here, be it as a part of another, as with
//! `grep -c`: that is a claim that can be checked.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use serde_json::{Map, Value};

use super::telling::{Telling, quoted};
use crate::snapshot::Text;

/// Words of levels and of failures, the gravest first.
pub(super) const ALL: &[&str] = &[
    "FATAL", "CRITICAL", "SEVERE", "EMERG", "PANIC", "ALERT", "fatal", "panic", "ERROR", "Error", "error",
    "FAILED", "Failed", "failed", "failure", "WARN", "Warning", "warn", "NOTICE", "notice", "INFO", "DEBUG",
    "TRACE",
];
/// Those that tell of trouble.
pub(super) const GRAVE: &[&str] = {
    let (grave, _) = ALL.split_at(18);
    grave
};

/// Those of which the first line is the first line of most logs.
const USUAL: &[&str] = &["INFO", "DEBUG", "TRACE"];

/// A word, and the lines that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) word: &'a str,
    /// How many lines contain it.
    pub(super) lines: usize,
    /// Where it stands first.
    pub(super) at: usize,
}

/// Those of the words that occur. One fast pass for each.
pub(super) fn find(text: &str, words: &[&'static str]) -> Vec<Found<'static>> {
    let found = words.iter().filter_map(|word| {
        let finder = Finder::new(word);
        let (mut lines, mut at, mut first) = (0, 0, None);
        while let Some(place) = text.as_bytes().get(at..).and_then(|rest| finder.find(rest)) {
            first.get_or_insert(at + place);
            lines += 1;
            let Some(feed) = memchr(b'\n', &text.as_bytes()[at + place..]) else { break };
            at += place + feed + 1;
        }
        first.map(|at| Found { word, lines, at })
    });
    found.collect()
}

/// Says how many lines contain which word, the gravest first, those apart of which the same was said otherwise.
pub(super) fn tell(found: &[Found], said: &[(&str, usize)], telling: &mut Telling) {
    let mut counts = Map::new();
    let mut left = telling.left() / SHARE;
    for found in found.iter().filter(|found| !said.contains(&(found.word, found.lines))) {
        let value = Value::from(found.lines);
        let Some(rest) = left.checked_sub(telling.cost_of(found.word, &value)) else { break };
        left = rest;
        counts.insert(found.word.to_owned(), value);
    }
    if !counts.is_empty() {
        telling.say("linesWith", counts);
    }
}

/// The share of the room that counts take at most.
const SHARE: usize = 5;

/// Says the first line of each word with its number, the gravest first, as far as they fit into so many tokens.
pub(super) fn tell_first(text: &str, index: &Text, found: &[Found], tokens: usize, telling: &mut Telling) {
    let mut firsts = Map::new();
    let mut places = Vec::new();
    let mut left = tokens.saturating_sub(6);
    for found in found.iter().filter(|found| !USUAL.contains(&found.word)) {
        let start = memrchr(b'\n', &text.as_bytes()[..found.at]).map_or(0, |feed| feed + 1);
        // A line that is told already is known by its number.
        let number = index.line_at(text, start) + 1;
        let value = |width: usize| {
            if places.contains(&start) {
                return Value::from(number);
            }
            let line = text[start..].lines().next().unwrap_or_default();
            format!("{number}: {}", excerpt(line, found.at.saturating_sub(start), found.word, width)).into()
        };
        let mut told = value(telling.width());
        let mut cost = telling.cost_of(found.word, &told);
        // The gravest is told even if it must be in few words.
        if cost > left && firsts.is_empty() {
            told = value(FEW);
            cost = telling.cost_of(found.word, &told);
        }
        let Some(rest) = left.checked_sub(cost) else {
            if firsts.is_empty() {
                break;
            }
            continue;
        };
        left = rest;
        places.push(start);
        firsts.insert(found.word.to_owned(), told);
    }
    if !firsts.is_empty() {
        telling.say("first", firsts);
    }
}

/// Characters of a line for which there is hardly room.
const FEW: usize = 50;

/// A line in so many characters, from its beginning; where the word would not be in it, from near the word.
fn excerpt(line: &str, at: usize, word: &str, width: usize) -> String {
    if line[..at + word.len()].chars().count() <= width {
        return quoted(line, width);
    }
    let from = line[..at].char_indices().rev().nth(width / 3).map_or(0, |(at, _)| at);
    format!("…{}", quoted(&line[from..], width))
}
