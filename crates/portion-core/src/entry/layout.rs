//! How the last stamped line was laid out: nearly always the next one is laid out alike, and need not be read anew.

use std::ops::Range;

use super::moment;
use crate::chunk::Begins;

/// Bytes of a stamp that can be remembered.
const HEAD: usize = 32;

/// The beginning of a line up to the end of its time and one byte more, `0` for each digit; and where the time is.
#[derive(Default)]
pub(super) struct Layout {
    head: [u8; HEAD],
    length: usize,
    time: Range<usize>,
}

impl Layout {
    /// Whether an entry begins with this line.
    pub(super) fn begins(&self, line: &str, begins: Begins) -> bool {
        self.is_of(line) || begins.an_entry(line)
    }

    /// The time of the line that an entry begins with, if it is a stamped one.
    pub(super) fn time(&mut self, line: &str, begins: Begins) -> Option<Range<usize>> {
        if self.is_of(line) {
            return Some(self.time.clone());
        }
        let time = begins.an_entry(line).then(|| moment::find(line)).flatten()?;
        // A stamp that this much of the line is enough for is one on any line that begins so.
        let length = time.end + 1;
        if let Some(head) = line.get(..length).filter(|head| length <= HEAD && Begins::with_time(head)) {
            self.head = [0; HEAD];
            self.head.iter_mut().zip(head.bytes()).for_each(|(kept, b)| *kept = alike(b));
            (self.length, self.time) = (length, time.clone());
        }
        Some(time)
    }

    fn is_of(&self, line: &str) -> bool {
        let head = line.as_bytes().get(..self.length).filter(|head| !head.is_empty());
        head.is_some_and(|head| head.iter().zip(&self.head).all(|(b, kept)| alike(*b) == *kept))
            && !Begins::never(line)
    }
}

fn alike(b: u8) -> u8 {
    if b.is_ascii_digit() { b'0' } else { b }
}
