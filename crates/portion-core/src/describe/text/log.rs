//! Describes a log: levels, time range, first and last lines, exceptions, response statuses and common
//! messages.

use std::borrow::Cow;
use std::collections::HashMap;

use portion_json::span::Span;
use portion_text::log_entry::{LogEntry, LogLevel, day_of};
use serde_json::{Map, Value};

use super::counts::{LargeCounter, SmallCounter, describe_common};
use super::severity_words;
use super::text_description::{TextDescription, last_line, truncated_line};
use crate::snapshot::LineIndex;

/// Largest number listed of each.
const MAX_EXCEPTIONS: usize = 5;
const MAX_STATUSES: usize = 8;
/// Share of the budget that is kept for common messages, as a divisor.
const COMMON_SHARE: usize = 6;
/// Share of the budget that counts of days take, as a divisor.
const DAYS_SHARE: usize = 5;
/// Days that are counted.
const MAX_DAYS: usize = 4_096;

/// Statistics of the entries.
#[derive(Default)]
struct LogStats<'a> {
    entry_count: usize,
    times: TimeRange,
    days: DayCounts<'a>,
    /// Offset of the last entry.
    last_entry_start: usize,
    levels: SmallCounter<'a>,
    /// Offset of the first occurrence of each level.
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
    description: &mut TextDescription,
) {
    let stats = collect_stats(text, entries);
    let mut levels = stats.levels.into_counts();
    levels.sort_by_key(|(word, _)| (std::cmp::Reverse(LogLevel::from_word(word)), *word));
    describe_counts("levels", &levels, description);
    let found = severity_words::find_in_log(text, &stats.first_by_level);
    severity_words::describe_counts(&found, description);
    if stats.entry_count != index.line_count() {
        description.add("entries", stats.entry_count);
    }
    if let Some((first, last)) = stats.times.range() {
        description.add("span", format!("{} … {}", first.slice(text), last.slice(text)));
    }
    stats.days.describe(description);
    let last = Value::from(truncated_line(last_line(text), description.max_quote_chars()));
    let statuses = stats.statuses.most_frequent(MAX_STATUSES);
    let thrown = stats.exceptions.most_frequent(MAX_EXCEPTIONS);
    let share = |kinds: &[(&str, usize)], part: usize| {
        if kinds.is_empty() { 0 } else { description.remaining() / part }
    };
    let common = description.remaining() / COMMON_SHARE;
    let kept = description.member_cost("last", &last) + share(&thrown, 6) + share(&statuses, 3) + common;
    let available = description.remaining().saturating_sub(kept).max(description.remaining() / 2);
    severity_words::describe_first_lines(text, index, &found, available, description);
    description.add("last", last);
    let line = index.line_at(text, stats.last_entry_start);
    if line + 1 < index.line_count() && stats.entry_count > 1 {
        let head = text[stats.last_entry_start..].lines().next().unwrap_or_default();
        description.add(
            "lastEntry",
            format!("{}: {}", line + 1, truncated_line(head, description.max_quote_chars())),
        );
    }
    describe_counts("statuses", &statuses, description);
    describe_counts("thrown", &thrown, description);
    let enough = (stats.entry_count / 100).max(3);
    describe_common("commonPaths", stats.paths, enough, description);
    describe_common("common", stats.messages, enough, description);
}

/// Number of entries of each day, in order of first occurrence.
#[derive(Default)]
struct DayCounts<'a> {
    counts: Vec<(Cow<'a, str>, usize)>,
    index: HashMap<Cow<'a, str>, usize>,
    /// Index of the day of the last entry.
    last: usize,
}

impl<'a> DayCounts<'a> {
    fn add(&mut self, time: &'a str) {
        let Some(day) = day_of(time) else { return };
        if let Some((_, count)) = self.counts.get_mut(self.last).filter(|(last, _)| *last == day) {
            *count += 1;
            return;
        }
        if let Some(at) = self.index.get(&day) {
            self.last = *at;
            self.counts[*at].1 += 1;
        } else if self.counts.len() < MAX_DAYS {
            self.last = self.counts.len();
            self.index.insert(day.clone(), self.last);
            self.counts.push((day, 1));
        }
    }

    /// Describes all days, or those with the most entries and the number of the others.
    fn describe(&self, description: &mut TextDescription) {
        let max = description.remaining() / DAYS_SHARE;
        let mut busiest: Vec<usize> = (0..self.counts.len()).collect();
        busiest.sort_by_key(|at| std::cmp::Reverse(self.counts[*at].1));
        while !busiest.is_empty() {
            let mut shown = busiest.clone();
            shown.sort_unstable();
            let mut counts: Map<String, Value> =
                shown.iter().map(|at| (self.counts[*at].0.to_string(), self.counts[*at].1.into())).collect();
            if shown.len() < self.counts.len() {
                counts.insert("more".to_owned(), (self.counts.len() - shown.len()).into());
            }
            let counts = Value::from(counts);
            if description.member_cost("perDay", &counts) <= max {
                description.add("perDay", counts);
                return;
            }
            busiest.truncate(busiest.len() * 3 / 4);
        }
    }
}

/// Times of the entries: first and last in order of occurrence, smallest and largest as texts.
#[derive(Default)]
struct TimeRange {
    first: Option<Span>,
    last: Option<Span>,
    min: Option<Span>,
    max: Option<Span>,
    /// True if some times do not sort as texts.
    is_unsortable: bool,
}

impl TimeRange {
    fn add(&mut self, text: &str, time: Span) {
        let written = time.slice(text);
        let first = self.first.get_or_insert(time).slice(text);
        self.is_unsortable |= !sorts_as_text(written, first);
        self.last = Some(time);
        if self.min.is_none_or(|min| written < min.slice(text)) {
            self.min = Some(time);
        }
        if self.max.is_none_or(|greatest| written > greatest.slice(text)) {
            self.max = Some(time);
        }
    }

    /// Returns the time range: the same as `MIN(time)` and `MAX(time)`, because entries may be out of order.
    /// If months are names, or hours have no fixed width, texts do not sort by time, and the range is that of
    /// the first and the last entry.
    fn range(&self) -> Option<(Span, Span)> {
        if self.is_unsortable { self.first.zip(self.last) } else { self.min.zip(self.max) }
    }
}

/// Returns true if a time sorts as a text among times in the format of `like`: the year comes first, or
/// digits are at the same positions.
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
    // Times of day begin anew at midnight.
    let is_clock = time.as_bytes().get(2) == Some(&b':');
    !named && !is_clock && (years(time) && years(like) || same())
}

/// Describes as many of the counts as fit.
fn describe_counts(key: &str, counts: &[(&str, usize)], description: &mut TextDescription) {
    for count in (1..=counts.len()).rev() {
        let listed: Map<String, Value> =
            counts[..count].iter().map(|(word, count)| ((*word).to_owned(), (*count).into())).collect();
        if description.add(key, listed) {
            break;
        }
    }
}

fn collect_stats(text: &str, entries: impl Iterator<Item = LogEntry>) -> LogStats<'_> {
    let mut stats = LogStats::default();
    for entry in entries {
        stats.entry_count += 1;
        if let Some(time) = entry.time {
            stats.times.add(text, time);
            stats.days.add(time.slice(text));
        }
        stats.last_entry_start = entry.span.start as usize;
        if let Some(level) = entry.level {
            let word = level.slice(text);
            if stats.levels.add(word) == 1 {
                stats.first_by_level.push((word, level.start as usize));
            }
        }
        let body = entry.span.slice(text);
        let feed = memchr::memchr(b'\n', body.as_bytes()).unwrap_or(body.len());
        let (line, below) = body.split_at(feed);
        let after =
            entry.level.or(entry.time).map_or(0, |span| span.end.saturating_sub(entry.span.start) as usize);
        let message = line.get(after..).unwrap_or_default();
        if let Some((path, status)) = parse_access(message) {
            stats.paths.add(path.as_bytes());
            stats.statuses.add(status);
        } else {
            stats.messages.add_masked(message.trim_start_matches([' ', '\t', ']', ':', '-', '|', ',']));
        }
        if below.len() > 1 {
            for name in below.lines().filter_map(exception_name) {
                stats.exceptions.add(name);
            }
        }
    }
    stats
}

/// Parses a request in an access log, after its time: `] "GET /a?b HTTP/1.1" 200 `. Returns the path without
/// its query and the status.
fn parse_access(message: &str) -> Option<(&str, &str)> {
    let (request, rest) = message.strip_prefix("] \"")?.split_once("\" ")?;
    let status = rest.get(..3).filter(|status| status.bytes().all(|b| b.is_ascii_digit()))?;
    let is_over = rest.as_bytes().get(3).is_none_or(u8::is_ascii_whitespace);
    let path = request.split(' ').nth(1).unwrap_or(request);
    is_over.then(|| (path.split(['?', '#']).next().unwrap_or(path), status))
}

/// Returns the name of an exception in a line of a stack trace: `java.io.IOException: …`, `Caused by: a.B`,
/// `ValueError: …`.
fn exception_name(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix("Caused by: ").unwrap_or(rest);
    let name = rest.split([':', ' ', '(']).next().unwrap_or_default().trim_end();
    let last = name.rsplit(['.', '\\', '$']).next().unwrap_or_default();
    let is_kind = last.starts_with(|c: char| c.is_ascii_uppercase())
        && ["Error", "Exception", "Throwable"].iter().any(|end| last.ends_with(end));
    let is_name =
        || name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'\\'));
    (is_kind && name.len() <= 120 && is_name()).then_some(name)
}
