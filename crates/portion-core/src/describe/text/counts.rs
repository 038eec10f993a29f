//! Counts of what is written alike.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::text_description::{TextDescription, truncated_line};

/// Counts of a few kinds, in the order of their first appearance.
#[derive(Default)]
pub(super) struct SmallCounter<'a>(Vec<(&'a str, usize)>);

impl<'a> SmallCounter<'a> {
    /// Kinds that are counted.
    const MAX_KINDS: usize = 64;

    /// Counts one, and says how many it makes; 0 where it is not counted.
    pub(super) fn add(&mut self, said: &'a str) -> usize {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == said) {
            *count += 1;
            *count
        } else if self.0.len() < Self::MAX_KINDS {
            self.0.push((said, 1));
            1
        } else {
            0
        }
    }

    pub(super) fn into_counts(self) -> Vec<(&'a str, usize)> {
        self.0
    }

    /// The most frequent, those first that came first where they are alike.
    pub(super) fn most_frequent(mut self, most: usize) -> Vec<(&'a str, usize)> {
        self.0.sort_by_key(|(_, count)| Reverse(*count));
        self.0.truncate(most);
        self.0
    }
}

/// Counts of many kinds. Those that come after very many others are not counted, and never told.
#[derive(Default)]
pub(super) struct LargeCounter {
    counts: HashMap<Box<[u8]>, (usize, usize)>,
    mask_buffer: Vec<u8>,
}

/// How many of them are told.
const MAX_COMMON: usize = 3;
/// Bytes of a line by which it is told from others.
const MAX_MESSAGE_BYTES: usize = 96;

impl LargeCounter {
    /// Kinds that are counted.
    const MAX_KINDS: usize = 2048;

    pub(super) fn add(&mut self, said: &[u8]) {
        let order = self.counts.len();
        if let Some((count, _)) = self.counts.get_mut(said) {
            *count += 1;
        } else if order < Self::MAX_KINDS {
            self.counts.insert(said.into(), (1, order));
        }
    }

    /// The same for the beginning of a line of which the numbers do not matter.
    pub(super) fn add_masked(&mut self, line: &str) {
        let mut masked = std::mem::take(&mut self.mask_buffer);
        mask_numbers(line, &mut masked);
        self.add(&masked);
        self.mask_buffer = masked;
    }

    /// The most frequent that occur so often, those first that came first where they are alike.
    fn most_frequent(self, least: usize) -> Vec<(String, usize)> {
        let enough = |(said, (count, _)): &(Box<[u8]>, (usize, usize))| {
            *count >= least && said.iter().any(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        };
        let mut all: Vec<_> = self.counts.into_iter().filter(enough).collect();
        all.sort_unstable_by_key(|(_, (count, order))| (Reverse(*count), *order));
        let told = all.into_iter().take(MAX_COMMON);
        told.map(|(said, (count, _))| (String::from_utf8_lossy(&said).into_owned(), count)).collect()
    }
}

/// Says which are common, with their counts, as many as there is room for.
pub(super) fn describe_common(key: &str, counts: LargeCounter, least: usize, telling: &mut TextDescription) {
    let told = counts.most_frequent(least).into_iter();
    let mut told: Vec<_> =
        told.map(|(said, count)| format!("{count} × {}", truncated_line(&said, MAX_MESSAGE_BYTES))).collect();
    while !told.is_empty() && !telling.add(key, told.as_slice()) {
        told.pop();
    }
}

/// The beginning of a message with `#` for each run of letters, digits and signs of numbers that has a digit in it.
fn mask_numbers(message: &str, masked: &mut Vec<u8>) {
    masked.clear();
    let near = &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)];
    // Where the present word begins, until a digit was found in it.
    let (mut word, mut is_number) = (0, false);
    for b in near.as_bytes() {
        if !(b.is_ascii_alphanumeric()
            || !b.is_ascii()
            || matches!(b, b'_' | b'-' | b'.' | b':' | b'/' | b'+'))
        {
            // Columns are as wide as their numbers are long.
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
