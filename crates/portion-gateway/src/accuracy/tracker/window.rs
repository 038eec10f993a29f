//! Share of accurate counts among the last replies of all endpoints.

use std::collections::VecDeque;

use portion_tokens::accuracy::MIN_ACCURATE_SHARE;

use super::super::AccuracyStats;

/// Number of last replies.
const MAX_SAMPLES: usize = 1_000;
/// Number of replies needed for a meaningful share.
const MIN_SAMPLES: usize = 100;
/// Share from which counts are good enough again, after it was too low.
const RECOVERY_SHARE: f64 = 0.9;

#[derive(Default)]
pub(super) struct NearShareWindow {
    /// For each of the last replies, true if its count was accurate.
    recent: VecDeque<bool>,
    near_count: usize,
    sampled_count: u64,
    is_low: bool,
}

impl NearShareWindow {
    /// Records a reply. Returns the new state, true if the share is too low, and the share, if the state
    /// changes.
    pub(super) fn record(&mut self, is_near: bool) -> Option<(bool, f64)> {
        self.sampled_count += 1;
        if self.recent.len() == MAX_SAMPLES && self.recent.pop_front() == Some(true) {
            self.near_count -= 1;
        }
        self.recent.push_back(is_near);
        self.near_count += usize::from(is_near);
        let share = self.share()?;
        let is_low = self.recent.len() >= MIN_SAMPLES
            && share < if self.is_low { RECOVERY_SHARE } else { MIN_ACCURATE_SHARE };
        let changed = is_low != self.is_low;
        self.is_low = is_low;
        changed.then_some((is_low, share))
    }

    pub(super) fn stats(&self) -> AccuracyStats {
        let Self { sampled_count: sampled, is_low, .. } = *self;
        let (recent, near_share) = (self.recent.len() as u64, self.share());
        AccuracyStats {
            sampled_count: sampled,
            recent_count: recent,
            near_share,
            is_low,
            ..AccuracyStats::default()
        }
    }

    fn share(&self) -> Option<f64> {
        (!self.recent.is_empty()).then(|| self.near_count as f64 / self.recent.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::NearShareWindow;

    #[test]
    fn each_change_of_the_share_is_reported_once() {
        let mut window = NearShareWindow::default();
        let mut record_many =
            |many: usize, is_near: bool| (0..many).filter_map(|_| window.record(is_near)).collect::<Vec<_>>();
        assert_eq!(record_many(99, false), []);
        assert_eq!(record_many(1, true), [(true, 0.01)]);
        assert_eq!(record_many(889, true), []);
        assert_eq!(record_many(1, true), [(false, 0.9)]);
        // At 860 of 1,000 the state does not change.
        assert_eq!(record_many(9, true), []);
        assert_eq!((window.stats().recent_count, window.stats().sampled_count), (999, 999));
    }
}
