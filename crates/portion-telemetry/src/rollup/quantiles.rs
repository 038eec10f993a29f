//! Quantiles of durations.

use std::time::Duration;

use super::QuantileHistogram;

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
        // Middle of a bucket.
        check((1..=1_000).collect(), [502, 948, 988]);
    }
}
