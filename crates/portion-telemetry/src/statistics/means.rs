//! Means and their differences.

use super::{Estimate, LEAST, Z};

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
    use proptest::prelude::*;

    use super::*;

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
            one in prop::collection::vec(-1e6..1e6_f64, 5..40),
            other in prop::collection::vec(-1e6..1e6_f64, 5..40),
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
}
