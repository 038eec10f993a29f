//! Counts the distinct values of a field, and the occurrences of each if they are few.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use portion_json::span::Span;

/// Largest number of distinct values that are counted one by one.
const MAX_COUNTED_VALUES: usize = 64;

/// Distinct values of a field, by their 64-bit hashes. A collision among a million values occurs by chance in
/// one of forty million lists.
#[derive(Clone, Debug)]
pub(super) enum DistinctValues {
    /// Each value with its count.
    Counted(HashMap<u64, ValueCount, IdentityHashBuilder>),
    /// Hashes only, for more values.
    Hashes(HashSet<u64, IdentityHashBuilder>),
    /// More distinct values than this; no longer counted.
    Exceeded(usize),
}

/// A counted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueCount {
    /// Number of occurrences.
    pub count: usize,
    /// Span of the first occurrence.
    pub first_span: Span,
}

/// Hasher for keys that are hashes already.
pub(super) type IdentityHashBuilder = BuildHasherDefault<IdentityHasher>;

/// Returns the key as its hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called for `u64`; present so that any key works.
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
    /// Counts a value. `remaining` is the number of hashes that all fields together may still hold.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, at: Span, remaining: &mut usize) {
        match self {
            Self::Counted(few) => {
                if let Some(held) = few.get_mut(&hash) {
                    held.count += 1;
                } else if few.len() < MAX_COUNTED_VALUES {
                    few.insert(hash, ValueCount { count: 1, first_span: at });
                } else {
                    *self = Self::spill_to_hashes(few, hash, remaining);
                }
            }
            Self::Hashes(many) => {
                if *remaining > 0 {
                    *remaining -= usize::from(many.insert(hash));
                } else if !many.contains(&hash) {
                    *remaining += many.len();
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
        remaining: &mut usize,
    ) -> Self {
        match remaining.checked_sub(few.len() + 1) {
            Some(rest) => {
                *remaining = rest;
                Self::Hashes(few.keys().copied().chain([hash]).collect())
            }
            None => Self::Exceeded(few.len()),
        }
    }

    /// Returns true if it no longer counts.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        matches!(self, Self::Exceeded(_))
    }

    /// Returns the number of distinct values, or `None` if there are more than were counted.
    pub(super) fn distinct_count(&self) -> Option<usize> {
        match self {
            Self::Counted(few) => Some(few.len()),
            Self::Hashes(many) => Some(many.len()),
            Self::Exceeded(_) => None,
        }
    }
}
