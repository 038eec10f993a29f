//! Counts of what is written alike.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::telling::{Telling, quoted};

/// Counts of a few kinds, in the order of their first appearance.
#[derive(Default)]
pub(super) struct Few<'a>(Vec<(&'a str, usize)>);

impl<'a> Few<'a> {
    /// Kinds that are counted.
    const MOST: usize = 64;

    /// Counts one, and says how many it makes; 0 where it is not counted.
    pub(super) fn add(&mut self, said: &'a str) -> usize {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == said) {
            *count += 1;
            *count
        } else if self.0.len() < Self::MOST {
            self.0.push((said, 1));
            1
        } else {
            0
        }
    }

    pub(super) fn all(self) -> Vec<(&'a str, usize)> {
        self.0
    }

    /// The most frequent, those first that came first where they are alike.
    pub(super) fn most(mut self, most: usize) -> Vec<(&'a str, usize)> {
        self.0.sort_by_key(|(_, count)| Reverse(*count));
        self.0.truncate(most);
        self.0
    }
}

/// Counts of many kinds. Those that come after very many others are not counted, and never told.
#[derive(Default)]
pub(super) struct Many {
    counts: HashMap<Box<[u8]>, (usize, usize)>,
    masked: Vec<u8>,
}

/// How many of them are told.
const COMMON: usize = 3;
/// Bytes of a line by which it is told from others.
const MESSAGE: usize = 96;

impl Many {
    /// Kinds that are counted.
    const MOST: usize = 2048;

    pub(super) fn add(&mut self, said: &[u8]) {
        let order = self.counts.len();
        if let Some((count, _)) = self.counts.get_mut(said) {
            *count += 1;
        } else if order < Self::MOST {
            self.counts.insert(said.into(), (1, order));
        }
    }

    /// The same for the beginning of a line of which the numbers do not matter.
    pub(super) fn add_masked(&mut self, line: &str) {
        let mut masked = std::mem::take(&mut self.masked);
        mask(line, &mut masked);
        self.add(&masked);
        self.masked = masked;
    }

    /// The most frequent that occur so often, those first that came first where they are alike.
    fn most(self, least: usize) -> Vec<(String, usize)> {
        let enough = |(said, (count, _)): &(Box<[u8]>, (usize, usize))| {
            *count >= least && said.iter().any(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        };
        let mut all: Vec<_> = self.counts.into_iter().filter(enough).collect();
        all.sort_unstable_by_key(|(_, (count, order))| (Reverse(*count), *order));
        let told = all.into_iter().take(COMMON);
        told.map(|(said, (count, _))| (String::from_utf8_lossy(&said).into_owned(), count)).collect()
    }
}

/// Says which are common, with their counts, as many as there is room for.
pub(super) fn say_common(key: &str, counts: Many, least: usize, telling: &mut Telling) {
    let told = counts.most(least).into_iter();
    let mut told: Vec<_> =
        told.map(|(said, count)| format!("{count} × {}", quoted(&said, MESSAGE))).collect();
    while !told.is_empty() && !telling.say(key, told.as_slice()) {
        told.pop();
    }
}

/// The beginning of a message with `#` for each run of letters, digits and signs of numbers that has a digit in it.
fn mask(message: &str, masked: &mut Vec<u8>) {
    masked.clear();
    let near = &message[..message.floor_char_boundary(MESSAGE)];
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
