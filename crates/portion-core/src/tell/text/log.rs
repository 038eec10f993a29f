//! What is told of a log: how grave it is, from when to when, what came first and last, what was thrown, what was
//! answered, and which messages are common.

use serde_json::{Map, Value};

use super::counts::{Few, Many, say_common};
use super::last_line;
use super::telling::{Telling, quoted};
use super::words;
use crate::entry::{Entry, Level};
use crate::snapshot::Text;
use crate::span::Span;

/// How many of them are told.
const THROWN: usize = 5;
const STATUSES: usize = 8;

/// What was seen of the entries.
#[derive(Default)]
struct Seen<'a> {
    entries: usize,
    times: Times,
    /// Where the last entry begins.
    last_line: usize,
    levels: Few<'a>,
    /// Where each of the levels stands first.
    first_of: Vec<(&'a str, usize)>,
    statuses: Few<'a>,
    thrown: Few<'a>,
    paths: Many,
    messages: Many,
}

pub(super) fn tell(text: &str, index: &Text, entries: impl Iterator<Item = Entry>, telling: &mut Telling) {
    let seen = see(text, entries);
    let mut levels = seen.levels.all();
    levels.sort_by_key(|(said, _)| (std::cmp::Reverse(Level::of(said)), *said));
    say_counts("levels", &levels, telling);
    let mut found = words::find(text, words::ALL);
    // What is not grave is of interest where it is the level of entries, or where nothing is.
    let is_level = |word: &str| levels.is_empty() || levels.iter().any(|(said, _)| *said == word);
    found.retain(|found| words::GRAVE.contains(&found.word) || is_level(found.word));
    words::tell(&found, &levels, telling);
    // Levels that are letters, or written otherwise than usual, are no words to look for.
    for (word, at) in seen.first_of {
        let level = Level::of(word);
        if level >= Some(Level::Warn) && !words::ALL.contains(&word) {
            let milder = |found: &words::Found| Level::of(found.word).is_some_and(|of| Some(of) < level);
            let place = found.iter().position(milder).unwrap_or(found.len());
            found.insert(place, words::Found { word, lines: 0, at });
        }
    }
    if seen.entries != index.line_count() {
        telling.say("entries", seen.entries);
    }
    if let Some((first, last)) = seen.times.span() {
        telling.say("span", format!("{} … {}", first.of(text), last.of(text)));
    }
    let last = Value::from(quoted(last_line(text), telling.width()));
    let statuses = seen.statuses.most(STATUSES);
    let thrown = seen.thrown.most(THROWN);
    let share =
        |kinds: &[(&str, usize)], part: usize| if kinds.is_empty() { 0 } else { telling.left() / part };
    let kept = telling.cost_of("last", &last) + share(&thrown, 6) + share(&statuses, 3);
    let room = telling.left().saturating_sub(kept).max(telling.left() * 2 / 3);
    words::tell_first(text, index, &found, room, telling);
    telling.say("last", last);
    let line = index.line_at(text, seen.last_line);
    if line + 1 < index.line_count() && seen.entries > 1 {
        let head = text[seen.last_line..].lines().next().unwrap_or_default();
        telling.say("lastEntry", format!("{}: {}", line + 1, quoted(head, telling.width())));
    }
    say_counts("statuses", &statuses, telling);
    say_counts("thrown", &thrown, telling);
    let enough = (seen.entries / 100).max(3);
    say_common("commonPaths", seen.paths, enough, telling);
    say_common("common", seen.messages, enough, telling);
}

/// The times of the entries: the first and the last to come, and the least and the greatest as texts.
#[derive(Default)]
struct Times {
    first: Option<Span>,
    last: Option<Span>,
    least: Option<Span>,
    greatest: Option<Span>,
    /// Whether texts of some do not sort as their times do.
    unsorted: bool,
}

impl Times {
    fn add(&mut self, text: &str, time: Span) {
        let said = time.of(text);
        let first = self.first.get_or_insert(time).of(text);
        self.unsorted |= !sorts_as_text(said, first);
        self.last = Some(time);
        if self.least.is_none_or(|least| said < least.of(text)) {
            self.least = Some(time);
        }
        if self.greatest.is_none_or(|greatest| said > greatest.of(text)) {
            self.greatest = Some(time);
        }
    }

    /// From when to when: what `MIN(time)` and `MAX(time)` say, for entries may come out of order. Where the months are
    /// names, or hours have no fixed width, that says nothing, and the first and the last entry tell it.
    fn span(&self) -> Option<(Span, Span)> {
        if self.unsorted { self.first.zip(self.last) } else { self.least.zip(self.greatest) }
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
fn say_counts(key: &str, counts: &[(&str, usize)], telling: &mut Telling) {
    for most in (1..=counts.len()).rev() {
        let told: Map<String, Value> =
            counts[..most].iter().map(|(said, count)| ((*said).to_owned(), (*count).into())).collect();
        if telling.say(key, told) {
            break;
        }
    }
}

fn see(text: &str, entries: impl Iterator<Item = Entry>) -> Seen<'_> {
    let mut seen = Seen::default();
    for entry in entries {
        seen.entries += 1;
        if let Some(time) = entry.time {
            seen.times.add(text, time);
        }
        seen.last_line = entry.span.start as usize;
        if let Some(level) = entry.level {
            let word = level.of(text);
            if seen.levels.add(word) == 1 {
                seen.first_of.push((word, level.start as usize));
            }
        }
        let said = entry.span.of(text);
        let feed = memchr::memchr(b'\n', said.as_bytes()).unwrap_or(said.len());
        let (line, below) = said.split_at(feed);
        let after =
            entry.level.or(entry.time).map_or(0, |span| span.end.saturating_sub(entry.span.start) as usize);
        let message = line.get(after..).unwrap_or_default();
        if let Some((path, status)) = asked(message) {
            seen.paths.add(path.as_bytes());
            seen.statuses.add(status);
        } else {
            seen.messages.add_masked(message.trim_start_matches([' ', '\t', ']', ':', '-', '|', ',']));
        }
        if below.len() > 1 {
            for name in below.lines().filter_map(thrown) {
                seen.thrown.add(name);
            }
        }
    }
    seen
}

/// What was asked for, without its query, and the status of the answer, after the time of an access log:
/// `] "GET /a?b HTTP/1.1" 200 `.
fn asked(message: &str) -> Option<(&str, &str)> {
    let (request, rest) = message.strip_prefix("] \"")?.split_once("\" ")?;
    let status = rest.get(..3).filter(|status| status.bytes().all(|b| b.is_ascii_digit()))?;
    let is_over = rest.as_bytes().get(3).is_none_or(u8::is_ascii_whitespace);
    let path = request.split(' ').nth(1).unwrap_or(request);
    is_over.then(|| (path.split(['?', '#']).next().unwrap_or(path), status))
}

/// The name of what was thrown, where a line of a stack trace tells it: `java.io.IOException: …`,
/// `Caused by: a.B`, `ValueError: …`.
fn thrown(line: &str) -> Option<&str> {
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
