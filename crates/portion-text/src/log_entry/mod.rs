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

mod day;
mod key_value;
mod layout;
mod level;
mod timestamp;

use portion_json::span::Span;

use crate::chunk::{Chunker, EntryStart, TextKind};
pub use day::day_of;
use layout::StampLayout;
pub use level::LogLevel;

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
/// They cover the text: the lines before the first stamped line are an entry without time and level, or,
/// if they are blank, part of the first entry. One pass, without allocation.
pub fn entries<'a>(text: &'a str, chunker: &dyn Chunker) -> Option<impl Iterator<Item = LogEntry> + use<'a>> {
    (chunker.kind() == TextKind::Log).then(|| LogEntries {
        text,
        entry_start: EntryStart::from_sample(text),
        lines: LineCursor::default(),
        number: 0,
        layout: StampLayout::default(),
    })
}

struct LogEntries<'a> {
    text: &'a str,
    entry_start: EntryStart,
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
        // Only in the first entry can blank lines precede the first line with content.
        while head.trim().is_empty()
            && let Some(line) = ahead.next(self.text)
        {
            (head_at, head, self.lines) = (self.lines.offset, line, ahead);
        }
        while let Some(line) = ahead.next(self.text) {
            if self.layout.begins_entry(line, self.entry_start) {
                break;
            }
            self.lines = ahead;
        }
        self.number += 1;
        let first_line = head.trim_end();
        let time = self.layout.time(first_line, self.entry_start);
        let level = level::find(first_line, time.as_ref());
        let place = |range: std::ops::Range<usize>| Span::new(head_at + range.start, head_at + range.end);
        Some(LogEntry {
            number: self.number,
            start_line: first.line_count + 1,
            span: Span::new(first.offset, self.lines.offset),
            time: time.map(place),
            level: level.map(place),
        })
    }
}
