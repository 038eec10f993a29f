//! Finds severity words: the number of lines that contain each, and the first of those lines.
//!
//! A line counts if it contains the word in this spelling, even as a part of another word, as with `grep -c`,
//! so that readers can verify the count.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use serde_json::{Map, Value};

use super::text_description::{TextDescription, truncated_line};
use crate::snapshot::LineIndex;

/// Words for levels and failures, the most severe first.
pub(super) const ALL_WORDS: &[&str] = &[
    "FATAL", "CRITICAL", "SEVERE", "EMERG", "PANIC", "ALERT", "fatal", "panic", "ERROR", "Error", "error",
    "FAILED", "Failed", "failed", "failure", "WARN", "Warning", "warn", "NOTICE", "notice", "INFO", "DEBUG",
    "TRACE",
];
/// Words for problems.
pub(super) const PROBLEM_WORDS: &[&str] = {
    let (grave, _) = ALL_WORDS.split_at(18);
    grave
};

/// Levels whose first line is the first line of most logs.
const ROUTINE_WORDS: &[&str] = &["INFO", "DEBUG", "TRACE"];

/// A word, and the lines that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeverityWord<'a> {
    pub(super) word: &'a str,
    /// Number of lines that contain it.
    pub(super) line_count: usize,
    /// Offset of its first occurrence.
    pub(super) first_offset: usize,
}

/// Returns the words that occur, with one fast pass for each.
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

/// Describes the number of lines with each word, the most severe first, except counts that
/// are already `reported`.
pub(super) fn describe_counts(
    found: &[SeverityWord],
    reported: &[(&str, usize)],
    description: &mut TextDescription,
) {
    let mut counts = Map::new();
    let mut remaining = description.remaining() / COUNTS_DIVISOR;
    for found in found.iter().filter(|found| !reported.contains(&(found.word, found.line_count))) {
        let value = Value::from(found.line_count);
        let Some(rest) = remaining.checked_sub(description.member_cost(found.word, &value)) else { break };
        remaining = rest;
        counts.insert(found.word.to_owned(), value);
    }
    if !counts.is_empty() {
        description.add("linesWith", counts);
    }
}

/// Share of the budget that counts may take, as a divisor.
const COUNTS_DIVISOR: usize = 5;

/// Describes the first line of each word with its number, the most severe first, as many as fit the token
/// budget.
pub(super) fn describe_first_lines(
    text: &str,
    index: &LineIndex,
    found: &[SeverityWord],
    tokens: usize,
    description: &mut TextDescription,
) {
    let mut firsts = Map::new();
    let mut places = Vec::new();
    let mut remaining = tokens.saturating_sub(6);
    for found in found.iter().filter(|found| !ROUTINE_WORDS.contains(&found.word)) {
        let start = memrchr(b'\n', &text.as_bytes()[..found.first_offset]).map_or(0, |feed| feed + 1);
        // A line that is already quoted is given by its number.
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
        let mut quoted = value(description.max_quote_chars());
        let mut cost = description.member_cost(found.word, &quoted);
        // The most severe word is quoted even if the quote must be short.
        if cost > remaining && firsts.is_empty() {
            quoted = value(MIN_EXCERPT_CHARS);
            cost = description.member_cost(found.word, &quoted);
        }
        let Some(rest) = remaining.checked_sub(cost) else {
            if firsts.is_empty() {
                break;
            }
            continue;
        };
        remaining = rest;
        places.push(start);
        firsts.insert(found.word.to_owned(), quoted);
    }
    if !firsts.is_empty() {
        description.add("first", firsts);
    }
}

/// Characters of a quote if little budget is left.
const MIN_EXCERPT_CHARS: usize = 50;

/// Returns at most `width` characters of a line, from its beginning, or from near the word if it would be cut
/// off.
fn excerpt(line: &str, at: usize, word: &str, width: usize) -> String {
    if line[..at + word.len()].chars().count() <= width {
        return truncated_line(line, width);
    }
    let from = line[..at].char_indices().rev().nth(width / 3).map_or(0, |(at, _)| at);
    format!("…{}", truncated_line(&line[from..], width))
}
