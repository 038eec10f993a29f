//! Histogram with fixed bounds.

use crate::names::{Kind, Metric};

/// Maximum number of bounds. The counts are stored inline, because they are updated on the request path.
const MAX_BOUNDS: usize = 15;

/// Number of values up to each bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One count per bound, and one for values above the last bound.
    counts: [u64; MAX_BOUNDS + 1],
    sum: f64,
}

impl Histogram {
    /// Creates an empty histogram. Bounds after the fifteenth are ignored.
    pub fn new(bounds: &'static [f64]) -> Self {
        let bounds = &bounds[..bounds.len().min(MAX_BOUNDS)];
        Self { bounds, counts: [0; MAX_BOUNDS + 1], sum: 0.0 }
    }

    /// Creates an empty histogram with the bounds of `metric`.
    pub(super) fn of(metric: &Metric) -> Self {
        match metric.kind {
            Kind::Histogram(bounds) => Self::new(bounds),
            Kind::Counter | Kind::Gauge => Self::new(&[]),
        }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        let slot = self.bounds.partition_point(|bound| *bound < value);
        self.counts[slot] += 1;
        self.sum += value;
    }

    /// Returns the bounds and the number of values in each bucket. The last count is for values above the last bound.
    pub fn buckets(&self) -> (&'static [f64], &[u64]) {
        (self.bounds, &self.counts[..=self.bounds.len()])
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_bound_is_up_to_it() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        [0.0, 0.5, 0.75, 1.0, 1.5].into_iter().for_each(|value| histogram.add(value));
        assert_eq!(histogram.buckets().1, [2, 2, 1]);
        assert_eq!((histogram.count(), histogram.sum()), (5, 3.75));
    }
}
