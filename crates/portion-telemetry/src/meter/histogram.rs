//! How often values were up to each bound.

use crate::names::{Kind, Metric};

/// Bounds at most: what is counted lies in one place, for it is on the way of requests.
const MOST: usize = 15;

/// How often values were up to each bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what is above them all.
    counts: [u64; MOST + 1],
    sum: f64,
}

impl Histogram {
    /// An empty one. Of more than fifteen bounds the first are taken.
    pub fn new(bounds: &'static [f64]) -> Self {
        let bounds = &bounds[..bounds.len().min(MOST)];
        Self { bounds, counts: [0; MOST + 1], sum: 0.0 }
    }

    /// An empty one with the bounds of that name.
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

    /// The bounds, and how many values lie between each and the one before; the last count is of those above them all.
    pub fn buckets(&self) -> (&'static [f64], &[u64]) {
        (self.bounds, &self.counts[..=self.bounds.len()])
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What they come to.
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
