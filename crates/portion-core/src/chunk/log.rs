//! Logs: an entry is a stamped line with all that follows it up to the next stamped line, be it a
//! stack trace, a dump or a message of many lines.

use super::mark::Marker;
use super::stamp::{Stamp, goes_on, stamp};
use super::{Chunker, Mark, Rank, Sample, Window, sentence};

/// Stamped lines without which a text is no log.
const FEWEST: usize = 3;

/// Chunks of whole entries.
#[derive(Debug)]
pub(super) struct Log;

impl Chunker for Log {
    fn name(&self) -> &'static str {
        "log"
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
        let begins = usual(window);
        let mut marker = Marker::default();
        for line in window.lines() {
            let unusual = || !goes_on(line.text) || line.text.starts_with("Caused by");
            if line.is_blank() {
                marker.blank(&line);
            } else if stamp(line.text).is_some_and(|stamp| stamp == begins || stamp == Stamp::Time) {
                marker.begin(&line, Rank::Unit);
            } else if marker.after_gap() || unusual() {
                marker.begin(&line, Rank::Part(0));
            } else {
                marker.go_on();
            }
        }
        let mut marks = marker.finish();
        sentence::mark_long_lines(window.lines(), window.text, &mut marks);
        marks
    }
}

/// The stamp that most entries here have; others are found in their messages. Times are the surest.
fn usual(window: &Window) -> Stamp {
    let mut counts =
        [(0, Stamp::Json), (0, Stamp::Address), (0, Stamp::Inner), (0, Stamp::Level), (0, Stamp::Time)];
    for found in window.lines().filter_map(|line| stamp(line.text)) {
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
