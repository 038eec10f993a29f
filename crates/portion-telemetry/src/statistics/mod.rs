//! Means and shares of samples, and line fits, with 95 % confidence intervals. Pure arithmetic.
//!
//! ```
//! use portion_telemetry::statistics::mean;
//!
//! let tokens = mean(&[100.0, 120.0, 110.0, 90.0, 105.0]).unwrap();
//! let (low, high) = tokens.range.unwrap();
//! assert!(tokens.value == 105.0 && low < 100.0 && high > 110.0);
//! ```

mod samples;

pub use samples::{Share, share_difference};
pub use samples::{mean, mean_difference};

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

/// Interval of the slope, after Sen: Kendall's tau gives the number of slopes to skip on both sides.
fn range(slopes: &[f64], points: usize) -> Option<(f64, f64)> {
    let n = points as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let over = ((slopes.len() as f64 - Z * deviation) / 2.0).floor().max(0.0) as usize;
    Some((*slopes.get(over)?, *slopes.get(slopes.len().checked_sub(over + 1)?)?))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{line, quantile};

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
}
