//! Means and shares of samples, and line fits, with 95 % confidence intervals. Pure arithmetic.
//!
//! ```
//! use portion_telemetry::statistics::mean;
//!
//! let tokens = mean(&[100.0, 120.0, 110.0, 90.0, 105.0]).unwrap();
//! let (low, high) = tokens.range.unwrap();
//! assert!(tokens.value == 105.0 && low < 100.0 && high > 110.0);
//! ```

/// Minimum sample size for an interval.
pub const LEAST: usize = 5;

/// 97.5 % quantile of the normal distribution: 95 % lie between `−Z` and `Z`.
const Z: f64 = 1.959_963_984_540_054;

/// An estimate from a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// 95 % confidence interval. `None` if the sample is too small.
    pub range: Option<(f64, f64)>,
}

/// The line `y = slope · x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Median slope between any two points, with its interval.
    pub slope: Estimate,
    /// Median residual `y − slope · x`.
    pub intercept: f64,
}

/// Fits a line through `(x, y)` points by the Theil–Sen estimator. `None` if all `x` are equal. Time and memory grow with
/// the square of the number of points.
///
/// Sources: H. Theil, A rank-invariant method of linear and polynomial regression analysis, Proc. Kon. Ned. Akad.
/// Wetensch. A 53 (1950); P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, J. Amer. Statist.
/// Assoc. 63 (1968), for the interval. Up to 29 % of the points may be arbitrary without moving the line much.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        let different = points[..at].iter().filter(|(other, _)| x.total_cmp(other).is_ne());
        slopes.extend(different.map(|(other, value)| (y - value) / (x - other)));
    }
    slopes.sort_by(f64::total_cmp);
    let slope = quantile(&slopes, 0.5)?;
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    rests.sort_by(f64::total_cmp);
    let range = (points.len() >= LEAST).then(|| range(&slopes, points.len())).flatten();
    Some(Line { slope: Estimate { value: slope, range }, intercept: quantile(&rests, 0.5)? })
}

/// Returns a quantile of sorted values, interpolated linearly between the two nearest.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * place.fract())
}

/// Moments of a sample.
#[derive(Clone, Copy, Debug)]
struct Moments {
    count: f64,
    mean: f64,
    /// Variance of the mean.
    variance: f64,
}

/// Returns the mean of a sample with Student's t interval. `None` for an empty sample.
pub fn mean(sample: &[f64]) -> Option<Estimate> {
    let Moments { count, mean, variance } = moments(sample)?;
    let range = (sample.len() >= LEAST).then(|| around(mean, variance, count - 1.0));
    Some(Estimate { value: mean, range })
}

/// Returns the difference of two means with Welch's interval, which allows unequal variances: *The generalization of
/// "Student's" problem when several different population variances are involved*, Biometrika 34 (1947), 28–35. `None`
/// if a sample is empty.
pub fn mean_difference(one: &[f64], other: &[f64]) -> Option<Estimate> {
    let (left, right) = (moments(one)?, moments(other)?);
    let value = left.mean - right.mean;
    let variance = left.variance + right.variance;
    // Degrees of freedom after Satterthwaite.
    let spread = |side: Moments| side.variance * side.variance / (side.count - 1.0);
    let freedom = variance * variance / (spread(left) + spread(right));
    // Without variance there is no spread to divide by; the interval is a point.
    let freedom = if freedom.is_finite() { freedom } else { left.count + right.count - 2.0 };
    let range = (one.len().min(other.len()) >= LEAST).then(|| around(value, variance, freedom));
    Some(Estimate { value, range })
}

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

/// Interval of the slope, after Sen: Kendall's tau gives the number of slopes to skip on both sides.
fn range(slopes: &[f64], points: usize) -> Option<(f64, f64)> {
    let n = points as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let over = ((slopes.len() as f64 - Z * deviation) / 2.0).floor().max(0.0) as usize;
    Some((*slopes.get(over)?, *slopes.get(slopes.len().checked_sub(over + 1)?)?))
}

fn around(value: f64, variance: f64, freedom: f64) -> (f64, f64) {
    let reach = student_quantile(freedom) * variance.sqrt();
    (value - reach, value + reach)
}

fn moments(sample: &[f64]) -> Option<Moments> {
    if sample.is_empty() {
        return None;
    }
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    let variance = if sample.len() > 1 { squares / (count - 1.0) / count } else { 0.0 };
    Some(Moments { count, mean, variance })
}

/// Returns the 97.5 % quantile for `freedom` degrees of freedom, at least 4 and not necessarily whole. Source:
/// Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.5. It is 0.03 % too small at 4 and more exact
/// above.
fn student_quantile(freedom: f64) -> f64 {
    let squared = Z * Z;
    // Σ c z^(2i+1), with coefficients in ascending order.
    let polynomial =
        |coefficients: &[f64]| Z * coefficients.iter().rev().fold(0.0, |sum, c| sum * squared + c);
    let terms = [
        polynomial(&[1.0, 1.0]) / 4.0,
        polynomial(&[3.0, 16.0, 5.0]) / 96.0,
        polynomial(&[-15.0, 17.0, 19.0, 3.0]) / 384.0,
        polynomial(&[-945.0, -1_920.0, 1_482.0, 776.0, 79.0]) / 92_160.0,
    ];
    let mut power = 1.0;
    terms.iter().fold(Z, |sum, term| {
        power *= freedom;
        sum + term / power
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_found_though_some_points_are_anywhere() {
        let points: Vec<(f64, f64)> = (0..100)
            .map(|n| (f64::from(n), if n % 5 == 0 { 1e6 } else { 3.0 * f64::from(n) + 7.0 }))
            .collect();
        let line = line(&points).expect("a line");
        assert!((line.slope.value - 3.0).abs() < 1e-9 && (line.intercept - 7.0).abs() < 1e-9, "{line:?}");
        let (low, high) = line.slope.range.expect("an interval");
        assert!(low <= 3.0 && 3.0 <= high);
    }

    #[test]
    fn where_nothing_differs_there_is_no_line() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (2.0, 4.0)]).expect("a line").slope.range, None);
    }

    #[test]
    fn the_slope_is_the_median_of_all_slopes() {
        // By hand, sorted: 1, 2, 7/3, 3, 3, 3.
        let line = line(&[(0.0, 0.0), (1.0, 1.0), (2.0, 4.0), (3.0, 7.0)]).expect("a line");
        assert!((line.slope.value - f64::midpoint(7.0 / 3.0, 3.0)).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), Some(3.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn the_slope_follows_the_units(points in vec((0.0..1e4, 0.0..1e4), 2..30), times in 0.1..10.0_f64) {
            let scaled: Vec<_> = points.iter().map(|(x, y)| (*x, y * times)).collect();
            if let (Some(plain), Some(scaled)) = (line(&points), line(&scaled)) {
                let expect = plain.slope.value * times;
                prop_assert!((scaled.slope.value - expect).abs() <= 1e-6 * expect.abs().max(1.0));
                if let Some((low, high)) = plain.slope.range {
                    prop_assert!(low <= plain.slope.value && plain.slope.value <= high);
                }
            }
        }
    }

    const ONE: [f64; 15] =
        [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];

    const OTHER: [f64; 15] =
        [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9];

    #[track_caller]
    fn check(found: Option<Estimate>, value: f64, low: f64, high: f64) {
        let found = found.expect("there is something in the sample");
        let (found_low, found_high) = found.range.expect("it is large enough");
        for (found, expect) in [(found.value, value), (found_low, low), (found_high, high)] {
            assert!((found - expect).abs() < 1e-4, "{found}, not {expect}");
        }
    }

    /// Against `scipy.stats.ttest_1samp(…).confidence_interval()`, `SciPy` 1.17.1.
    #[test]
    fn a_mean_has_students_interval() {
        check(mean(&ONE), 20.82, 19.266_702, 22.373_298);
        let paired: Vec<f64> = ONE.iter().zip(OTHER).map(|(one, other)| one - other).collect();
        check(mean(&paired), -2.766_667, -4.620_998, -0.912_335);
    }

    /// Against `scipy.stats.ttest_ind(…, equal_var=False).confidence_interval()`, `SciPy` 1.17.1.
    #[test]
    fn a_difference_has_welchs_interval() {
        check(mean_difference(&ONE, &OTHER), -2.766_667, -4.766_445, -0.766_888);
        check(mean_difference(&OTHER, &ONE), 2.766_667, 0.766_888, 4.766_445);
    }

    #[test]
    fn what_does_not_vary_has_no_width_and_what_is_small_no_interval() {
        check(mean(&[3.0; 9]), 3.0, 3.0, 3.0);
        check(mean_difference(&[3.0; 9], &[5.0; 6]), -2.0, -2.0, -2.0);
        assert_eq!(mean(&[]), None);
        assert_eq!(mean_difference(&ONE, &[]), None);
        assert_eq!(mean(&[1.0, 2.0, 3.0, 4.0]), Some(Estimate { value: 2.5, range: None }));
        assert_eq!(mean_difference(&ONE, &[1.0]).map(|difference| difference.range), Some(None));
    }

    proptest! {
        #[test]
        fn differences_turn_around_and_move_along(
            one in vec(-1e6..1e6_f64, 5..40),
            other in vec(-1e6..1e6_f64, 5..40),
            by in -1e6..1e6_f64,
        ) {
            let range = |one: &[f64], other: &[f64]| {
                mean_difference(one, other).and_then(|found| found.range).expect("they are large enough")
            };
            let (low, high) = range(&one, &other);
            let near = |one: f64, other: f64| (one - other).abs() < 1e-3;
            prop_assert!(low <= high);
            let back = range(&other, &one);
            prop_assert!(near(low, -back.1) && near(high, -back.0));
            let moved: Vec<f64> = one.iter().map(|value| value + by).collect();
            let along = range(&moved, &other);
            prop_assert!(near(along.0, low + by) && near(along.1, high + by));
        }
    }

    /// Against `scipy.stats.t.ppf(0.975, df)`, `SciPy` 1.17.1.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expect) in [
            (4.0, 2.776_445_105),
            (5.0, 2.570_581_836),
            (7.5, 2.333_039_627),
            (10.0, 2.228_138_852),
            (19.0, 2.093_024_054),
            (30.0, 2.042_272_456),
            (100.0, 1.983_971_519),
            (1_000.0, 1.962_339_081),
        ] {
            let found = student_quantile(freedom);
            assert!((found / expect - 1.0).abs() < 4e-4, "{freedom}: {found}, not {expect}");
        }
    }

    /// Each unit in a cluster of its own.
    fn apart(hits: usize, of: usize) -> Share {
        Share::of((0..of).map(|at| (u64::from(at < hits), 1))).expect("there are some")
    }

    #[track_caller]
    fn check_share(found: Estimate, low: f64, high: f64) {
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
            check_share(apart(hits, of).estimate(), low, high);
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
            check_share(share_difference(apart(one.0, one.1), apart(other.0, other.1)), low, high);
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
            one in vec((0..9_u64, 0..9_u64), 1..40),
            other in vec((0..9_u64, 0..9_u64), 1..40),
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
