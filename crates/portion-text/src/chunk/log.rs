//! Finds boundaries in logs. An entry is a stamped line with everything up to the next stamped line: a
//! stack trace, a dump or a message of many lines.

use std::cell::OnceCell;

use super::chunker::BoundaryBuilder;
use super::stamp::{EntryStamp, continues_entry, find_stamp};
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence};

/// Minimum stamped lines of a log.
const MIN_STAMPED_LINES: usize = 3;

/// Cuts between entries.
#[derive(Debug)]
pub(super) struct LogChunker;

impl Chunker for LogChunker {
    fn kind(&self) -> TextKind {
        TextKind::Log
    }

    /// Messages of many lines are common: a third of the lines that could begin an entry is enough if the
    /// stamps are times, otherwise half of them.
    fn matches(&self, sample: &TextSample) -> bool {
        let (mut timed, mut other, mut bare) = (0, 0, 0);
        for line in sample.lines() {
            match find_stamp(line.text) {
                Some(EntryStamp::Time) => timed += 1,
                Some(_) => other += 1,
                None => bare += usize::from(!continues_entry(line.text)),
            }
        }
        let stamped = timed + other;
        stamped >= MIN_STAMPED_LINES && (stamped >= bare || 3 * timed >= stamped + bare)
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let stamped: Vec<_> = window.lines().map(|line| (line, find_stamp(line.text))).collect();
        let usual = most_common_stamp(stamped.iter().filter_map(|(_, stamp)| *stamp));
        let mut marker = BoundaryBuilder::default();
        let mut above = 0;
        for (line, stamp) in &stamped {
            if line.is_blank() {
                marker.add_blank(line);
                continue;
            }
            let indent = line.indent();
            let unusual = || !continues_entry(line.text) || line.text.starts_with("Caused by");
            if stamp.is_some_and(|stamp| stamp == EntryStamp::Time || stamp == usual) {
                marker.add(line, BoundaryLevel::Unit);
            } else if marker.after_gap() || unusual() {
                marker.add(line, BoundaryLevel::Part(0));
            } else if indent > above {
                // The second line of a frame, or the first frame of an exception.
                marker.continue_unit();
            } else {
                marker.add(line, BoundaryLevel::part(1 + indent));
            }
            above = indent;
        }
        let mut boundaries = marker.finish();
        sentence::mark_long_lines(stamped.iter().map(|(line, _)| *line), window.text, &mut boundaries);
        boundaries
    }
}

/// The stamp with which the entries of a log begin.
pub(crate) struct EntryStart<'a> {
    text: &'a str,
    usual: OnceCell<EntryStamp>,
}

impl<'a> EntryStart<'a> {
    /// Returns the stamp of most entries of a text. It is read from a sample where another stamp than a time occurs.
    pub(crate) fn of_text(text: &'a str) -> Self {
        Self { text, usual: OnceCell::new() }
    }

    /// Returns true if an entry begins with this line.
    pub(crate) fn begins_entry(&self, line: &str) -> bool {
        let sample = || TextSample::new(self.text);
        let of_sample = || most_common_stamp(sample().lines().filter_map(|line| find_stamp(line.text)));
        find_stamp(line)
            .is_some_and(|stamp| stamp == EntryStamp::Time || stamp == *self.usual.get_or_init(of_sample))
    }

    /// Returns true if a line begins with a time, which begins an entry in every log.
    pub(crate) fn begins_with_time(line: &str) -> bool {
        find_stamp(line) == Some(EntryStamp::Time)
    }
}

/// Returns the stamp of most entries; other stamps occur inside messages. Times have the most weight.
fn most_common_stamp(stamps: impl Iterator<Item = EntryStamp>) -> EntryStamp {
    let mut counts = [
        (0, EntryStamp::JsonObject),
        (0, EntryStamp::Address),
        (0, EntryStamp::InnerTime),
        (0, EntryStamp::Level),
        (0, EntryStamp::Time),
    ];
    for found in stamps {
        for (count, kind) in &mut counts {
            *count += if *kind != found {
                0
            } else if found == EntryStamp::Time {
                4
            } else {
                1
            };
        }
    }
    counts.iter().max_by_key(|(count, _)| *count).map_or(EntryStamp::Time, |(_, kind)| *kind)
}
