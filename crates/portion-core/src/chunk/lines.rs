//! Text of which nothing is known but that it has lines: listings, tables, unstamped logs, YAML.
//!
//! A line that is indented, or that looks like the next line of a stack trace, belongs to the line
//! above it.

use super::{Chunker, Mark, Sample, Window, indent, sentence, stamp};

/// Chunks of whole lines, with what belongs to them.
#[derive(Debug)]
pub(super) struct Lines;

impl Chunker for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn claims(&self, _sample: &Sample) -> bool {
        true
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        let mut marks = indent::mark(window.lines(), |place| !stamp::goes_on(place.line.text));
        sentence::mark_long_lines(window.lines(), window.text, &mut marks);
        marks
    }
}
