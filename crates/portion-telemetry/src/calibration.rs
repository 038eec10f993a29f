//! By which factor counts come nearest to what a model charged, worked out of requests of which both are known.
//!
//! What is charged for a request is taken to be `factor · count + overhead`: what the model is told beside the texts costs
//! about the same each time. Replies have no overhead, so the factor alone is what they are counted by.

use portion_core::tokens::accuracy::NEAR;

use crate::statistics::{Estimate, line, quantile};

/// Requests from which a factor is advised.
pub const ENOUGH: usize = 20;
/// Requests that are kept of a family: of more, an even sample.
const KEPT: usize = 2_000;
/// The share of requests that may be under-counted by a factor that is safe.
const UNDER: f64 = 0.05;

/// A request of which it is known what was charged, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Its texts, by what counts are held against.
    pub fitted: f64,
    /// Its texts by the counter itself, which may add a margin.
    pub counted: f64,
    /// What was charged for all of it.
    pub charged: f64,
}

/// Observations of one family, of which an even sample is kept.
#[derive(Clone, Debug)]
pub struct Observations {
    kept: Vec<Observation>,
    seen: usize,
    /// Every how many-th is kept.
    stride: usize,
}

/// What follows from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Requests that were looked at.
    pub requests: usize,
    /// What counts are to be multiplied by, with its 95 % interval.
    pub factor: Estimate,
    /// Tokens that a request costs beside its texts.
    pub overhead: f64,
    /// The share of requests whose count, overhead added, is within 20 % of what was charged: without the factor.
    pub near_before: f64,
    /// The same with it.
    pub near_after: f64,
    /// The share of requests whose count is below what was charged, with the factor.
    pub under: f64,
    /// The least factor by which at most 5 % of requests are under-counted.
    pub safe: f64,
}

impl Default for Observations {
    fn default() -> Self {
        Self { kept: Vec::new(), seen: 0, stride: 1 }
    }
}

impl Observations {
    /// Adds a request.
    pub fn add(&mut self, observation: Observation) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == KEPT {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.kept.push(observation);
            }
        }
        self.seen += 1;
    }

    /// Requests that were added.
    pub fn len(&self) -> usize {
        self.seen
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// What follows from them; `None` where their texts are all of one size, or it is the less charged the more there is.
    pub fn calibration(&self) -> Option<Calibration> {
        let points: Vec<(f64, f64)> = self.kept.iter().map(|one| (one.fitted, one.charged)).collect();
        let line = line(&points)?;
        let (factor, overhead) = (line.slope, line.intercept);
        if factor.value <= 0.0 {
            return None;
        }
        let share = |is: &dyn Fn(&Observation) -> bool| {
            self.kept.iter().filter(|one| is(one)).count() as f64 / self.kept.len() as f64
        };
        let near = |factor: f64| {
            share(&|one| (factor * one.fitted + overhead - one.charged).abs() <= NEAR * one.charged)
        };
        let mut needed: Vec<f64> =
            self.kept.iter().filter(|one| one.counted > 0.0).map(|one| one.needs(overhead)).collect();
        needed.sort_by(f64::total_cmp);
        Some(Calibration {
            requests: self.seen,
            factor,
            overhead,
            near_before: near(1.0),
            near_after: near(factor.value),
            under: share(&|one| one.counted > 0.0 && one.needs(overhead) > factor.value),
            safe: quantile(&needed, 1.0 - UNDER)?,
        })
    }
}

impl Observation {
    /// The factor by which its count is just what was charged.
    fn needs(&self, overhead: f64) -> f64 {
        (self.charged - overhead) / self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Observation, Observations};

    /// Requests of 100 tokens and more that were charged by this rule, some of them with pictures that nobody told of.
    fn observed(factor: f64, overhead: f64, count: usize) -> Observations {
        let mut observations = Observations::default();
        for n in 0..count {
            let fitted = 100.0 + (n * 7_919 % 10_007) as f64;
            // Within 3 %, evenly.
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
        // One in eleven is a stray, which no factor within reason covers: the margin does for the others.
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
        assert!(observations.kept.len() <= KEPT && observations.kept.len() > KEPT / 4);
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
