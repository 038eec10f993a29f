//! The entries of a log: a stamped line with everything up to the next stamped line, be it a stack
//! trace, a dump or a message of many lines.
//!
//! Entries begin where the log chunker begins them, so that an entry that is told of is one that can be
//! read. They are found as they are asked for; nothing is kept of them.

mod keyed;
mod layout;
mod level;
mod moment;

pub use level::Level;

use layout::Layout;

use crate::chunk::{Begins, LOG};
use crate::snapshot::Text;
use crate::span::Span;

/// An entry of a log. Its places are in the text of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
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
pub fn entries<'a>(text: &'a str, index: &Text) -> Option<impl Iterator<Item = Entry> + use<'a>> {
    (index.chunker.name() == LOG).then(|| Entries {
        text,
        begins: Begins::of(text),
        line: Lines::default(),
        number: 0,
        layout: Layout::default(),
    })
}

struct Entries<'a> {
    text: &'a str,
    begins: Begins,
    line: Lines,
    number: usize,
    layout: Layout,
}

/// How far the lines were read.
#[derive(Clone, Copy, Default)]
struct Lines {
    /// Where the next line begins.
    at: usize,
    /// How many lines are before it.
    before: usize,
}

impl Lines {
    /// The next line, with its line feed.
    fn next<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let rest = text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |feed| feed + 1);
        self.at += length;
        self.before += 1;
        rest.get(..length)
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let first = self.line;
        let (mut head_at, mut head) = (first.at, self.line.next(self.text)?);
        let mut ahead = self.line;
        // The line that an entry begins with may stand below blank ones only in the first entry.
        while head.trim().is_empty()
            && let Some(line) = ahead.next(self.text)
        {
            (head_at, head, self.line) = (self.line.at, line, ahead);
        }
        while let Some(line) = ahead.next(self.text) {
            if self.layout.begins(line, self.begins) {
                break;
            }
            self.line = ahead;
        }
        self.number += 1;
        let said = head.trim_end();
        let time = self.layout.time(said, self.begins);
        let level = level::find(said, time.as_ref());
        let place = |range: std::ops::Range<usize>| Span::new(head_at + range.start, head_at + range.end);
        Some(Entry {
            number: self.number,
            start_line: first.before + 1,
            span: Span::new(first.at, self.line.at),
            time: time.map(place),
            level: level.map(place),
        })
    }
}
