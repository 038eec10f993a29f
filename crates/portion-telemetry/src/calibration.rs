//! Fits the factor between token counts and what a model charged.
//!
//! The model of a charge is `factor · count + overhead`. The overhead is what a request costs besides its texts, and
//! is about the same each time. Replies have no overhead, so only the factor applies to them.
//!
//! ```
//! use portion_telemetry::calibration::{Observation, Observations};
//!
//! let mut requests = Observations::default();
//! for counted in (100..2_100).step_by(100).map(f64::from) {
//!     requests.add(Observation { fitted: counted, counted, charged: 1.25 * counted + 40.0 });
//! }
//! let calibration = requests.calibration().unwrap();
//! assert!((calibration.factor.value - 1.25).abs() < 1e-9 && (calibration.overhead - 40.0).abs() < 1e-6);
//! ```

use portion_tokens::accuracy::ACCURATE_MAX_ERROR;

use crate::statistics::{Estimate, line, quantile};

/// Minimum number of requests for a recommended factor.
pub const MIN_REQUESTS: usize = 20;
/// Maximum number of requests kept per family. Beyond it, an even sample is kept.
const MAX_SAMPLE: usize = 2_000;
/// Share of requests that a safe factor may under-count.
const MAX_UNDERCOUNTED: f64 = 0.05;

/// A request whose charge is known. All values are tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Count of its texts by the reference of the family.
    pub fitted: f64,
    /// Count of its texts by the configured counter, which may add a margin.
    pub counted: f64,
    /// Tokens charged for the whole request.
    pub charged: f64,
}

/// Observations of one family, as an even sample.
#[derive(Clone, Debug)]
pub struct Observations {
    sample: Vec<Observation>,
    seen: usize,
    /// Every `stride`-th observation is kept.
    stride: usize,
}

/// Result of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Requests observed.
    pub requests: usize,
    /// Factor to multiply counts by, with its 95 % interval.
    pub factor: Estimate,
    /// Tokens that a request costs besides its texts.
    pub overhead: f64,
    /// Share of requests whose count plus overhead is within 20 % of the charge, without the factor.
    pub near_before: f64,
    /// The same share with the factor.
    pub near_after: f64,
    /// Share of requests whose count times the factor, plus the overhead, is below the charge.
    pub under: f64,
    /// Smallest factor that under-counts at most 5 % of requests.
    pub safe: f64,
}

impl Default for Observations {
    fn default() -> Self {
        Self { sample: Vec::new(), seen: 0, stride: 1 }
    }
}

impl Observations {
    /// Adds a request.
    pub fn add(&mut self, observation: Observation) {
        if self.seen.is_multiple_of(self.stride) {
            if self.sample.len() == MAX_SAMPLE {
                let mut at = 0;
                self.sample.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.sample.push(observation);
            }
        }
        self.seen += 1;
    }

    /// Returns the number of requests added.
    pub fn len(&self) -> usize {
        self.seen
    }

    /// Returns true if no request was added.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// Fits the factor. `None` if all texts have the same size, or if larger requests were charged less.
    pub fn calibration(&self) -> Option<Calibration> {
        let points: Vec<(f64, f64)> = self.sample.iter().map(|one| (one.fitted, one.charged)).collect();
        let line = line(&points)?;
        let (factor, overhead) = (line.slope, line.intercept);
        if factor.value <= 0.0 {
            return None;
        }
        let share = |is: &dyn Fn(&Observation) -> bool| {
            self.sample.iter().filter(|one| is(one)).count() as f64 / self.sample.len() as f64
        };
        let near = |factor: f64| {
            share(&|one| {
                (factor * one.fitted + overhead - one.charged).abs() <= ACCURATE_MAX_ERROR * one.charged
            })
        };
        let mut needed: Vec<f64> =
            self.sample.iter().filter(|one| one.counted > 0.0).map(|one| one.needs(overhead)).collect();
        needed.sort_by(f64::total_cmp);
        Some(Calibration {
            requests: self.seen,
            factor,
            overhead,
            near_before: near(1.0),
            near_after: near(factor.value),
            under: share(&|one| one.counted > 0.0 && one.needs(overhead) > factor.value),
            safe: quantile(&needed, 1.0 - MAX_UNDERCOUNTED)?,
        })
    }
}

impl Observation {
    /// Returns the factor by which the count equals the charge.
    fn needs(&self, overhead: f64) -> f64 {
        (self.charged - overhead) / self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_SAMPLE, Observation, Observations};

    /// Builds requests of 100 tokens and more, charged by this rule. Some have images that are not in the counts.
    fn observed(factor: f64, overhead: f64, count: usize) -> Observations {
        let mut observations = Observations::default();
        for n in 0..count {
            let fitted = 100.0 + (n * 7_919 % 10_007) as f64;
            // An even spread within 3 %.
            let wobble = 1.0 + 0.03 * ((n * 31 % 21) as f64 - 10.0) / 10.0;
            let stray = if n % 11 == 0 { 30_000.0 } else { 0.0 };
            let charged = factor * fitted * wobble + overhead + stray;
            observations.add(Observation { fitted, counted: 1.1 * fitted, charged });
        }
        observations
    }

    fn check(factor: f64, overhead: f64, count: usize) {
        let found = observed(factor, overhead, count).calibration().expect("a line");
        assert_eq!(found.requests, count);
        assert!((found.factor.value / factor - 1.0).abs() < 0.02, "{factor} {found:?}");
        let (low, high) = found.factor.range.expect("an interval");
        assert!(
            low <= found.factor.value && found.factor.value <= high && high - low < 0.1 * factor,
            "{found:?}"
        );
        assert!((found.overhead - overhead).abs() < 0.05 * overhead + 100.0, "{overhead} {found:?}");
        assert!(found.near_after > 0.88, "{found:?}");
        // One in eleven has an image, which no reasonable factor covers. The margin covers the others.
        assert!((0.08..0.12).contains(&found.under), "{found:?}");
        assert!(found.safe > found.factor.value, "{found:?}");
    }

    #[test]
    fn the_factor_is_found() {
        check(1.0, 0.0, 200);
        check(1.45, 350.0, 200);
        check(0.6, 2_000.0, 100);
        check(2.5, 10.0, 5_000);
    }

    #[test]
    fn memory_is_bounded_and_the_sample_is_even() {
        let observations = observed(1.2, 100.0, 50_000);
        assert!(observations.sample.len() <= MAX_SAMPLE && observations.sample.len() > MAX_SAMPLE / 4);
        assert_eq!((observations.len(), observations.stride), (50_000, 32));
        assert!(observed(1.0, 0.0, 0).is_empty());
    }

    #[test]
    fn requests_of_one_size_tell_nothing() {
        let mut observations = Observations::default();
        for n in 0..30 {
            observations.add(Observation { fitted: 100.0, counted: 110.0, charged: 120.0 + f64::from(n) });
        }
        assert_eq!(observations.calibration(), None);
    }
}
