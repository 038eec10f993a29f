//! Where times lie.

use std::time::Duration;

use crate::rollup::Spread;

/// Where times lie: so many in a hundred were at most that long. Zero where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Half of them.
    pub p50: Duration,
    /// 95 in a hundred.
    pub p95: Duration,
    /// 99 in a hundred.
    pub p99: Duration,
}

impl Quantiles {
    /// Of so many microseconds (nearest rank): to 0.8 %, however they were added up; the least and the greatest of them
    /// are exact.
    pub fn of(micros: Vec<u64>) -> Self {
        let mut spread = Spread::default();
        micros.into_iter().for_each(|micros| spread.add(micros));
        Self::from(&spread)
    }
}

/// Of microseconds.
impl From<&Spread> for Quantiles {
    fn from(spread: &Spread) -> Self {
        let at = |percent| Duration::from_micros(spread.quantile(percent).unwrap_or_default());
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // The middle of what is counted as one.
        check((1..=1_000).collect(), [502, 948, 988]);
    }
}
