//! Finds the time in a log line, in any common format.
//!
//! A time is read word by word: a date or a part of one, then a time of day, then a zone, up to a word
//! that is none of these. The parts are recognized by their form, so no list of formats is needed.

use std::ops::Range;

use super::level;

const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: &[&str] = &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const TIME_SUFFIXES: &[&str] = &[
    "AM", "PM", "am", "pm", "Z", "UTC", "GMT", "CET", "CEST", "EST", "EDT", "CST", "CDT", "MST", "MDT",
    "PST", "PDT", "BST", "IST", "JST",
];
const KEYS: &[&str] =
    &["time", "ts", "timestamp", "@timestamp", "t", "date", "datetime", "asctime", "eventTime", "Timestamp"];
/// Words at which a time may begin: after a host, an address, a user, a level.
const MAX_WORDS: usize = 6;
/// Bytes within which a time begins.
const MAX_SCANNED_BYTES: usize = 200;

/// Returns the range of the time of a line.
pub(super) fn find(line: &str) -> Option<Range<usize>> {
    if line.starts_with('{') {
        return level::find_value(line, KEYS)
            .filter(|value| line[value.clone()].starts_with(|c: char| c.is_ascii_digit()));
    }
    find_uptime(line).or_else(|| find_among_words(line)).or_else(|| {
        level::find_value(line, KEYS).filter(|value| timestamp_len(&line.as_bytes()[value.clone()]).is_some())
    })
}

fn find_among_words(line: &str) -> Option<Range<usize>> {
    let bytes = line.as_bytes();
    let near = &bytes[..bytes.len().min(MAX_SCANNED_BYTES)];
    let mut at = 0;
    for _ in 0..MAX_WORDS {
        at += near[at..].iter().position(|b| !is_leading_punctuation(*b)).unwrap_or(near.len() - at);
        // A colour code ends with `m`.
        if near[..at].ends_with(b"\x1b[") {
            at += near[at..].iter().position(|b| *b == b'm')? + 1;
            at += near[at..].iter().position(|b| !is_leading_punctuation(*b))?;
        }
        let letter = usize::from(
            matches!(near.get(at..at + 5), Some([b'I' | b'W' | b'E' | b'F', day @ ..]) if day.iter().all(u8::is_ascii_digit)),
        );
        if let Some(length) = timestamp_len(&bytes[at + letter..]) {
            return Some(at + letter..at + letter + length);
        }
        at += near[at..].iter().position(|b| matches!(b, b' ' | b'\t'))?;
    }
    None
}

/// Returns true for bytes that may precede a time without being a word.
fn is_leading_punctuation(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'[' | b'(' | b'<' | b'"' | b'|' | b'-' | 0x1b | 0xef | 0xbb | 0xbf)
}

/// Matches `[   12.345678]`: seconds since boot.
fn find_uptime(line: &str) -> Option<Range<usize>> {
    let inside = line.strip_prefix('[')?.split_once(']')?.0;
    let seconds = inside.trim_start();
    let is_count = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let start = 1 + inside.len() - seconds.len();
    let (whole, part) = seconds.split_once('.')?;
    (is_count(whole) && is_count(part)).then(|| start..start + seconds.len())
}

/// The parts of a time that were read.
#[derive(Default)]
struct TimestampParts {
    /// `Jun`, and the day and the year that belong to it.
    has_month: bool,
    has_day: bool,
    has_year: bool,
    /// A date in one word, and true if it is unambiguous.
    has_date: bool,
    has_full_date: bool,
    has_time_of_day: bool,
}

/// Returns the length of the time that begins here, if there is one.
fn timestamp_len(bytes: &[u8]) -> Option<usize> {
    let mut read = TimestampParts::default();
    let (mut at, mut end) = (0, 0);
    loop {
        let word = next_word(bytes.get(at..).unwrap_or_default());
        if at == 0 && is_epoch(word) {
            return Some(word.len());
        }
        if word.is_empty() || !read.accept(word) {
            break;
        }
        end = at + word.len();
        let rest = &bytes[end..];
        let comma = usize::from(rest.first() == Some(&b','));
        let spaces = rest[comma..].iter().take_while(|b| **b == b' ').count();
        let padded = read.has_month && !read.has_day;
        if spaces == 0 || spaces > 1 + usize::from(padded) {
            break;
        }
        at = end + comma + spaces;
    }
    (read.has_time_of_day || read.has_full_date || read.has_month && read.has_day && read.has_year)
        .then_some(end)
}

/// Returns the next word, as far as it can be part of a time.
fn next_word(bytes: &[u8]) -> &[u8] {
    let is_sign = |b: u8| matches!(b, b'-' | b'/' | b'.' | b':' | b',' | b'_' | b'+');
    let mut length = 0;
    while let Some(b) = bytes.get(length) {
        if b.is_ascii_alphabetic() {
            let letters = bytes[length..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
            let run = &bytes[length..length + letters];
            let known = |names: &[&str]| names.iter().any(|name| name.as_bytes() == run);
            if !(known(MONTHS) || known(WEEKDAYS) || known(TIME_SUFFIXES) || run == b"T" && length > 0) {
                break;
            }
            length += letters;
        } else if b.is_ascii_digit() || is_sign(*b) {
            length += 1;
        } else {
            break;
        }
    }
    let trailing = bytes[..length].iter().rev().take_while(|b| is_sign(**b)).count();
    &bytes[..length - trailing]
}

/// Matches seconds or milliseconds since 1970, from 2001 to 2033.
fn is_epoch(word: &[u8]) -> bool {
    let digits = word.iter().take_while(|b| b.is_ascii_digit()).count();
    let fraction = word.get(digits..).unwrap_or_default();
    let is_fraction = fraction.strip_prefix(b".").is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    word.first() == Some(&b'1')
        && (digits == 10 && (fraction.is_empty() || is_fraction) || digits == 13 && fraction.is_empty())
}

impl TimestampParts {
    /// Accepts the next word if it continues the time.
    fn accept(&mut self, word: &[u8]) -> bool {
        let named = |names: &[&str]| names.iter().any(|name| name.as_bytes() == word);
        let digits = word.iter().all(u8::is_ascii_digit);
        let began = self.has_month || self.has_day || self.has_date || self.has_time_of_day;
        if named(WEEKDAYS) {
            return !began;
        }
        if named(MONTHS) {
            return !self.has_time_of_day && !self.has_date && !std::mem::replace(&mut self.has_month, true);
        }
        if named(TIME_SUFFIXES) || matches!(word, [b'+' | b'-', b'0'..=b'9', ..]) {
            return self.has_time_of_day;
        }
        match word.len() {
            1 | 2 if digits => {
                !self.has_time_of_day && !self.has_date && !std::mem::replace(&mut self.has_day, true)
            }
            4 if digits && self.has_date => false,
            4 if digits && began => self.has_month && !std::mem::replace(&mut self.has_year, true),
            // `0503 10:00:00`, `081109 203615`, `20171223 10:00`.
            4 | 6 | 8 if digits && !began => !std::mem::replace(&mut self.has_date, true),
            6 if digits => {
                self.has_date && !self.has_full_date && !std::mem::replace(&mut self.has_time_of_day, true)
            }
            _ if digits => false,
            _ => self.accept_joined(word),
        }
    }

    /// Accepts a word of digits and separators: a date, a time of day, or both.
    fn accept_joined(&mut self, word: &[u8]) -> bool {
        let clock = word.windows(4).enumerate().position(|(at, four)| {
            matches!(four, [b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9'])
                && !word.get(at + 4).is_some_and(u8::is_ascii_digit)
        });
        if !word.first().is_some_and(u8::is_ascii_digit) || clock.is_some() && self.has_time_of_day {
            return false;
        }
        let ahead = &word[..clock.unwrap_or(word.len())];
        let parts = || {
            ahead
                .split(|b| matches!(b, b'-' | b'/' | b'.' | b'_' | b':' | b'T'))
                .filter(|part| !part.is_empty())
        };
        let dated = parts().count() >= 2;
        // Text before the first two digits of the time of day is a date.
        let fused = dated || ahead.len() > 2;
        if dated && (self.has_date || self.has_full_date) || !dated && clock.is_none() {
            return false;
        }
        let year = |part: &[u8]| part.len() == 4 && matches!(part, [b'1', b'9', ..] | [b'2', b'0', ..]);
        let is_full =
            parts().count() >= 3 && (parts().next().is_some_and(year) || parts().nth(2).is_some_and(year));
        self.has_date |= fused;
        self.has_full_date |= is_full;
        self.has_time_of_day |= clock.is_some();
        true
    }
}
