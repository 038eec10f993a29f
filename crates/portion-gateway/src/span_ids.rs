//! Ids for spans of ours: nobody need be unable to guess them, but each is its own.

use std::sync::atomic::{AtomicU64, Ordering};

/// Draws ids: a walk over all numbers that begins at random in each process.
pub(crate) struct SpanIds(AtomicU64);

impl SpanIds {
    pub(crate) fn new() -> Self {
        let mut start = [0; 8];
        // Without randomness, spans of several processes may have the same id.
        let _ = getrandom::fill(&mut start);
        Self(AtomicU64::new(u64::from_ne_bytes(start)))
    }

    /// The next id, which is never 0: that is none.
    pub(crate) fn next_id(&self) -> u64 {
        loop {
            let id = mix64(self.0.fetch_add(1, Ordering::Relaxed));
            if id != 0 {
                return id;
            }
        }
    }
}

/// Another number for each, far from that of its neighbour: the finalizer of `SplitMix64`,
/// <https://doi.org/10.1145/2714064.2660195>.
fn mix64(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::{SpanIds, mix64};

    #[test]
    fn each_is_its_own_and_none_is_0() {
        assert_eq!(mix64(0), 0);
        // The walk passes 0, where there is no id.
        let spans = SpanIds((u64::MAX - 500).into());
        let mut drawn: Vec<u64> = (0..1_000).map(|_| spans.next_id()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1_000);
        assert_ne!(drawn[0], 0);
    }
}
