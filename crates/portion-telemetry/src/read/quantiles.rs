//! Where times lie.

use std::time::Duration;

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
    /// Of so many microseconds: each is a time that was measured (nearest rank), none is made up between two.
    pub fn of(mut micros: Vec<u64>) -> Self {
        let mut at = |percent: usize| {
            let rank = (micros.len() * percent).div_ceil(100);
            let Some(index) = rank.checked_sub(1) else { return Duration::ZERO };
            let (_, found, _) = micros.select_nth_unstable(index);
            Duration::from_micros(*found)
        };
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
        check((1..=1_000).collect(), [500, 950, 990]);
    }
}
