//! Ids of the gateway's own spans: unique, but not secret.

use std::sync::atomic::{AtomicU64, Ordering};

/// Generates ids: a bijection of a counter that starts at a random number in each process.
pub(crate) struct SpanIds(AtomicU64);

impl SpanIds {
    pub(crate) fn new() -> Self {
        let mut start = [0; 8];
        // Without randomness, spans of several processes may have the same id.
        let _ = getrandom::fill(&mut start);
        Self(AtomicU64::new(u64::from_ne_bytes(start)))
    }

    /// Returns the next id. Never 0, which is not a valid id.
    pub(crate) fn next_id(&self) -> u64 {
        loop {
            let id = mix64(self.0.fetch_add(1, Ordering::Relaxed));
            if id != 0 {
                return id;
            }
        }
    }
}

/// Maps each number to another one, far from that of its neighbours: the finalizer of `SplitMix64`,
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
    fn ids_are_unique_and_never_0() {
        assert_eq!(mix64(0), 0);
        // The counter passes 0, which is not a valid id.
        let spans = SpanIds((u64::MAX - 500).into());
        let mut ids: Vec<u64> = (0..1_000).map(|_| spans.next_id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1_000);
        assert_ne!(ids[0], 0);
    }
}
