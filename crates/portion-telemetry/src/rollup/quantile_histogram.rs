//! Compact histogram for quantiles that merges without loss.
//!
//! The buckets are those of `HdrHistogram` (<https://hdrhistogram.github.io/HdrHistogram/>) with 64 per doubling. The
//! middle of a bucket is within 0.8 % of every value in it, and each value below 128 has its own bucket.

use std::collections::BTreeMap;
use std::time::Duration;

/// Leading bits, besides the highest, that select the bucket.
const BITS: u32 = 6;
/// Values below this have buckets of their own.
const EXACT: u64 = 2 << BITS;

/// Counts of values by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuantileHistogram {
    counts: BTreeMap<u16, u64>,
    /// Minimum and maximum.
    ends: Option<(u64, u64)>,
}

impl QuantileHistogram {
    /// Adds a value.
    pub(crate) fn add(&mut self, number: u64) {
        self.count(bucket(number), 1);
        self.widen(number, number);
    }

    /// Adds all values of another histogram.
    #[cfg(test)]
    pub(crate) fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(bucket, count)| self.count(*bucket, *count));
        if let Some((min, max)) = other.ends {
            self.widen(min, max);
        }
    }

    /// Returns the nearest-rank quantile, to 0.8 %. The minimum and the maximum are exact. `None` without values.
    pub(crate) fn quantile(&self, percent: u64) -> Option<u64> {
        let (min, max) = self.ends?;
        let all: u128 = self.counts.values().map(|count| u128::from(*count)).sum();
        let rank = (all * u128::from(percent)).div_ceil(100);
        if rank <= 1 {
            return Some(min);
        }
        let mut below = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            below += u128::from(**count);
            below >= rank
        });
        match reached {
            Some((bucket, _)) if rank < all => Some(middle(*bucket).max(min).min(max)),
            _ => Some(max),
        }
    }

    /// Encodes as bytes: minimum, maximum, then for each bucket its distance from the previous one and its count, all
    /// in LEB128.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Some((min, max)) = self.ends else { return Vec::new() };
        let mut bytes = Vec::with_capacity(8 + 3 * self.counts.len());
        put(&mut bytes, min);
        put(&mut bytes, max);
        let mut before = 0;
        for (bucket, count) in &self.counts {
            put(&mut bytes, u64::from(bucket - before));
            put(&mut bytes, *count);
            before = *bucket;
        }
        bytes
    }

    /// Adds an encoded histogram. Invalid bytes end the input.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        let Some((min, max)) = take(&mut bytes).zip(take(&mut bytes)) else { return };
        let mut place = 0_u16;
        while let Some((distance, count)) = take(&mut bytes).zip(take(&mut bytes)) {
            let next = u16::try_from(distance).ok().and_then(|distance| place.checked_add(distance));
            let Some(next) = next.filter(|next| *next <= bucket(u64::MAX)) else { break };
            place = next;
            self.count(place, count);
            self.widen(min.min(max), min.max(max));
        }
    }

    fn count(&mut self, bucket: u16, count: u64) {
        let counted = self.counts.entry(bucket).or_default();
        *counted = counted.saturating_add(count);
    }

    fn widen(&mut self, min: u64, max: u64) {
        let (low, high) = self.ends.unwrap_or((min, max));
        self.ends = Some((low.min(min), high.max(max)));
    }
}

/// Quantiles of durations. All are zero without values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
}

impl Quantiles {
    /// Computes nearest-rank quantiles of microseconds, to 0.8 %. The minimum and the maximum are exact.
    pub fn of(micros: Vec<u64>) -> Self {
        let mut spread = QuantileHistogram::default();
        micros.into_iter().for_each(|micros| spread.add(micros));
        Self::from(&spread)
    }
}

/// Converts a histogram of microseconds.
impl From<&QuantileHistogram> for Quantiles {
    fn from(spread: &QuantileHistogram) -> Self {
        let at = |percent| Duration::from_micros(spread.quantile(percent).unwrap_or_default());
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}

fn bucket(number: u64) -> u16 {
    if number < EXACT {
        return number as u16;
    }
    // Number of low bits that do not select the bucket.
    let rest = number.ilog2() - BITS;
    let leading = number >> rest;
    (u64::from(rest) * (EXACT / 2) + leading) as u16
}

/// Returns the middle of a bucket.
fn middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < EXACT {
        return bucket;
    }
    let rest = (bucket / (EXACT / 2) - 1) as u32;
    let leading = bucket - u64::from(rest) * (EXACT / 2);
    (leading << rest) + (1 << rest) / 2
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a LEB128 number and advances the slice.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spread(numbers: &[u64]) -> QuantileHistogram {
        let mut spread = QuantileHistogram::default();
        numbers.iter().for_each(|number| spread.add(*number));
        spread
    }

    fn both(one: &QuantileHistogram, other: &QuantileHistogram) -> QuantileHistogram {
        let mut both = one.clone();
        both.merge(other);
        both
    }

    /// Values of every magnitude, not only large ones.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift), 0..40)
    }

    proptest! {
            #[test]
        fn merging_is_adding_in_any_order(one in numbers(), other in numbers(), third in numbers()) {
            let [a, b, c] = [&one, &other, &third].map(|numbers| spread(numbers));
            prop_assert_eq!(both(&a, &b), both(&b, &a));
            prop_assert_eq!(both(&both(&a, &b), &c), both(&a, &both(&b, &c)));
            prop_assert_eq!(both(&both(&a, &b), &c), spread(&[one, other, third].concat()));
        }

        #[test]
        fn quantiles_are_near_the_exact_ones(mut numbers in numbers(), percent in 0..=100_u64) {
            let found = spread(&numbers).quantile(percent);
            numbers.sort_unstable();
            let rank = (numbers.len() as u64 * percent).div_ceil(100).max(1);
            let exact = numbers.get(rank as usize - 1).copied();
            prop_assert_eq!(found.is_some(), exact.is_some());
            if let (Some(found), Some(exact)) = (found, exact) {
                prop_assert!(found.abs_diff(exact) as f64 <= exact as f64 / 128.0, "{} for {}", found, exact);
            }
        }

        #[test]
        fn what_is_encoded_is_taken_back(numbers in numbers(), besides in numbers()) {
            let (one, mut taken) = (spread(&numbers), spread(&besides));
            taken.take(&one.encode());
            prop_assert_eq!(taken, both(&spread(&besides), &one));
        }

        #[test]
        fn any_bytes_can_be_taken(bytes in prop::collection::vec(any::<u8>(), 0..64), percent in 0..=100_u64) {
            let mut taken = QuantileHistogram::default();
            taken.take(&bytes);
            prop_assert_eq!(taken.quantile(percent).is_some(), taken != QuantileHistogram::default());
            let mut again = QuantileHistogram::default();
            again.take(&taken.encode());
            prop_assert_eq!(again, taken);
        }
    }

    #[test]
    fn a_bucket_is_where_its_middle_is() {
        for found in 0..=bucket(u64::MAX) {
            assert_eq!(bucket(middle(found)), found);
        }
        for number in (0..64).map(|shift| 1_u64 << shift) {
            assert!(bucket(number) > bucket(number - 1) || number < 2, "{number}");
        }
    }

    #[test]
    fn ranks_are_the_nearest() {
        let check = |micros: Vec<u64>, expect: [u64; 3]| {
            let [p50, p95, p99] = expect.map(Duration::from_micros);
            assert_eq!(Quantiles::of(micros), Quantiles { p50, p95, p99 });
        };
        check(vec![], [0, 0, 0]);
        check(vec![7], [7, 7, 7]);
        check(vec![4, 1, 3, 2], [2, 4, 4]);
        check((1..=100).rev().collect(), [50, 95, 99]);
        // Middle of a bucket.
        check((1..=1_000).collect(), [502, 948, 988]);
    }
}
