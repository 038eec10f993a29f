//! Tells a standing queue from a burst, as `CoDel` does (RFC 8289): by the least delay of a time.

use std::time::Duration;

/// Number of samples that must all be late.
const SAMPLES: usize = 5;

/// The latest samples of a delay.
#[derive(Debug, Default)]
pub(super) struct StandingDelay {
    samples: [Duration; SAMPLES],
    next: usize,
}

impl StandingDelay {
    /// Adds a sample.
    pub(super) fn add(&mut self, delay: Duration) {
        self.samples[self.next] = delay;
        self.next = (self.next + 1) % SAMPLES;
    }

    /// Returns the least of the latest samples; zero until there are enough.
    pub(super) fn least(&self) -> Duration {
        self.samples.into_iter().min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delays: &[u64], expect: u64) {
        let mut standing = StandingDelay::default();
        delays.iter().for_each(|delay| standing.add(Duration::from_millis(*delay)));
        assert_eq!(standing.least(), Duration::from_millis(expect), "{delays:?}");
    }

    #[test]
    fn a_burst_is_no_standing_delay() {
        check(&[], 0);
        check(&[900, 900, 900, 900], 0);
        check(&[900, 800, 700, 600, 500], 500);
        check(&[900, 900, 900, 900, 2, 900, 900], 2);
        check(&[2, 900, 900, 900, 900, 900], 900);
        check(&[900, 900, 900, 900, 900, 1], 1);
    }
}
