//! How many different values a field has, and how often each of a few.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::span::Span;

/// Different values up to which each is counted.
const FEW: usize = 64;

/// The different values of a field, by their 64-bit hashes: that two of a million values are taken for one happens by
/// chance to one list in forty million.
#[derive(Clone, Debug)]
pub(super) enum Tally {
    /// Each with its count.
    Few(HashMap<u64, Held, Hashed>),
    /// Too many for that.
    Many(HashSet<u64, Hashed>),
    /// More than so many, and not counted further.
    Over(usize),
}

/// A value that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// How often it was seen.
    pub count: usize,
    /// Where it was seen first.
    pub at: Span,
}

/// Keys that are hashes already.
pub(super) type Hashed = BuildHasherDefault<Passed>;

/// Passes a hash on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called for `u64`; here so that any key would do.
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::Few(HashMap::default())
    }
}

impl Tally {
    /// Counts a value. `room` is how many hashes may be held beyond the few, in all fields together.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, at: Span, room: &mut usize) {
        match self {
            Self::Few(few) => {
                if let Some(held) = few.get_mut(&hash) {
                    held.count += 1;
                } else if few.len() < FEW {
                    few.insert(hash, Held { count: 1, at });
                } else {
                    *self = Self::many(few, hash, room);
                }
            }
            Self::Many(many) => {
                if *room > 0 {
                    *room -= usize::from(many.insert(hash));
                } else if !many.contains(&hash) {
                    *room += many.len();
                    *self = Self::Over(many.len());
                }
            }
            Self::Over(_) => {}
        }
    }

    #[cold]
    fn many(few: &HashMap<u64, Held, Hashed>, hash: u64, room: &mut usize) -> Self {
        match room.checked_sub(few.len() + 1) {
            Some(rest) => {
                *room = rest;
                Self::Many(few.keys().copied().chain([hash]).collect())
            }
            None => Self::Over(few.len()),
        }
    }

    /// Whether it counts no further.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Over(_))
    }

    /// How many different values there are; `None` where they are more than were counted.
    pub(super) fn distinct(&self) -> Option<usize> {
        match self {
            Self::Few(few) => Some(few.len()),
            Self::Many(many) => Some(many.len()),
            Self::Over(_) => None,
        }
    }
}
