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
pub(super) struct Found {
    pub(super) word: &'static str,
    /// How many lines contain it.
    pub(super) lines: usize,
    /// Where it stands first.
    pub(super) at: usize,
}

/// Those of the words that occur. One fast pass for each.
pub(super) fn find(text: &str, words: &[&'static str]) -> Vec<Found> {
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

/// Says how many lines contain which word, those apart of which the same was said otherwise.
pub(super) fn tell(found: &[Found], said: &[(&str, usize)], telling: &mut Telling) {
    let new = found.iter().filter(|found| !said.contains(&(found.word, found.lines)));
    let counts: Map<String, Value> = new.map(|found| (found.word.to_owned(), found.lines.into())).collect();
    if !counts.is_empty() {
        telling.say("linesWith", counts);
    }
}

/// Says the first line of each word with its number, the gravest first, as far as they fit into so many tokens.
pub(super) fn tell_first(text: &str, index: &Text, found: &[Found], tokens: usize, telling: &mut Telling) {
    let mut told = Map::new();
    let mut places = Vec::new();
    let mut left = tokens.saturating_sub(6);
    for found in found.iter().filter(|found| !USUAL.contains(&found.word)) {
        let start = memrchr(b'\n', &text.as_bytes()[..found.at]).map_or(0, |feed| feed + 1);
        // A line that is told already is known by its number.
        let number = index.line_at(text, start) + 1;
        let value = if places.contains(&start) {
            Value::from(number)
        } else {
            let line = text[start..].lines().next().unwrap_or_default();
            format!("{number}: {}", excerpt(line, found.at - start, found.word, telling.width())).into()
        };
        let Some(rest) = left.checked_sub(telling.cost_of(found.word, &value)) else { continue };
        left = rest;
        places.push(start);
        told.insert(found.word.to_owned(), value);
    }
    if !told.is_empty() {
        telling.say("first", told);
    }
}

/// A line in so many characters, from its beginning; where the word would not be in it, from near the word.
fn excerpt(line: &str, at: usize, word: &str, width: usize) -> String {
    if line[..at + word.len()].chars().count() <= width {
        return quoted(line, width);
    }
    let from = line[..at].char_indices().rev().nth(width / 3).map_or(0, |(at, _)| at);
    format!("…{}", quoted(&line[from..], width))
}
