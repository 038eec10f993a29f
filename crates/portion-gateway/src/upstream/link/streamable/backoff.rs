//! Decides how long to wait before a stream is opened again.
//!
//! The server is obeyed, but not below a floor, and streams that end at once are opened ever more slowly.

use std::time::Duration;

/// How long to wait at least, whatever the server says.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// How long to wait where the server does not say.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// A stream that lasts less than this has ended at once.
const SHORT_STREAM: Duration = Duration::from_secs(1);

/// How the wait grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackoffPolicy {
    /// After the first stream that ended at once; it doubles with each further one.
    pub(super) initial_delay: Duration,
    pub(super) max_delay: Duration,
}

/// The streams in a row that ended at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    short_stream_count: u32,
}

impl BackoffPolicy {
    /// For streams that bring something, or whose end is awaited by somebody.
    pub(super) const fn with_max_delay(longest: Duration) -> Self {
        Self { initial_delay: MIN_DELAY, max_delay: longest }
    }
}

impl Backoff {
    /// How long to wait after a stream that has lasted for so long. `retry` is what the server asked for.
    pub(super) fn next_delay(
        &mut self,
        lasted: Duration,
        retry: Option<Duration>,
        growth: BackoffPolicy,
    ) -> Duration {
        let wanted = retry.unwrap_or(DEFAULT_DELAY).max(MIN_DELAY);
        if lasted >= SHORT_STREAM {
            self.short_stream_count = 0;
            return wanted;
        }
        let doubled = growth.initial_delay.saturating_mul(2_u32.saturating_pow(self.short_stream_count));
        self.short_stream_count = self.short_stream_count.saturating_add(1);
        wanted.max(doubled.min(growth.max_delay))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, BackoffPolicy, MIN_DELAY};

    const SHORT: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_mins(1);

    fn check(lasted: &[Duration], retry: Option<u64>, growth: BackoffPolicy, expect: &[u64]) {
        let mut backoff = Backoff::default();
        let waited =
            lasted.iter().map(|lasted| backoff.next_delay(*lasted, retry.map(Duration::from_millis), growth));
        let waited: Vec<u128> = waited.map(|wait| wait.as_millis()).collect();
        assert_eq!(waited, expect.iter().map(|wait| u128::from(*wait)).collect::<Vec<_>>(), "{retry:?}");
    }

    #[test]
    fn a_server_is_obeyed_above_the_floor() {
        let growth = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[LONG; 3], None, growth, &[1000; 3]);
        check(&[LONG; 3], Some(0), growth, &[100; 3]);
        check(&[LONG; 3], Some(90_000), growth, &[90_000; 3]);
        check(&[SHORT], Some(500), growth, &[500]);
        check(&[SHORT], Some(0), growth, &[100]);
    }

    #[test]
    fn streams_that_end_at_once_are_opened_ever_more_slowly() {
        let growth = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[SHORT; 8], Some(0), growth, &[100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        check(&[SHORT, SHORT, LONG, SHORT], Some(0), growth, &[100, 200, 100, 100]);
        let slow =
            BackoffPolicy { initial_delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };
        check(&[SHORT; 7], Some(250), slow, &[1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        check(&[SHORT; 2], Some(90_000), slow, &[90_000; 2]);
        let mut backoff = Backoff::default();
        for _ in 0..10_000 {
            let wait = backoff.next_delay(SHORT, Some(Duration::ZERO), slow);
            assert!(wait >= MIN_DELAY && wait <= slow.max_delay);
        }
    }
}
