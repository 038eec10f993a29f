//! Means and shares of samples, and line fits, with 95 % confidence intervals. Pure arithmetic.
//!
//! ```
//! use portion_telemetry::statistics::mean;
//!
//! let tokens = mean(&[100.0, 120.0, 110.0, 90.0, 105.0]).unwrap();
//! let (low, high) = tokens.range.unwrap();
//! assert!(tokens.value == 105.0 && low < 100.0 && high > 110.0);
//! ```

mod line;
mod means;
mod shares;

pub use line::{Line, line, quantile};
pub use means::{mean, mean_difference};
pub use shares::{Share, share_difference};

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
