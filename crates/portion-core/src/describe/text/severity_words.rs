//! Words that tell how grave things are: how many lines have them, and the first of those lines.
//!
//! A line counts where it contains the word as it is written here, be it as a part of another, as with
//! `grep -c`: that is a claim that can be checked.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use serde_json::{Map, Value};

use super::text_description::{TextDescription, truncated_line};
use crate::snapshot::LineIndex;

/// Words of levels and of failures, the gravest first.
pub(super) const ALL_WORDS: &[&str] = &[
    "FATAL", "CRITICAL", "SEVERE", "EMERG", "PANIC", "ALERT", "fatal", "panic", "ERROR", "Error", "error",
    "FAILED", "Failed", "failed", "failure", "WARN", "Warning", "warn", "NOTICE", "notice", "INFO", "DEBUG",
    "TRACE",
];
/// Those that tell of trouble.
pub(super) const PROBLEM_WORDS: &[&str] = {
    let (grave, _) = ALL_WORDS.split_at(18);
    grave
};

/// Those of which the first line is the first line of most logs.
const ROUTINE_WORDS: &[&str] = &["INFO", "DEBUG", "TRACE"];

/// A word, and the lines that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeverityWord<'a> {
    pub(super) word: &'a str,
    /// How many lines contain it.
    pub(super) line_count: usize,
    /// Where it stands first.
    pub(super) first_offset: usize,
}

/// Those of the words that occur. One fast pass for each.
pub(super) fn find(text: &str, words: &[&'static str]) -> Vec<SeverityWord<'static>> {
    let found = words.iter().filter_map(|word| {
        let finder = Finder::new(word);
        let (mut lines, mut at, mut first) = (0, 0, None);
        while let Some(place) = text.as_bytes().get(at..).and_then(|rest| finder.find(rest)) {
            first.get_or_insert(at + place);
            lines += 1;
            let Some(feed) = memchr(b'\n', &text.as_bytes()[at + place..]) else { break };
            at += place + feed + 1;
        }
        first.map(|at| SeverityWord { word, line_count: lines, first_offset: at })
    });
    found.collect()
}

/// Says how many lines contain which word, the gravest first, those apart of which the same was said otherwise.
pub(super) fn describe_counts(found: &[SeverityWord], said: &[(&str, usize)], telling: &mut TextDescription) {
    let mut counts = Map::new();
    let mut left = telling.left() / COUNTS_DIVISOR;
    for found in found.iter().filter(|found| !said.contains(&(found.word, found.line_count))) {
        let value = Value::from(found.line_count);
        let Some(rest) = left.checked_sub(telling.member_cost(found.word, &value)) else { break };
        left = rest;
        counts.insert(found.word.to_owned(), value);
    }
    if !counts.is_empty() {
        telling.add("linesWith", counts);
    }
}

/// The share of the room that counts take at most.
const COUNTS_DIVISOR: usize = 5;

/// Says the first line of each word with its number, the gravest first, as far as they fit into so many tokens.
pub(super) fn describe_first_lines(
    text: &str,
    index: &LineIndex,
    found: &[SeverityWord],
    tokens: usize,
    telling: &mut TextDescription,
) {
    let mut firsts = Map::new();
    let mut places = Vec::new();
    let mut left = tokens.saturating_sub(6);
    for found in found.iter().filter(|found| !ROUTINE_WORDS.contains(&found.word)) {
        let start = memrchr(b'\n', &text.as_bytes()[..found.first_offset]).map_or(0, |feed| feed + 1);
        // A line that is told already is known by its number.
        let number = index.line_at(text, start) + 1;
        let value = |width: usize| {
            if places.contains(&start) {
                return Value::from(number);
            }
            let line = text[start..].lines().next().unwrap_or_default();
            format!(
                "{number}: {}",
                excerpt(line, found.first_offset.saturating_sub(start), found.word, width)
            )
            .into()
        };
        let mut told = value(telling.max_quote_chars());
        let mut cost = telling.member_cost(found.word, &told);
        // The gravest is told even if it must be in few words.
        if cost > left && firsts.is_empty() {
            told = value(MIN_EXCERPT_CHARS);
            cost = telling.member_cost(found.word, &told);
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
        telling.add("first", firsts);
    }
}

/// Characters of a line for which there is hardly room.
const MIN_EXCERPT_CHARS: usize = 50;

/// A line in so many characters, from its beginning; where the word would not be in it, from near the word.
fn excerpt(line: &str, at: usize, word: &str, width: usize) -> String {
    if line[..at + word.len()].chars().count() <= width {
        return truncated_line(line, width);
    }
    let from = line[..at].char_indices().rev().nth(width / 3).map_or(0, |(at, _)| at);
    format!("…{}", truncated_line(&line[from..], width))
}
