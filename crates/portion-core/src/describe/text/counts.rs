//! Counts similar lines and words.

use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::text_description::{TextDescription, truncated_line};

/// Counts of a few kinds, in the order of first occurrence.
#[derive(Default)]
pub(super) struct SmallCounter<'a>(Vec<(&'a str, usize)>);

impl<'a> SmallCounter<'a> {
    /// Largest number of kinds counted.
    const MAX_KINDS: usize = 64;

    /// Counts a value and returns its new count, or 0 if there are too many kinds.
    pub(super) fn add(&mut self, value: &'a str) -> usize {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == value) {
            *count += 1;
            *count
        } else if self.0.len() < Self::MAX_KINDS {
            self.0.push((value, 1));
            1
        } else {
            0
        }
    }

    pub(super) fn into_counts(self) -> Vec<(&'a str, usize)> {
        self.0
    }

    /// Returns the most frequent values. Equally frequent ones keep their order.
    pub(super) fn most_frequent(mut self, max: usize) -> Vec<(&'a str, usize)> {
        self.0.sort_by_key(|(_, count)| Reverse(*count));
        self.0.truncate(max);
        self.0
    }
}

/// Counts of many kinds. Kinds beyond the limit are not counted.
#[derive(Default)]
pub(super) struct LargeCounter {
    counts: HashMap<Box<[u8]>, (usize, usize), FixedState>,
    mask_buffer: Vec<u8>,
}

/// Number of values listed.
const MAX_COMMON: usize = 3;
/// Bytes of a line that distinguish it from others.
const MAX_MESSAGE_BYTES: usize = 96;

impl LargeCounter {
    /// Largest number of kinds counted.
    const MAX_KINDS: usize = 2048;

    pub(super) fn add(&mut self, value: &[u8]) {
        let order = self.counts.len();
        if let Some((count, _)) = self.counts.get_mut(value) {
            *count += 1;
        } else if order < Self::MAX_KINDS {
            self.counts.insert(value.into(), (1, order));
        }
    }

    /// Counts the beginning of a line with its numbers masked.
    pub(super) fn add_masked(&mut self, line: &str) {
        let mut masked = std::mem::take(&mut self.mask_buffer);
        mask_numbers(line, &mut masked);
        self.add(&masked);
        self.mask_buffer = masked;
    }

    /// Returns the most frequent values with at least `min` occurrences. Equally frequent ones keep their
    /// order.
    fn most_frequent(self, min: usize) -> Vec<(String, usize)> {
        let enough = |(value, (count, _)): &(Box<[u8]>, (usize, usize))| {
            *count >= min && value.iter().any(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        };
        let mut all: Vec<_> = self.counts.into_iter().filter(enough).collect();
        all.sort_unstable_by_key(|(_, (count, order))| (Reverse(*count), *order));
        let listed = all.into_iter().take(MAX_COMMON);
        listed.map(|(value, (count, _))| (String::from_utf8_lossy(&value).into_owned(), count)).collect()
    }
}

/// Describes the most common values with their counts, as many as fit.
pub(super) fn describe_common(
    key: &str,
    counts: LargeCounter,
    min: usize,
    description: &mut TextDescription,
) {
    let entries = counts.most_frequent(min).into_iter();
    let mut entries: Vec<_> = entries
        .map(|(value, count)| format!("{count} × {}", truncated_line(&value, MAX_MESSAGE_BYTES)))
        .collect();
    while !entries.is_empty() && !description.add(key, entries.as_slice()) {
        entries.pop();
    }
}

/// Masks the beginning of a message: `#` replaces each word that contains a digit, where numeric signs count
/// as letters.
fn mask_numbers(message: &str, masked: &mut Vec<u8>) {
    masked.clear();
    let near = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)];
    // Start of the current word, and true once a digit occurred in it.
    let (mut word, mut is_number) = (0, false);
    for b in near.as_bytes() {
        // The signs of times, paths and numbers are around the digits.
        let is_in_word = matches!(b, b'+' | b'-'..=b':' | b'A'..=b'Z' | b'_' | b'a'..=b'z' | 0x80..);
        if !is_in_word {
            // Runs of spaces collapse, because the padding of columns depends on the width of their numbers.
            if *b != b' ' || masked.last() != Some(&b' ') {
                masked.push(*b);
            }
            (word, is_number) = (masked.len(), false);
        } else if b.is_ascii_digit() && !is_number {
            masked.truncate(word);
            masked.push(b'#');
            is_number = true;
        } else if !is_number {
            masked.push(*b);
        }
    }
}
