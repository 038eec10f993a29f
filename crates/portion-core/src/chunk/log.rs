//! Logs: an entry is a stamped line with all that follows it up to the next stamped line, be it a
//! stack trace, a dump or a message of many lines.

use super::boundary::BoundaryBuilder;
use super::line::Line;
use super::stamp::{EntryStamp, continues_entry, find_stamp, is_subtitle_cue};
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextSample, sentence};

/// The one kind of text that consists of entries.
pub(crate) const NAME: &str = "log";
/// Stamped lines without which a text is no log.
const MIN_STAMPED_LINES: usize = 3;

/// Chunks of whole entries.
#[derive(Debug)]
pub(super) struct LogChunker;

impl Chunker for LogChunker {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Messages of many lines are common: a third of the lines that could begin an entry is enough
    /// where the stamps are times, half of them where they are less.
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
        let begins = EntryStart(most_common_stamp(window.lines()));
        let mut marker = BoundaryBuilder::default();
        let mut above = 0;
        for line in window.lines() {
            if line.is_blank() {
                marker.add_blank(&line);
                continue;
            }
            let indent = line.indent();
            let unusual = || !continues_entry(line.text) || line.text.starts_with("Caused by");
            if begins.begins_entry(line.text) {
                marker.add(&line, BoundaryLevel::Unit);
            } else if marker.after_gap() || unusual() {
                marker.add(&line, BoundaryLevel::Part(0));
            } else if indent > above {
                // The second line of a frame, or the first frame of what was thrown.
                marker.continue_unit();
            } else {
                marker.add(&line, BoundaryLevel::part(1 + indent));
            }
            above = indent;
        }
        let mut marks = marker.finish();
        sentence::mark_long_lines(window.lines(), window.text, &mut marks);
        marks
    }
}

/// What the entries of a log begin with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryStart(EntryStamp);

impl EntryStart {
    /// Judged by a sample of the text.
    pub(crate) fn from_sample(text: &str) -> Self {
        Self(most_common_stamp(TextSample::new(text).lines().copied()))
    }

    /// Whether an entry begins with this line.
    pub(crate) fn begins_entry(self, line: &str) -> bool {
        find_stamp(line).is_some_and(|stamp| stamp == self.0 || stamp == EntryStamp::Time)
    }

    /// Whether a line begins with a time, and so an entry in any log.
    pub(crate) fn begins_with_time(line: &str) -> bool {
        find_stamp(line) == Some(EntryStamp::Time)
    }

    /// Whether no entry begins with a line, however it begins.
    pub(crate) fn never_begins_entry(line: &str) -> bool {
        is_subtitle_cue(line)
    }
}

/// The stamp that most entries here have; others are found in their messages. Times are the surest.
fn most_common_stamp<'a>(lines: impl Iterator<Item = Line<'a>>) -> EntryStamp {
    let mut counts = [
        (0, EntryStamp::JsonObject),
        (0, EntryStamp::Address),
        (0, EntryStamp::InnerTime),
        (0, EntryStamp::Level),
        (0, EntryStamp::Time),
    ];
    for found in lines.filter_map(|line| find_stamp(line.text)) {
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
