//! How the last stamped line was laid out: nearly always the next one is laid out alike, and need not be read anew.

use std::ops::Range;

use super::timestamp;
use crate::chunk::EntryStart;

/// Bytes of a stamp that can be remembered.
const MAX_STAMP_BYTES: usize = 32;

/// The beginning of a line up to the end of its time and one byte more, `0` for each digit; and where the time is.
#[derive(Default)]
pub(super) struct StampLayout {
    pattern: [u8; MAX_STAMP_BYTES],
    pattern_bytes: usize,
    time: Range<usize>,
}

impl StampLayout {
    /// Whether an entry begins with this line.
    pub(super) fn begins_entry(&self, line: &str, begins: EntryStart) -> bool {
        self.matches(line) || begins.begins_entry(line)
    }

    /// The time of the line that an entry begins with, if it is a stamped one.
    pub(super) fn time(&mut self, line: &str, begins: EntryStart) -> Option<Range<usize>> {
        if self.matches(line) {
            return Some(self.time.clone());
        }
        let time = begins.begins_entry(line).then(|| timestamp::find(line)).flatten()?;
        // A stamp that this much of the line is enough for is one on any line that begins so.
        let length = time.end + 1;
        if let Some(head) =
            line.get(..length).filter(|head| length <= MAX_STAMP_BYTES && EntryStart::begins_with_time(head))
        {
            self.pattern = [0; MAX_STAMP_BYTES];
            self.pattern.iter_mut().zip(head.bytes()).for_each(|(kept, b)| *kept = mask_digit(b));
            (self.pattern_bytes, self.time) = (length, time.clone());
        }
        Some(time)
    }

    fn matches(&self, line: &str) -> bool {
        let head = line.as_bytes().get(..self.pattern_bytes).filter(|head| !head.is_empty());
        head.is_some_and(|head| head.iter().zip(&self.pattern).all(|(b, kept)| mask_digit(*b) == *kept))
            && !EntryStart::never_begins_entry(line)
    }
}

fn mask_digit(b: u8) -> u8 {
    if b.is_ascii_digit() { b'0' } else { b }
}
