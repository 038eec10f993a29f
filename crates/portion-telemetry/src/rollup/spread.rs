//! Where numbers lie, as counts of buckets that grow with what is in them: small, and added up without loss.
//!
//! Buckets are those of `HdrHistogram` (<https://hdrhistogram.github.io/HdrHistogram/>), 64 for each doubling: the
//! middle of one is within 0.8 % of all that is in it, and what is below 128 has a bucket of its own.

use std::collections::BTreeMap;

/// Leading bits of a number that tell its bucket, besides the highest.
const BITS: u32 = 6;
/// Numbers below have buckets of their own.
const EXACT: u64 = 2 << BITS;

/// Where numbers lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    counts: BTreeMap<u16, u64>,
    /// The least and the greatest of them.
    ends: Option<(u64, u64)>,
}

impl Spread {
    /// Adds a number.
    pub(crate) fn add(&mut self, number: u64) {
        self.count(bucket(number), 1);
        self.widen(number, number);
    }

    /// Adds all that is in another one.
    #[cfg(test)]
    pub(crate) fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(bucket, count)| self.count(*bucket, *count));
        if let Some((least, most)) = other.ends {
            self.widen(least, most);
        }
    }

    /// The number that so many in a hundred do not exceed (nearest rank), to 0.8 %: the least and the greatest are
    /// exact. `None` where there are none.
    pub(crate) fn quantile(&self, percent: u64) -> Option<u64> {
        let (least, most) = self.ends?;
        let all: u128 = self.counts.values().map(|count| u128::from(*count)).sum();
        let rank = (all * u128::from(percent)).div_ceil(100);
        if rank <= 1 {
            return Some(least);
        }
        let mut below = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            below += u128::from(**count);
            below >= rank
        });
        match reached {
            Some((bucket, _)) if rank < all => Some(middle(*bucket).max(least).min(most)),
            _ => Some(most),
        }
    }

    /// As bytes: the ends, then each bucket as its distance from the one before and its count; numbers in base 128,
    /// as LEB128 has them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Some((least, most)) = self.ends else { return Vec::new() };
        let mut bytes = Vec::with_capacity(8 + 3 * self.counts.len());
        put(&mut bytes, least);
        put(&mut bytes, most);
        let mut before = 0;
        for (bucket, count) in &self.counts {
            put(&mut bytes, u64::from(bucket - before));
            put(&mut bytes, *count);
            before = *bucket;
        }
        bytes
    }

    /// Adds all that was encoded; of what is no encoding, what can be made of it.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        let Some((least, most)) = take(&mut bytes).zip(take(&mut bytes)) else { return };
        let mut place = 0_u16;
        while let Some((distance, count)) = take(&mut bytes).zip(take(&mut bytes)) {
            let next = u16::try_from(distance).ok().and_then(|distance| place.checked_add(distance));
            let Some(next) = next.filter(|next| *next <= bucket(u64::MAX)) else { break };
            place = next;
            self.count(place, count);
            self.widen(least.min(most), least.max(most));
        }
    }

    fn count(&mut self, bucket: u16, count: u64) {
        let counted = self.counts.entry(bucket).or_default();
        *counted = counted.saturating_add(count);
    }

    fn widen(&mut self, least: u64, most: u64) {
        let (low, high) = self.ends.unwrap_or((least, most));
        self.ends = Some((low.min(least), high.max(most)));
    }
}

fn bucket(number: u64) -> u16 {
    if number < EXACT {
        return number as u16;
    }
    // How many bits do not tell.
    let rest = number.ilog2() - BITS;
    let leading = number >> rest;
    (u64::from(rest) * (EXACT / 2) + leading) as u16
}

/// The middle of a bucket.
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

/// The number at the beginning, which is then behind.
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

    fn spread(numbers: &[u64]) -> Spread {
        let mut spread = Spread::default();
        numbers.iter().for_each(|number| spread.add(*number));
        spread
    }

    fn both(one: &Spread, other: &Spread) -> Spread {
        let mut both = one.clone();
        both.merge(other);
        both
    }

    /// Of every size, not only large ones.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift), 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
            let mut taken = Spread::default();
            taken.take(&bytes);
            prop_assert_eq!(taken.quantile(percent).is_some(), taken != Spread::default());
            let mut again = Spread::default();
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
}
