//! Shares and their differences.

use super::{Estimate, Z};

/// A share counted in clusters, such as requests in sessions, whose members may resemble each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, 0 to 1.
    value: f64,
    /// Effective sample size: the number of independent units that give the same precision.
    effective: f64,
}

impl Share {
    /// Computes the share from clusters, each as (hits, size). `None` if nothing was counted.
    ///
    /// Members of a cluster resemble each other, so the effective sample size is the one whose binomial variance
    /// equals the variance between clusters: Dean and Pagano, *Evaluating Confidence Interval Methods for Binomial
    /// Proportions in Clustered Surveys*, J. Survey Stat. Methodol. 3 (2015), 484–503. If all clusters agree and no
    /// variance is visible, it is the number of clusters.
    pub fn of(clusters: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let clusters: Vec<(f64, f64)> = clusters
            .into_iter()
            .filter(|(_, of)| *of > 0)
            .map(|(hits, of)| (hits.min(of) as f64, of as f64))
            .collect();
        let count = clusters.len() as f64;
        let (hits, all) = clusters.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if clusters.is_empty() {
            return None;
        }
        let value = hits / all;
        let squares: f64 = clusters.iter().map(|(hits, of)| (hits - value * of).powi(2)).sum();
        let variance = squares * count / (count - 1.0).max(1.0) / (all * all);
        let effective = if all <= count {
            all
        } else if variance > 0.0 {
            (value * (1.0 - value) / variance).clamp(1.0, all)
        } else {
            count
        };
        Some(Self { value, effective })
    }

    /// Returns the share with Wilson's interval, *Probable Inference, the Law of Succession, and Statistical
    /// Inference*, J. Am. Stat. Assoc. 22 (1927), 209–212.
    pub fn estimate(self) -> Estimate {
        let Self { value, effective } = self;
        let squared = Z * Z;
        let middle = value + squared / (2.0 * effective);
        let reach = Z * (value * (1.0 - value) / effective + squared / (4.0 * effective * effective)).sqrt();
        let whole = 1.0 + squared / effective;
        let range =
            (((middle - reach) / whole).clamp(0.0, value), ((middle + reach) / whole).clamp(value, 1.0));
        Estimate { value, range: Some(range) }
    }
}

/// Returns the difference of two shares with Newcombe's interval, *Interval Estimation for the Difference Between
/// Independent Proportions: Comparison of Eleven Methods*, Stat. Med. 17 (1998), 873–890, method 10.
pub fn share_difference(one: Share, other: Share) -> Estimate {
    let reach = |share: Share| {
        let (low, high) = share.estimate().range.unwrap_or((0.0, 1.0));
        (share.value - low, high - share.value)
    };
    let ((one_down, one_up), (other_down, other_up)) = (reach(one), reach(other));
    let value = one.value - other.value;
    Estimate { value, range: Some((value - one_down.hypot(other_up), value + one_up.hypot(other_down))) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each unit in a cluster of its own.
    fn apart(hits: usize, of: usize) -> Share {
        Share::of((0..of).map(|at| (u64::from(at < hits), 1))).expect("there are some")
    }

    #[track_caller]
    fn check(found: Estimate, low: f64, high: f64) {
        let (found_low, found_high) = found.range.expect("shares have one");
        for (found, expect) in [(found_low, low), (found_high, high)] {
            assert!((found - expect).abs() < 5e-5, "{found}, not {expect}");
        }
    }

    /// Against the table of Newcombe, *Two-sided confidence intervals for the single proportion*, Stat. Med. 17 (1998),
    /// 857–872, method 3; the same from `scipy.stats.binomtest(…).proportion_ci(method='wilson')`.
    #[test]
    fn a_share_has_wilsons_interval() {
        for ((hits, of), low, high) in [
            ((81, 263), 0.2553, 0.3662),
            ((15, 148), 0.0624, 0.1605),
            ((0, 20), 0.0, 0.1611),
            ((1, 29), 0.0061, 0.1718),
        ] {
            check(apart(hits, of).estimate(), low, high);
        }
    }

    /// Against table II of the same paper.
    #[test]
    fn a_difference_has_newcombes_interval() {
        for (one, other, low, high) in [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((6, 7), (2, 7), 0.0582, 0.8062),
            ((5, 56), (0, 29), -0.0381, 0.1926),
            ((0, 10), (0, 20), -0.1611, 0.2775),
        ] {
            check(share_difference(apart(one.0, one.1), apart(other.0, other.1)), low, high);
        }
    }

    #[test]
    fn what_repeats_tells_less() {
        let effective =
            |clusters: &[(u64, u64)]| Share::of(clusters.iter().copied()).map(|share| share.effective);
        assert_eq!(effective(&[]), None);
        assert_eq!(effective(&[(0, 0)]), None);
        assert_eq!(effective(&[(0, 10); 7]), Some(7.0), "nothing varies");
        // Ten sessions that fail always or never carry about as much information as ten requests.
        let alike: Vec<(u64, u64)> = (0..10).map(|at| if at < 5 { (10, 10) } else { (0, 10) }).collect();
        assert!(effective(&alike).is_some_and(|found| (found - 9.0).abs() < 1e-9));
        let mixed: Vec<(u64, u64)> = (0..100).map(|at| (at % 3, 4)).collect();
        assert!(effective(&mixed).is_some_and(|found| found > 100.0 && found <= 400.0));
    }

    /// Sessions differ: the interval must hold the true share in 95 of 100 experiments. An interval that treats
    /// requests as independent does not.
    #[test]
    fn intervals_are_honest_where_sessions_differ() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            // Marsaglia's xorshift: the same numbers in each run.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut honest, mut naive) = (0, 0);
        let holds = |share: Option<Share>| {
            let range = share.and_then(|share| share.estimate().range).expect("there are sessions");
            u32::from((range.0..=range.1).contains(&0.15))
        };
        for _ in 0..1_000 {
            let sessions: Vec<(u64, u64)> = (0..40)
                .map(|_| {
                    let likely = if random() < 0.25 { 0.54 } else { 0.02 };
                    ((0..20).map(|_| u64::from(random() < likely)).sum(), 20)
                })
                .collect();
            honest += holds(Share::of(sessions.iter().copied()));
            let hits: u64 = sessions.iter().map(|(hits, _)| hits).sum();
            naive += holds(Share::of((0..800).map(|at| (u64::from(at < hits), 1))));
        }
        assert!(honest >= 920, "{honest} of 1,000");
        assert!(naive < 700, "{naive} of 1,000");
    }

    proptest! {
        #[test]
        fn intervals_hold_what_they_are_of(
            one in prop::collection::vec((0..9_u64, 0..9_u64), 1..40),
            other in prop::collection::vec((0..9_u64, 0..9_u64), 1..40),
        ) {
            let (one, other) = (Share::of(one), Share::of(other));
            for share in one.iter().chain(&other) {
                let Estimate { value, range } = share.estimate();
                let (low, high) = range.expect("shares have one");
                prop_assert!(0.0 <= low && low <= value && value <= high && high <= 1.0, "{share:?}");
            }
            if let (Some(one), Some(other)) = (one, other) {
                let (forth, back) = (share_difference(one, other), share_difference(other, one));
                let range = |found: Estimate| found.range.expect("shares have one");
                let ((low, high), (back_low, back_high)) = (range(forth), range(back));
                prop_assert!(-1.0 <= low && low <= forth.value && forth.value <= high && high <= 1.0);
                prop_assert!((low + back_high).abs() < 1e-12 && (high + back_low).abs() < 1e-12);
            }
        }
    }
}
