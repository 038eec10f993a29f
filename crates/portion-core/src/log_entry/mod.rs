//! The entries of a log: a stamped line with everything up to the next stamped line, be it a stack
//! trace, a dump or a message of many lines.
//!
//! Entries begin where the log chunker begins them, so that an entry that is told of is one that can be
//! read. They are found as they are asked for; nothing is kept of them.

mod key_value;
mod layout;
mod level;
mod timestamp;

pub use level::LogLevel;

use layout::StampLayout;

use crate::chunk::{EntryStart, LOG};
use crate::snapshot::LineIndex;
use crate::span::Span;

/// An entry of a log. Its places are in the text of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Which one it is, from 1.
    pub number: usize,
    /// The line that it begins with, from 1.
    pub start_line: usize,
    /// All of it, the last line feed included.
    pub span: Span,
    /// When it was written, as it says: `2024-05-01 10:00:00,123`, `Jun 14 15:16:01`, an epoch.
    pub time: Option<Span>,
    /// Its level, as it says: `ERROR`, `warn`, `E`.
    pub level: Option<Span>,
}

/// The entries of a log, in order; `None` where the text is no log.
///
/// They cover the text: what stands before the first stamped line is an entry without a time and a level,
/// unless it is blank, which makes it a part of the first one. One pass, and nothing is allocated.
pub fn entries<'a>(text: &'a str, index: &LineIndex) -> Option<impl Iterator<Item = LogEntry> + use<'a>> {
    (index.chunker.name() == LOG).then(|| LogEntries {
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

/// How far the lines were read.
#[derive(Clone, Copy, Default)]
struct LineCursor {
    /// Where the next line begins.
    offset: usize,
    /// How many lines are before it.
    line_count: usize,
}

impl LineCursor {
    /// The next line, with its line feed.
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
        // The line that an entry begins with may stand below blank ones only in the first entry.
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
        let said = head.trim_end();
        let time = self.layout.time(said, self.entry_start);
        let level = level::find(said, time.as_ref());
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
