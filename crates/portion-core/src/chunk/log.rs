//! Logs: an entry is a stamped line with all that follows it up to the next stamped line, be it a
//! stack trace, a dump or a message of many lines.

use super::line::Line;
use super::mark::Marker;
use super::stamp::{Stamp, goes_on, is_cue, stamp};
use super::{Chunker, Mark, Rank, Sample, Window, sentence};

/// The one kind of text that consists of entries.
pub(crate) const NAME: &str = "log";
/// Stamped lines without which a text is no log.
const FEWEST: usize = 3;

/// Chunks of whole entries.
#[derive(Debug)]
pub(super) struct Log;

impl Chunker for Log {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Messages of many lines are common: a third of the lines that could begin an entry is enough
    /// where the stamps are times, half of them where they are less.
    fn claims(&self, sample: &Sample) -> bool {
        let (mut timed, mut other, mut bare) = (0, 0, 0);
        for line in sample.lines() {
            match stamp(line.text) {
                Some(Stamp::Time) => timed += 1,
                Some(_) => other += 1,
                None => bare += usize::from(!goes_on(line.text)),
            }
        }
        let stamped = timed + other;
        stamped >= FEWEST && (stamped >= bare || 3 * timed >= stamped + bare)
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        let begins = Begins(usual(window.lines()));
        let mut marker = Marker::default();
        let mut above = 0;
        for line in window.lines() {
            if line.is_blank() {
                marker.blank(&line);
                continue;
            }
            let indent = line.indent();
            let unusual = || !goes_on(line.text) || line.text.starts_with("Caused by");
            if begins.an_entry(line.text) {
                marker.begin(&line, Rank::Unit);
            } else if marker.after_gap() || unusual() {
                marker.begin(&line, Rank::Part(0));
            } else if indent > above {
                // The second line of a frame, or the first frame of what was thrown.
                marker.go_on();
            } else {
                marker.begin(&line, Rank::part(1 + indent));
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
pub(crate) struct Begins(Stamp);

impl Begins {
    /// Judged by a sample of the text.
    pub(crate) fn of(text: &str) -> Self {
        Self(usual(Sample::of(text).lines().copied()))
    }

    /// Whether an entry begins with this line.
    pub(crate) fn an_entry(self, line: &str) -> bool {
        stamp(line).is_some_and(|stamp| stamp == self.0 || stamp == Stamp::Time)
    }

    /// Whether a line begins with a time, and so an entry in any log.
    pub(crate) fn with_time(line: &str) -> bool {
        stamp(line) == Some(Stamp::Time)
    }

    /// Whether no entry begins with a line, however it begins.
    pub(crate) fn never(line: &str) -> bool {
        is_cue(line)
    }
}

/// The stamp that most entries here have; others are found in their messages. Times are the surest.
fn usual<'a>(lines: impl Iterator<Item = Line<'a>>) -> Stamp {
    let mut counts =
        [(0, Stamp::Json), (0, Stamp::Address), (0, Stamp::Inner), (0, Stamp::Level), (0, Stamp::Time)];
    for found in lines.filter_map(|line| stamp(line.text)) {
        for (count, kind) in &mut counts {
            *count += if *kind != found {
                0
            } else if found == Stamp::Time {
                4
            } else {
                1
            };
        }
    }
    counts.iter().max_by_key(|(count, _)| *count).map_or(Stamp::Time, |(_, kind)| *kind)
}
