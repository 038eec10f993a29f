//! Finds severity words: the number of lines that contain each, and the first of those lines.
//!
//! A line counts if the word stands alone in it, in this spelling. In a flag (`-Werror`), a path, a name
//! (`http-errors`), an assignment (`error=0`) or beside a zero (`0 failed`) it reports no problem.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use portion_text::log_entry::LogLevel;
use serde_json::{Map, Value};

use super::text_description::{TextDescription, truncated_line};
use crate::snapshot::LineIndex;

/// Words for levels and failures, the most severe first.
pub(super) const ALL_WORDS: &[&str] = &[
    "FATAL", "CRITICAL", "SEVERE", "EMERG", "PANIC", "ALERT", "fatal", "panic", "ERROR", "Error", "error",
    "ERR", "FAILED", "Failed", "failed", "FAILURE", "failure", "WARN", "WARNING", "Warning", "warn",
    "warning", "NOTICE", "notice", "INFO", "DEBUG", "TRACE",
];
/// Words for problems.
pub(super) const PROBLEM_WORDS: &[&str] = {
    let (grave, _) = ALL_WORDS.split_at(22);
    grave
};

/// Levels whose first line is the first line of most logs.
const ROUTINE_WORDS: &[&str] = &["INFO", "DEBUG", "TRACE"];

/// A word, and the lines that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeverityWord<'a> {
    pub(super) word: &'a str,
    /// Number of lines that contain it; zero for a level that is counted by entries.
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
            let start = at + place;
            at = start + word.len();
            if !stands_alone(text, start, word) {
                continue;
            }
            first.get_or_insert(start);
            lines += 1;
            let Some(feed) = memchr(b'\n', &text.as_bytes()[at..]) else { break };
            at += feed + 1;
        }
        first.map(|at| SeverityWord { word, line_count: lines, first_offset: at })
    });
    found.collect()
}

/// Returns true if the word at an offset reports a problem: it is part of no name, path or flag, and no number of zero is
/// before it.
fn stands_alone(text: &str, start: usize, word: &str) -> bool {
    let (ahead, rest) = (&text[..start], &text[start + word.len()..]);
    let mut next = rest.chars();
    let (next, beyond) = (next.next().unwrap_or('\n'), next.next().unwrap_or('\n'));
    let ends = match next {
        '.' => !beyond.is_alphanumeric(),
        '"' | '\'' | ':' => beyond != ':',
        _ => next.is_whitespace() || ":;,!?)]}>[(|*\u{1b}".contains(next),
    };
    let last = ahead.chars().next_back().unwrap_or('\n');
    let begins = match last {
        // The name of an exception: `ValueError: …`.
        'A'..='Z' | 'a'..='z' => word == "Error" && next == ':' && beyond.is_whitespace(),
        ':' => !ahead.ends_with("::"),
        _ => last.is_whitespace() || "[(<{|\"'*,;=>".contains(last),
    } && !is_setting(ahead);
    let line = ahead.trim_end_matches(' ');
    let is_none = line.len() < ahead.len()
        && ["0", "no", "No"].iter().any(|none| {
            line.strip_suffix(none)
                .is_some_and(|head| !head.ends_with(|c: char| c.is_alphanumeric() || c == '.'))
        });
    (begins || is_after_color_code(ahead)) && ends && !is_none
}

/// Returns true if a text ends with a flag or a variable whose value follows: `--log-level=`, `--severity `, `RUST_LOG=`.
fn is_setting(ahead: &str) -> bool {
    let before = ahead.trim_end_matches([' ', '=', '"', '\'']);
    let name = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_flag = name.starts_with('-') && name.contains(|c: char| c.is_ascii_lowercase());
    let is_variable = ahead[before.len()..].starts_with('=')
        && name.len() > 1
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_flag && before.len() < ahead.len() || is_variable
}

/// Returns true if a text ends with a colour code: `ESC [ 31 m`.
fn is_after_color_code(text: &str) -> bool {
    let code =
        text.strip_suffix('m').map(|code| code.trim_end_matches(|c: char| c.is_ascii_digit() || c == ';'));
    code.is_some_and(|code| code.ends_with("\u{1b}["))
}

/// Returns the problems of a log: its levels from warnings on, each at the first entry that has it, and words that are no
/// level. Without such a level, words that name one are all that tells of a problem.
pub(super) fn find_in_log<'a>(text: &'a str, first_by_level: &[(&'a str, usize)]) -> Vec<SeverityWord<'a>> {
    let by_entry = |(word, at): &(&'a str, usize)| SeverityWord { word, line_count: 0, first_offset: *at };
    let mut found: Vec<SeverityWord<'a>> = first_by_level
        .iter()
        .filter(|(word, _)| LogLevel::from_word(word) >= Some(LogLevel::Warn))
        .map(by_entry)
        .collect();
    let max = found.iter().filter_map(|found| LogLevel::from_word(found.word)).max();
    let words = if first_by_level.is_empty() { ALL_WORDS } else { PROBLEM_WORDS };
    let is_told = |word: &&str| LogLevel::from_word(word).is_none_or(|level| Some(level) > max);
    let words: Vec<&str> = words.iter().copied().filter(is_told).collect();
    found.extend(find(text, &words));
    let severity = |found: &SeverityWord<'_>| LogLevel::from_word(found.word).unwrap_or(LogLevel::Error);
    found.sort_by_key(|found| std::cmp::Reverse(severity(found)));
    found
}

/// Describes the number of lines with each word, the most severe first, except levels that are counted by entries.
pub(super) fn describe_counts(found: &[SeverityWord], description: &mut TextDescription) {
    let mut counts = Map::new();
    let mut remaining = description.remaining() / COUNTS_DIVISOR;
    for found in found.iter().filter(|found| found.line_count > 0) {
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

#[cfg(test)]
mod tests {
    use super::{PROBLEM_WORDS, find};

    fn check(line: &str, expect: &[&str]) {
        let words: Vec<&str> = find(line, PROBLEM_WORDS).iter().map(|found| found.word).collect();
        assert_eq!(words, expect, "{line}");
    }

    #[test]
    fn problems_are_words_of_their_own() {
        check("/Users/dev/Cart.swift:17:9: error: cannot find 'total' in scope", &["error"]);
        check("error[E0308]: mismatched types", &["error"]);
        check("time=10:00 level=error msg=\"x\"", &["error"]);
        check("{\"level\":\"error\",\"msg\":\"x\"}", &["error"]);
        check("\u{1b}[31mERROR\u{1b}[0m it broke", &["ERROR"]);
        check("Uncaught TypeError: x is not a function", &["Error"]);
        check("** BUILD FAILED **", &["FAILED"]);
        check("main.c:3: warning: unused variable (error)", &["error", "warning"]);
        check("2 failed, 3 passed", &["failed"]);
        check("cc -Werror=return-type -o ErrorHandler.o src/error/FailureView.swift", &[]);
        check("[DIR] error-ex http-errors failed-login.ts error.js std::error::Error error@7.0.2", &[]);
        check("errors=0 error=nil \"error\":null, 0 failed, no error", &[]);
    }
}
