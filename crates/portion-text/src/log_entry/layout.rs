//! Remembers the layout of the last stamped line: the next one nearly always has the same layout and need
//! not be parsed.

use std::ops::Range;

use super::timestamp;
use crate::chunk::EntryStart;

/// Maximum bytes of a remembered stamp.
const MAX_STAMP_BYTES: usize = 32;

/// The start of a line up to one byte after its time, with `0` for each digit, and the range of the time.
#[derive(Default)]
pub(super) struct StampLayout {
    pattern: [u8; MAX_STAMP_BYTES],
    pattern_bytes: usize,
    time: Range<usize>,
}

impl StampLayout {
    /// Returns true if an entry begins with this line.
    pub(super) fn begins_entry(&self, line: &str, begins: EntryStart) -> bool {
        self.matches(line) || begins.begins_entry(line)
    }

    /// Returns the time of a stamped line with which an entry begins.
    pub(super) fn time(&mut self, line: &str, begins: EntryStart) -> Option<Range<usize>> {
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
        }) && !EntryStart::never_begins_entry(line)
    }
}

fn mask_digit(b: u8) -> u8 {
    if b.is_ascii_digit() { b'0' } else { b }
}
