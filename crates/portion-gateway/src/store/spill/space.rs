//! Space in the temporary file, in granules.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a granule.
pub(super) const GRANULE_BYTES: u64 = 4096;

/// Granules that follow each other.
pub(super) type Run = Range<u32>;

/// Free granules of a file of bounded size.
#[derive(Debug)]
pub(super) struct Space {
    /// Free runs below `end`, as start and length. No two touch each other, and none touches `end`.
    free: BTreeMap<u32, u32>,
    free_count: u32,
    /// Granules from here on were never used, or are all free again.
    end: u32,
    capacity: u32,
}

impl Space {
    /// Creates the space of an empty file of at most `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let capacity = u32::try_from(bytes / GRANULE_BYTES).unwrap_or(u32::MAX);
        Self { free: BTreeMap::new(), free_count: 0, end: 0, capacity }
    }

    /// Returns the number of granules in use.
    pub(super) fn used_count(&self) -> u32 {
        self.end - self.free_count
    }

    /// Returns the end of the last granule in use.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// Reserves granules for `bytes` bytes, in any number of runs; `None` if there are too few.
    pub(super) fn allocate(&mut self, bytes: usize) -> Option<Vec<Run>> {
        let mut missing = u32::try_from((bytes as u64).div_ceil(GRANULE_BYTES)).ok()?;
        if missing > self.capacity - self.used_count() {
            return None;
        }
        let mut runs = Vec::new();
        while missing > 0 {
            let Some((start, length)) = self.free.pop_first() else {
                runs.push(self.end..self.end + missing);
                self.end += missing;
                break;
            };
            let taken = length.min(missing);
            if taken < length {
                self.free.insert(start + taken, length - taken);
            }
            self.free_count -= taken;
            missing -= taken;
            runs.push(start..start + taken);
        }
        Some(runs)
    }

    /// Frees runs that were allocated.
    pub(super) fn release(&mut self, runs: &[Run]) {
        for run in runs {
            self.free_count += run.end - run.start;
            let mut freed = run.clone();
            if let Some((&start, &length)) = self.free.range(..freed.start).next_back()
                && start + length == freed.start
            {
                self.free.remove(&start);
                freed.start = start;
            }
            if let Some(length) = self.free.remove(&freed.end) {
                freed.end += length;
            }
            if freed.end == self.end {
                self.end = freed.start;
                self.free_count -= freed.end - freed.start;
            } else {
                self.free.insert(freed.start, freed.end - freed.start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{GRANULE_BYTES, Run, Space};

    const CAPACITY: u32 = 64;

    proptest! {
        #[test]
        fn granules_belong_to_one_owner_and_all_can_be_used(
            acts in vec((0..20 * GRANULE_BYTES as usize, any::<prop::sample::Index>(), any::<bool>()), 0..80),
        ) {
            let mut space = Space::new(u64::from(CAPACITY) * GRANULE_BYTES);
            let mut owned: Vec<Vec<Run>> = Vec::new();
            for (bytes, nth, frees) in acts {
                let used: u32 = owned.iter().flatten().map(|run| run.end - run.start).sum();
                if frees && !owned.is_empty() {
                    space.release(&owned.swap_remove(nth.index(owned.len())));
                } else {
                    let wanted = bytes.div_ceil(GRANULE_BYTES as usize) as u32;
                    let runs = space.allocate(bytes);
                    prop_assert_eq!(runs.is_some(), used + wanted <= CAPACITY, "however the space is cut up");
                    owned.extend(runs);
                }
                let mut all: Vec<u32> = owned.iter().flatten().cloned().flatten().collect();
                all.sort_unstable();
                prop_assert_eq!(space.used_count() as usize, all.len());
                prop_assert_eq!(space.end(), all.last().map_or(0, |last| last + 1));
                prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
                prop_assert!(all.iter().all(|granule| *granule < CAPACITY));
            }
        }
    }
}
