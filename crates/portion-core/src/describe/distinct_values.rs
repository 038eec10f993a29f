//! How many different values a field has, and how often each of a few.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::span::Span;

/// Different values up to which each is counted.
const MAX_COUNTED_VALUES: usize = 64;

/// The different values of a field, by their 64-bit hashes: that two of a million values are taken for one happens by
/// chance to one list in forty million.
#[derive(Clone, Debug)]
pub(super) enum DistinctValues {
    /// Each with its count.
    Counted(HashMap<u64, ValueCount, IdentityHashBuilder>),
    /// Too many for that.
    Hashes(HashSet<u64, IdentityHashBuilder>),
    /// More than so many, and not counted further.
    Exceeded(usize),
}

/// A value that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueCount {
    /// How often it was seen.
    pub count: usize,
    /// Where it was seen first.
    pub first_span: Span,
}

/// Keys that are hashes already.
pub(super) type IdentityHashBuilder = BuildHasherDefault<IdentityHasher>;

/// Passes a hash on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

impl Default for DistinctValues {
    fn default() -> Self {
        Self::Counted(HashMap::default())
    }
}

impl DistinctValues {
    /// Counts a value. `room` is how many hashes may be held beyond the few, in all fields together.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, at: Span, room: &mut usize) {
        match self {
            Self::Counted(few) => {
                if let Some(held) = few.get_mut(&hash) {
                    held.count += 1;
                } else if few.len() < MAX_COUNTED_VALUES {
                    few.insert(hash, ValueCount { count: 1, first_span: at });
                } else {
                    *self = Self::spill_to_hashes(few, hash, room);
                }
            }
            Self::Hashes(many) => {
                if *room > 0 {
                    *room -= usize::from(many.insert(hash));
                } else if !many.contains(&hash) {
                    *room += many.len();
                    *self = Self::Exceeded(many.len());
                }
            }
            Self::Exceeded(_) => {}
        }
    }

    #[cold]
    fn spill_to_hashes(
        few: &HashMap<u64, ValueCount, IdentityHashBuilder>,
        hash: u64,
        room: &mut usize,
    ) -> Self {
        match room.checked_sub(few.len() + 1) {
            Some(rest) => {
                *room = rest;
                Self::Hashes(few.keys().copied().chain([hash]).collect())
            }
            None => Self::Exceeded(few.len()),
        }
    }

    /// Whether it counts no further.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        matches!(self, Self::Exceeded(_))
    }

    /// How many different values there are; `None` where they are more than were counted.
    pub(super) fn distinct_count(&self) -> Option<usize> {
        match self {
            Self::Counted(few) => Some(few.len()),
            Self::Hashes(many) => Some(many.len()),
            Self::Exceeded(_) => None,
        }
    }
}
