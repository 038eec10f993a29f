//! The budget of requests to each upstream, shared by fetches and their retries.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Paces of the upstreams, by name. A request of a client never waits, but further pages wait for it.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter(Mutex<HashMap<String, Pace>>);

/// Pace of the requests to one upstream.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Time of the next permitted request.
    next: Instant,
    /// Time between two requests.
    interval: Duration,
}

impl RateLimiter {
    /// Reserves a request and returns how long to wait for it.
    pub(crate) fn reserve(&self, upstream: Option<&str>, rate: Option<f64>, now: Instant) -> Duration {
        let Some(interval) = rate.map(|rate| Duration::from_secs_f64(1.0 / rate)) else {
            return Duration::ZERO;
        };
        let mut all = self.0.lock();
        let pace = all.entry(upstream.unwrap_or_default().to_owned()).or_insert(Pace { next: now, interval });
        let at = pace.next.max(now);
        *pace = Pace { next: at + interval, interval };
        at - now
    }

    /// Begins to limit the requests to an upstream after one of a client. If they are limited already, that request was
    /// counted by [`Self::record`].
    pub(crate) fn begin(&self, upstream: Option<&str>, rate: Option<f64>, now: Instant) {
        if let Some(interval) = rate.map(|rate| Duration::from_secs_f64(1.0 / rate)) {
            let first = Pace { next: now + interval, interval };
            self.0.lock().entry(upstream.unwrap_or_default().to_owned()).or_insert(first);
        }
    }

    /// Counts a request that a client has made.
    pub(crate) fn record(&self, upstream: Option<&str>, now: Instant) {
        if let Some(pace) = self.0.lock().get_mut(upstream.unwrap_or_default()) {
            pace.next = pace.next.max(now) + pace.interval;
        }
    }

    /// Lets no request pass for a time, because the upstream refuses them.
    pub(crate) fn pause(&self, upstream: Option<&str>, delay: Duration, now: Instant) {
        if let Some(pace) = self.0.lock().get_mut(upstream.unwrap_or_default()) {
            pace.next = pace.next.max(now + delay);
        }
    }
}

/// Waits before the first, second and third retry.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(3)];
/// Waits before retries of a request that the upstream refused for its rate limit. Together they are longer than the usual
/// windows of such limits: 10 s and a minute.
const REFUSED_RETRY_DELAYS: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
    Duration::from_secs(30),
];
/// Longest wait that an upstream may ask for before a retry.
const MAX_REQUESTED_DELAY: Duration = Duration::from_mins(1);

/// Returns the wait before a retry, or `None` if there is none. `failures`: failed attempts before; `requested`: the wait that
/// the upstream asks for, if it refused the request for its rate limit.
pub(crate) fn retry_delay(failures: usize, requested: Option<Duration>) -> Option<Duration> {
    let Some(requested) = requested else { return RETRY_DELAYS.get(failures).copied() };
    let delay = REFUSED_RETRY_DELAYS.get(failures).filter(|_| requested <= MAX_REQUESTED_DELAY)?;
    Some(if requested.is_zero() { *delay } else { requested.max(RETRY_DELAYS[failures.min(2)]) })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{RateLimiter, retry_delay};

    #[test]
    fn requests_to_one_upstream_share_a_rate() {
        let (limiter, now) = (RateLimiter::default(), Instant::now());
        let waits = |upstream, rate| limiter.reserve(upstream, rate, now).as_millis();
        assert_eq!([waits(None, Some(4.0)), waits(None, Some(4.0)), waits(None, Some(4.0))], [0, 250, 500]);
        assert_eq!(waits(Some("other"), Some(4.0)), 0);
        assert_eq!(waits(None, None), 0);
        assert_eq!(limiter.reserve(None, Some(4.0), now + Duration::from_secs(9)), Duration::ZERO);
    }

    #[test]
    fn the_first_request_of_a_client_is_counted_once() {
        let (limiter, now) = (RateLimiter::default(), Instant::now());
        let fetch = || {
            limiter.record(None, now);
            limiter.begin(None, Some(2.0), now);
            limiter.reserve(None, Some(2.0), now).as_millis()
        };
        assert_eq!([fetch(), fetch()], [500, 1_500]);
    }

    #[test]
    fn requests_of_clients_count_and_do_not_wait() {
        let (limiter, now) = (RateLimiter::default(), Instant::now());
        let wait = || limiter.reserve(None, Some(2.0), now).as_millis();
        limiter.record(None, now);
        assert_eq!(wait(), 0);
        (0..4).for_each(|_| limiter.record(None, now));
        assert_eq!(wait(), 2_500);
        limiter.record(Some("other"), now);
        limiter.pause(None, Duration::from_secs(1), now);
        assert_eq!(wait(), 3_000);
        limiter.pause(None, Duration::from_secs(10), now);
        assert_eq!(wait(), 10_000);
    }

    #[test]
    fn refused_requests_are_repeated_for_longer_than_a_window() {
        let total = |requested: Option<Duration>| {
            (0..).map_while(|failures| retry_delay(failures, requested)).sum::<Duration>().as_millis()
        };
        assert_eq!(total(None), 4_250);
        assert_eq!(total(Some(Duration::ZERO)), 61_000);
        assert_eq!(total(Some(Duration::from_secs(5))), 30_000);
        assert_eq!(total(Some(Duration::from_secs(61))), 0);
    }
}
