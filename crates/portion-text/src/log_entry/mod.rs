//! Splits a log into entries: a stamped line with everything up to the next stamped line, such as a stack
//! trace, a dump or a message of many lines.
//!
//! Entries begin where the log chunker begins them, so that every reported entry can be read as such.
//! They are found on demand and not stored.
//!
//! ```
//! use portion_text::chunk::chunker_for;
//! use portion_text::log_entry::entries;
//!
//! let line = "2024-05-01 10:00:00,123 ERROR worker: failed\n  at main.rs:7\n";
//! let log = line.repeat(20);
//! let entries: Vec<_> = entries(&log, chunker_for(&log)).expect("a log").collect();
//! assert_eq!(entries.len(), 20);
//! assert_eq!(entries[1].span.slice(&log), line);
//! assert_eq!(entries[1].level.map(|level| level.slice(&log)), Some("ERROR"));
//! ```

mod level;
mod timestamp;

pub use level::LogLevel;

use std::borrow::Cow;
use std::ops::Range;

use portion_json::span::Span;

use crate::chunk::{Chunker, EntryStart, TextKind, is_subtitle_cue};
use crate::timestamp::Timestamp;

/// An entry of a log. Its spans are in the text of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Number of the entry, from 1.
    pub number: usize,
    /// Number of its first line, from 1.
    pub start_line: usize,
    /// Span of the entry, last line feed included.
    pub span: Span,
    /// Time as written: `2024-05-01 10:00:00,123`, `Jun 14 15:16:01`, an epoch.
    pub time: Option<Span>,
    /// Level as written: `ERROR`, `warn`, `E`.
    pub level: Option<Span>,
}

/// Yields the entries of a log, in order; `None` if the chunker of the text is not that of logs.
///
/// They cover the text: the lines before the first stamped line are an entry without time and level, or, if they are blank
/// or words with a blank line below them, part of the first entry. One pass, without allocation.
pub fn entries<'a>(text: &'a str, chunker: &dyn Chunker) -> Option<impl Iterator<Item = LogEntry> + use<'a>> {
    (chunker.kind() == TextKind::Log).then(|| LogEntries {
        text,
        entry_start: EntryStart::of_text(text),
        lines: LineCursor::default(),
        number: 0,
        layout: StampLayout::default(),
    })
}

struct LogEntries<'a> {
    text: &'a str,
    entry_start: EntryStart<'a>,
    lines: LineCursor,
    number: usize,
    layout: StampLayout,
}

/// Position in the lines of a text.
#[derive(Clone, Copy, Default)]
struct LineCursor {
    /// Offset of the next line.
    offset: usize,
    /// Number of lines before it.
    line_count: usize,
}

impl LineCursor {
    /// Returns the next line, with its line feed.
    fn next<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let rest = text.get(self.offset..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |feed| feed + 1);
        self.offset += length;
        self.line_count += 1;
        rest.get(..length)
    }
}

impl Iterator for LogEntries<'_> {
    type Item = LogEntry;

    fn next(&mut self) -> Option<LogEntry> {
        let first = self.lines;
        let (mut head_at, mut head) = (first.offset, self.lines.next(self.text)?);
        let mut ahead = self.lines;
        // Only in the first entry can blank lines, and words above one, precede the first line with content.
        let is_above = |head: &str, mut ahead: LineCursor| {
            head.trim().is_empty()
                || first.offset == 0
                    && !self.entry_start.begins_entry(head)
                    && ahead.next(self.text).is_some_and(|line| line.trim().is_empty())
        };
        while is_above(head, ahead)
            && let Some(line) = ahead.next(self.text)
        {
            (head_at, head, self.lines) = (self.lines.offset, line, ahead);
        }
        while let Some(line) = ahead.next(self.text) {
            if self.layout.begins_entry(line, &self.entry_start) {
                break;
            }
            self.lines = ahead;
        }
        self.number += 1;
        let first_line = head.trim_end();
        let time = self.layout.time(first_line, &self.entry_start);
        let level = level::find(first_line, time.as_ref());
        let place = |range: Range<usize>| Span::new(head_at + range.start, head_at + range.end);
        Some(LogEntry {
            number: self.number,
            start_line: first.line_count + 1,
            span: Span::new(first.offset, self.lines.offset),
            time: time.map(place),
            level: level.map(place),
        })
    }
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Returns the day of a time: the words before the time of day, without the day of the week, and the year behind it.
///
/// ```
/// use portion_text::log_entry::day_of;
///
/// assert_eq!(day_of("Jun 14 15:16:01").as_deref(), Some("Jun 14"));
/// assert_eq!(day_of("2024-05-01T10:00:00Z").as_deref(), Some("2024-05-01"));
/// assert_eq!(day_of("15:16:01"), None);
/// ```
pub fn day_of(time: &str) -> Option<Cow<'_, str>> {
    let time = time.trim();
    if time.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return day_of_number(time);
    }
    let clock = clock_start(time)?;
    let date = time.get(..clock)?.trim_end_matches([' ', 'T', 't', ':', ',', '-', '_']);
    let date = WEEKDAYS
        .iter()
        .find_map(|day| date.strip_prefix(day).map(|rest| rest.trim_start_matches([' ', ','])))
        .unwrap_or(date);
    if !date.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let year = time.rsplit(' ').next().filter(|year| is_year(year) && !date.contains(*year));
    Some(year.map_or(Cow::Borrowed(date), |year| Cow::Owned(format!("{date} {year}"))))
}

/// Returns the offset of the time of day: two digits and a colon, or six digits behind a date of digits.
fn clock_start(time: &str) -> Option<usize> {
    let bytes = time.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_start = |at: &usize| {
        if !is_digit(*at) || *at > 0 && is_digit(*at - 1) {
            return false;
        }
        let length = (*at..bytes.len()).take_while(|at| is_digit(*at)).count();
        let is_last = *at > 0 && *at + length == bytes.len();
        matches!(length, 1 | 2) && bytes.get(*at + length) == Some(&b':') || length == 6 && is_last
    };
    let first = (0..bytes.len()).find(is_start)?;
    // In `22/Jan/2019:03:56:00` the first colon ends the date.
    let colon = time.find(':').filter(|_| bytes[..first].ends_with(b"/"));
    (colon.map_or(first, |colon| colon + 1)..bytes.len()).find(is_start)
}

/// Returns the day of seconds, milliseconds or microseconds since 1970.
fn day_of_number(time: &str) -> Option<Cow<'_, str>> {
    // Less is a time since the start of the machine.
    let seconds = time.parse::<f64>().ok().filter(|seconds| *seconds >= 6e8)?;
    Timestamp::from_epoch(seconds).filter(|time| time.is_in_range()).map(|time| Cow::Owned(time.write_date()))
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit())
}

/// Maximum bytes of a remembered stamp.
const MAX_STAMP_BYTES: usize = 32;

/// The start of a line up to one byte after its time, with `0` for each digit, and the range of the time.
#[derive(Default)]
struct StampLayout {
    pattern: [u8; MAX_STAMP_BYTES],
    pattern_bytes: usize,
    time: Range<usize>,
}

impl StampLayout {
    /// Returns true if an entry begins with this line.
    fn begins_entry(&self, line: &str, begins: &EntryStart<'_>) -> bool {
        self.matches(line) || begins.begins_entry(line)
    }

    /// Returns the time of a stamped line with which an entry begins.
    fn time(&mut self, line: &str, begins: &EntryStart<'_>) -> Option<Range<usize>> {
        if self.matches(line) {
            return Some(self.time.clone());
        }
        let time = begins.begins_entry(line).then(|| timestamp::find(line)).flatten()?;
        // A stamp that is recognized in this prefix is one on every line with the same prefix.
        let length = time.end + 1;
        if let Some(head) =
            line.get(..length).filter(|head| length <= MAX_STAMP_BYTES && EntryStart::begins_with_time(head))
        {
            self.pattern = [0; MAX_STAMP_BYTES];
            self.pattern
                .iter_mut()
                .zip(head.bytes())
                .for_each(|(pattern_byte, b)| *pattern_byte = mask_digit(b));
            (self.pattern_bytes, self.time) = (length, time.clone());
        }
        Some(time)
    }

    fn matches(&self, line: &str) -> bool {
        let head = line.as_bytes().get(..self.pattern_bytes).filter(|head| !head.is_empty());
        head.is_some_and(|head| {
            head.iter().zip(&self.pattern).all(|(b, pattern_byte)| mask_digit(*b) == *pattern_byte)
        }) && !is_subtitle_cue(line)
    }
}

fn mask_digit(b: u8) -> u8 {
    if b.is_ascii_digit() { b'0' } else { b }
}

#[cfg(test)]
mod tests {
    use super::day_of;

    #[test]
    fn days_are_read_as_written() {
        for (time, day) in [
            ("2024-05-01 10:00:00,123", Some("2024-05-01")),
            ("2024-05-01T10:00:00.5+02:00", Some("2024-05-01")),
            ("2024/05/01 10:00:00", Some("2024/05/01")),
            ("01.05.2024 10:00", Some("01.05.2024")),
            ("22/Jan/2019:03:56:00 +0330", Some("22/Jan/2019")),
            ("Sun Dec 04 04:47:44 2005", Some("Dec 04 2005")),
            ("Jun 14 15:16:01", Some("Jun 14")),
            ("Jun  9 06:06:20", Some("Jun  9")),
            ("03-17 16:13:30.811", Some("03-17")),
            ("081109 203615", Some("081109")),
            ("Wed, 01 May 2024 10:20:30 GMT", Some("01 May 2024")),
            ("1714558830", Some("2024-05-01")),
            ("1714558830123", Some("2024-05-01")),
            ("10:00:00", None),
            ("12.345678", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(day_of(time).as_deref(), day, "{time}");
        }
    }
}
