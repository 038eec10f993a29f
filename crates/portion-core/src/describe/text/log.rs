//! What is told of a log: how grave it is, from when to when, what came first and last, what was thrown, what was
//! answered, and which messages are common.

use serde_json::{Map, Value};

use super::counts::{LargeCounter, SmallCounter, describe_common};
use super::last_line;
use super::severity_words;
use super::text_description::{TextDescription, truncated_line};
use crate::log_entry::{LogEntry, LogLevel};
use crate::snapshot::LineIndex;
use crate::span::Span;

/// How many of them are told.
const MAX_EXCEPTIONS: usize = 5;
const MAX_STATUSES: usize = 8;

/// What was seen of the entries.
#[derive(Default)]
struct LogStats<'a> {
    entry_count: usize,
    times: TimeRange,
    /// Where the last entry begins.
    last_entry_start: usize,
    levels: SmallCounter<'a>,
    /// Where each of the levels stands first.
    first_by_level: Vec<(&'a str, usize)>,
    statuses: SmallCounter<'a>,
    exceptions: SmallCounter<'a>,
    paths: LargeCounter,
    messages: LargeCounter,
}

pub(super) fn describe(
    text: &str,
    index: &LineIndex,
    entries: impl Iterator<Item = LogEntry>,
    telling: &mut TextDescription,
) {
    let seen = collect_stats(text, entries);
    let mut levels = seen.levels.into_counts();
    levels.sort_by_key(|(said, _)| (std::cmp::Reverse(LogLevel::from_word(said)), *said));
    describe_counts("levels", &levels, telling);
    let mut found = severity_words::find(text, severity_words::ALL_WORDS);
    // What is not grave is of interest where it is the level of entries, or where nothing is.
    let is_level = |word: &str| levels.is_empty() || levels.iter().any(|(said, _)| *said == word);
    found.retain(|found| severity_words::PROBLEM_WORDS.contains(&found.word) || is_level(found.word));
    severity_words::describe_counts(&found, &levels, telling);
    // Levels that are letters, or written otherwise than usual, are no words to look for.
    for (word, at) in seen.first_by_level {
        let level = LogLevel::from_word(word);
        if level >= Some(LogLevel::Warn) && !severity_words::ALL_WORDS.contains(&word) {
            let milder = |found: &severity_words::SeverityWord| {
                LogLevel::from_word(found.word).is_some_and(|of| Some(of) < level)
            };
            let place = found.iter().position(milder).unwrap_or(found.len());
            found.insert(place, severity_words::SeverityWord { word, line_count: 0, first_offset: at });
        }
    }
    if seen.entry_count != index.line_count() {
        telling.add("entries", seen.entry_count);
    }
    if let Some((first, last)) = seen.times.range() {
        telling.add("span", format!("{} … {}", first.slice(text), last.slice(text)));
    }
    let last = Value::from(truncated_line(last_line(text), telling.max_quote_chars()));
    let statuses = seen.statuses.most_frequent(MAX_STATUSES);
    let thrown = seen.exceptions.most_frequent(MAX_EXCEPTIONS);
    let share =
        |kinds: &[(&str, usize)], part: usize| if kinds.is_empty() { 0 } else { telling.left() / part };
    let kept = telling.member_cost("last", &last) + share(&thrown, 6) + share(&statuses, 3);
    let room = telling.left().saturating_sub(kept).max(telling.left() * 2 / 3);
    severity_words::describe_first_lines(text, index, &found, room, telling);
    telling.add("last", last);
    let line = index.line_at(text, seen.last_entry_start);
    if line + 1 < index.line_count() && seen.entry_count > 1 {
        let head = text[seen.last_entry_start..].lines().next().unwrap_or_default();
        telling
            .add("lastEntry", format!("{}: {}", line + 1, truncated_line(head, telling.max_quote_chars())));
    }
    describe_counts("statuses", &statuses, telling);
    describe_counts("thrown", &thrown, telling);
    let enough = (seen.entry_count / 100).max(3);
    describe_common("commonPaths", seen.paths, enough, telling);
    describe_common("common", seen.messages, enough, telling);
}

/// The times of the entries: the first and the last to come, and the least and the greatest as texts.
#[derive(Default)]
struct TimeRange {
    first: Option<Span>,
    last: Option<Span>,
    min: Option<Span>,
    max: Option<Span>,
    /// Whether texts of some do not sort as their times do.
    is_unsortable: bool,
}

impl TimeRange {
    fn add(&mut self, text: &str, time: Span) {
        let said = time.slice(text);
        let first = self.first.get_or_insert(time).slice(text);
        self.is_unsortable |= !sorts_as_text(said, first);
        self.last = Some(time);
        if self.min.is_none_or(|least| said < least.slice(text)) {
            self.min = Some(time);
        }
        if self.max.is_none_or(|greatest| said > greatest.slice(text)) {
            self.max = Some(time);
        }
    }

    /// From when to when: what `MIN(time)` and `MAX(time)` say, for entries may come out of order. Where the months are
    /// names, or hours have no fixed width, that says nothing, and the first and the last entry tell it.
    fn range(&self) -> Option<(Span, Span)> {
        if self.is_unsortable { self.first.zip(self.last) } else { self.min.zip(self.max) }
    }
}

/// Whether a time sorts as a text among those that are written like `like`: the year comes first, or digits stand in the
/// same places.
fn sorts_as_text(time: &str, like: &str) -> bool {
    let years = |time: &str| {
        let bytes = time.as_bytes();
        bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && matches!(bytes[4], b'-' | b'/' | b'.')
    };
    let same = || {
        let digits = |byte: u8| byte.is_ascii_digit();
        time.len() == like.len() && time.bytes().zip(like.bytes()).all(|(a, b)| digits(a) == digits(b))
    };
    let named = time.bytes().any(|b| b.is_ascii_alphabetic() && !matches!(b, b'T' | b'Z'));
    !named && (years(time) && years(like) || same())
}

/// As many of the counts as there is room for.
fn describe_counts(key: &str, counts: &[(&str, usize)], telling: &mut TextDescription) {
    for most in (1..=counts.len()).rev() {
        let told: Map<String, Value> =
            counts[..most].iter().map(|(said, count)| ((*said).to_owned(), (*count).into())).collect();
        if telling.add(key, told) {
            break;
        }
    }
}

fn collect_stats(text: &str, entries: impl Iterator<Item = LogEntry>) -> LogStats<'_> {
    let mut seen = LogStats::default();
    for entry in entries {
        seen.entry_count += 1;
        if let Some(time) = entry.time {
            seen.times.add(text, time);
        }
        seen.last_entry_start = entry.span.start as usize;
        if let Some(level) = entry.level {
            let word = level.slice(text);
            if seen.levels.add(word) == 1 {
                seen.first_by_level.push((word, level.start as usize));
            }
        }
        let said = entry.span.slice(text);
        let feed = memchr::memchr(b'\n', said.as_bytes()).unwrap_or(said.len());
        let (line, below) = said.split_at(feed);
        let after =
            entry.level.or(entry.time).map_or(0, |span| span.end.saturating_sub(entry.span.start) as usize);
        let message = line.get(after..).unwrap_or_default();
        if let Some((path, status)) = parse_access(message) {
            seen.paths.add(path.as_bytes());
            seen.statuses.add(status);
        } else {
            seen.messages.add_masked(message.trim_start_matches([' ', '\t', ']', ':', '-', '|', ',']));
        }
        if below.len() > 1 {
            for name in below.lines().filter_map(exception_name) {
                seen.exceptions.add(name);
            }
        }
    }
    seen
}

/// What was asked for, without its query, and the status of the answer, after the time of an access log:
/// `] "GET /a?b HTTP/1.1" 200 `.
fn parse_access(message: &str) -> Option<(&str, &str)> {
    let (request, rest) = message.strip_prefix("] \"")?.split_once("\" ")?;
    let status = rest.get(..3).filter(|status| status.bytes().all(|b| b.is_ascii_digit()))?;
    let is_over = rest.as_bytes().get(3).is_none_or(u8::is_ascii_whitespace);
    let path = request.split(' ').nth(1).unwrap_or(request);
    is_over.then(|| (path.split(['?', '#']).next().unwrap_or(path), status))
}

/// The name of what was thrown, where a line of a stack trace tells it: `java.io.IOException: …`,
/// `Caused by: a.B`, `ValueError: …`.
fn exception_name(line: &str) -> Option<&str> {
    let said = line.trim_start();
    let said = said.strip_prefix("Caused by: ").unwrap_or(said);
    let name = said.split([':', ' ', '(']).next().unwrap_or_default().trim_end();
    let last = name.rsplit(['.', '\\', '$']).next().unwrap_or_default();
    let is_kind = last.starts_with(|c: char| c.is_ascii_uppercase())
        && ["Error", "Exception", "Throwable"].iter().any(|end| last.ends_with(end));
    let is_name =
        || name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'\\'));
    (is_kind && name.len() <= 120 && is_name()).then_some(name)
}
