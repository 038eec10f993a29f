//! Accuracy of token counts of one endpoint, over its last replies.

use std::collections::VecDeque;

use portion_tokens::accuracy::{ACCURATE_MAX_ERROR, INACCURATE_MIN_ERROR};

use super::super::CountSample;

/// Number of last replies; as many are needed to return to accurate.
const MAX_SAMPLES: usize = 5;
/// Number of replies needed for the median to count as badly wrong.
const MIN_SAMPLES: usize = 3;

/// Accuracy state of an endpoint.
#[derive(Default)]
pub(super) struct EndpointAccuracy {
    pub(super) status: AccuracyStatus,
    errors: VecDeque<f64>,
}

/// Direction in which counts are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AccuracyStatus {
    #[default]
    Near,
    TooLow,
    TooHigh,
}

impl EndpointAccuracy {
    /// Records a reply. Returns the new status and the error behind it, if the status changes.
    ///
    /// The median of the last replies decides: badly wrong above 30 %, accurate again below 20 %. A single
    /// count that is far too low is sufficient.
    pub(super) fn record(&mut self, sample: CountSample) -> Option<(AccuracyStatus, f64)> {
        if self.errors.len() == MAX_SAMPLES {
            self.errors.pop_front();
        }
        self.errors.push_back(sample.relative_error());
        let median = self.median();
        let enough = if self.status == AccuracyStatus::Near { MIN_SAMPLES } else { MAX_SAMPLES };
        let (status, error) = if sample.is_far_too_low() {
            (AccuracyStatus::TooLow, sample.relative_error())
        } else {
            (self.status_for(median, self.errors.len() >= enough), median)
        };
        if status == self.status {
            return None;
        }
        self.status = status;
        // Earlier errors say nothing about a later return to accurate counts.
        self.errors.clear();
        Some((status, error))
    }

    fn status_for(&self, median: f64, is_enough: bool) -> AccuracyStatus {
        match self.status {
            status if !is_enough => status,
            _ if median < -INACCURATE_MIN_ERROR => AccuracyStatus::TooLow,
            _ if median > INACCURATE_MIN_ERROR => AccuracyStatus::TooHigh,
            status if median.abs() >= ACCURATE_MAX_ERROR => status,
            _ => AccuracyStatus::Near,
        }
    }

    fn median(&self) -> f64 {
        let mut errors: Vec<f64> = self.errors.iter().copied().collect();
        errors.sort_by(f64::total_cmp);
        let upper = errors.len() / 2;
        if errors.len() % 2 == 1 { errors[upper] } else { f64::midpoint(errors[upper - 1], errors[upper]) }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccuracyStatus, CountSample, EndpointAccuracy};

    /// `estimates`: counts of replies that cost 1,000 tokens; `expect`: the status changes, with their
    /// positions.
    fn check(estimates: &[usize], expect: &[(usize, AccuracyStatus)]) {
        let mut recent = EndpointAccuracy::default();
        let changes = estimates.iter().enumerate().filter_map(|(at, estimated)| {
            let (status, _) = recent.record(CountSample { estimated: *estimated, actual: 1_000 })?;
            Some((at, status))
        });
        assert_eq!(changes.collect::<Vec<_>>(), expect, "{estimates:?}");
    }

    use AccuracyStatus::{Near, TooHigh, TooLow};

    #[test]
    fn the_median_of_the_last_replies_decides() {
        check(&[1_000, 1_100, 900, 1_000], &[]);
        // One wrong count is an outlier, three are not.
        check(&[1_500, 1_000, 1_000, 1_500, 1_500], &[(4, TooHigh)]);
        check(&[680, 680], &[]);
        check(&[680, 680, 680], &[(2, TooLow)]);
        check(&[1_400, 1_400, 1_400], &[(2, TooHigh)]);
    }

    #[test]
    fn one_count_that_is_far_too_low_is_enough() {
        check(&[660], &[(0, TooLow)]);
        check(&[1_000, 1_000, 1_000, 1_000, 1_000, 500], &[(5, TooLow)]);
        // Counts that are far too high have no consequence, because nothing overflows.
        check(&[9_000], &[]);
        check(&[1_400, 1_400, 1_400, 500], &[(2, TooHigh), (3, TooLow)]);
    }

    #[test]
    fn the_status_ends_later_than_it_begins() {
        check(&[660, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow)]);
        check(&[660, 1_000, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow), (5, Near)]);
        // At an error of a quarter the status never changes.
        check(&[750; 20], &[]);
        check(&[660, 750, 750, 750, 750, 750, 750], &[(0, TooLow)]);
        check(&[1_400, 1_400, 1_400, 680, 680, 680, 680, 680], &[(2, TooHigh), (7, TooLow)]);
    }
}
