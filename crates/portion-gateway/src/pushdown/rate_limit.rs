//! The budget of requests to each upstream, shared by fetches and their retries.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Times of the next permitted requests, by upstream.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter(Mutex<HashMap<String, Instant>>);

impl RateLimiter {
    /// Reserves a request and returns how long to wait for it.
    pub(crate) fn reserve(&self, upstream: Option<&str>, rate: Option<f64>, now: Instant) -> Duration {
        let Some(interval) = rate.map(|rate| Duration::from_secs_f64(1.0 / rate)) else {
            return Duration::ZERO;
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = all.entry(upstream.unwrap_or_default().to_owned()).or_insert(now);
        let at = (*next).max(now);
        *next = at + interval;
        at - now
    }
}

/// Waits before the first, second and third retry.
pub(crate) const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(3)];
/// Longest wait that an upstream may ask for before a retry.
pub(crate) const MAX_REQUESTED_DELAY: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::RateLimiter;

    #[test]
    fn requests_to_one_upstream_share_a_rate() {
        let (limiter, now) = (RateLimiter::default(), Instant::now());
        let waits = |upstream, rate| limiter.reserve(upstream, rate, now).as_millis();
        assert_eq!([waits(None, Some(4.0)), waits(None, Some(4.0)), waits(None, Some(4.0))], [0, 250, 500]);
        assert_eq!(waits(Some("other"), Some(4.0)), 0);
        assert_eq!(waits(None, None), 0);
        assert_eq!(limiter.reserve(None, Some(4.0), now + Duration::from_secs(9)), Duration::ZERO);
    }
}
