//! Means and shares of samples, lines through points, with the 95 % confidence intervals that go with them. Pure arithmetic.

mod line;
mod means;
mod shares;
mod student;

pub use line::{Line, line, quantile};
pub use means::{mean, mean_difference};
pub use shares::{Share, share_difference};

/// Units of a sample from which a mean has an interval.
pub const LEAST: usize = 5;

/// The 97.5 % quantile of the normal distribution: 95 % lie between its negative and it.
const Z: f64 = 1.959_963_984_540_054;

/// What is estimated of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its 95 % confidence interval; `None` where the sample is too small for one.
    pub range: Option<(f64, f64)>,
}
