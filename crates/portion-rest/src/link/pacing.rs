//! Delays requests by `Retry-After`, by the rate limits that APIs report, and by refusals.

use std::time::{Duration, Instant, SystemTime};

use hyper::StatusCode;
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use portion_net::rate_limits::{MAX_RETRY_AFTER, quota_delay, retry_after};

/// First delay before a retry without `Retry-After`; it doubles.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(300);
/// Longest delay before a retry without `Retry-After`.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);
/// Time between two requests after a refusal without a delay; it doubles with each further refusal.
const INITIAL_INTERVAL: Duration = Duration::from_millis(250);
/// Longest time between two requests.
const MAX_INTERVAL: Duration = Duration::from_secs(4);
/// Number of accepted requests after which the time between two is halved.
const ACCEPTED_PER_HALVING: u32 = 4;

/// Delays the requests to an API that refuses them, or whose quota is used up.
#[derive(Default)]
pub(super) struct Pacer(Mutex<Pace>);

#[derive(Debug, Default)]
struct Pace {
    not_before: Option<Instant>,
    /// Time between two requests; zero: no limit is known.
    interval: Duration,
    /// Time of the last refusal that changed the interval.
    slowed_at: Option<Instant>,
    /// Number of requests that were accepted since the interval changed.
    accepted: u32,
}

impl Pacer {
    /// Waits until the API accepts requests again, if that is before the deadline. Otherwise the API decides.
    pub(super) async fn wait(&self, deadline: Instant) {
        let until = self.0.lock().reserve(Instant::now(), deadline);
        if let Some(until) = until {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Reads the rate limits of a response.
    pub(super) fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        let (now, time) = (Instant::now(), SystemTime::now());
        let is_refusal = status == StatusCode::TOO_MANY_REQUESTS;
        match quota_delay(headers, time).or_else(|| retry_after(headers, time).filter(|_| is_refusal)) {
            Some(delay) => self.0.lock().not_before = Some(now + delay.min(MAX_RETRY_AFTER)),
            None if is_refusal => self.0.lock().slow_down(now),
            None => self.0.lock().speed_up(),
        }
    }
}

impl Pace {
    /// Reserves the time of a request. Returns `None` if it need not wait, or would wait beyond the deadline.
    fn reserve(&mut self, now: Instant, deadline: Instant) -> Option<Instant> {
        let at = self.not_before.map_or(now, |at| at.max(now));
        if at >= deadline {
            return None;
        }
        if !self.interval.is_zero() {
            self.not_before = Some(at + self.interval);
        }
        (at > now).then_some(at)
    }

    /// Doubles the interval. Requests that are refused together count as one.
    fn slow_down(&mut self, now: Instant) {
        let min = self.interval.max(INITIAL_INTERVAL);
        if self.slowed_at.is_none_or(|at| now.duration_since(at) >= min) {
            self.interval = (self.interval * 2).clamp(INITIAL_INTERVAL, MAX_INTERVAL);
            self.slowed_at = Some(now);
        }
        self.accepted = 0;
        let until = now + self.interval;
        self.not_before = Some(self.not_before.map_or(until, |at| at.max(until)));
    }

    fn speed_up(&mut self) {
        if self.interval.is_zero() {
            return;
        }
        self.accepted += 1;
        if self.accepted >= ACCEPTED_PER_HALVING {
            self.accepted = 0;
            self.interval /= 2;
            if self.interval < INITIAL_INTERVAL {
                *self = Self { not_before: self.not_before, ..Self::default() };
            }
        }
    }
}

/// Returns the delay before a retry; `attempt` counts from 0.
pub(super) fn retry_delay(headers: Option<&HeaderMap>, attempt: u32) -> Duration {
    let requested = headers.and_then(|headers| retry_after(headers, SystemTime::now()));
    let own = || (INITIAL_RETRY_DELAY * 2_u32.pow(attempt.min(6))).min(MAX_RETRY_DELAY) + jitter();
    requested.unwrap_or_else(own)
}

/// Returns up to 100 ms, so that clients that failed together do not retry together.
fn jitter() -> Duration {
    Duration::from_millis(getrandom::u32().map_or(0, |random| u64::from(random % 100)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{MAX_INTERVAL, Pace, retry_delay};

    #[test]
    fn refusals_space_the_requests_and_acceptance_ends_that() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let deadline = now + Duration::from_mins(1);
        let wait = |pace: &mut Pace| pace.reserve(now, deadline).map_or(0, |at| (at - now).as_millis());
        assert_eq!((wait(&mut pace), wait(&mut pace)), (0, 0));
        // Of refusals at the same time, one counts.
        pace.slow_down(now);
        pace.slow_down(now);
        assert_eq!([wait(&mut pace), wait(&mut pace), wait(&mut pace)], [250, 500, 750]);
        (1..9).for_each(|second| pace.slow_down(now + Duration::from_secs(5 * second)));
        assert_eq!(pace.interval, MAX_INTERVAL);
        (0..20).for_each(|_| pace.speed_up());
        assert_eq!(pace.interval, Duration::ZERO);
    }

    #[test]
    fn a_request_does_not_wait_beyond_its_deadline() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.slow_down(now);
        assert_eq!(pace.reserve(now, now + Duration::from_millis(100)), None);
        assert!(pace.reserve(now, now + Duration::from_secs(9)).is_some());
    }

    #[test]
    fn retries_reach_beyond_a_window_of_ten_seconds() {
        let total: Duration = (0..6).map(|attempt| retry_delay(None, attempt)).sum();
        assert!(total > Duration::from_secs(10), "{total:?}");
        assert!(retry_delay(None, 40) < Duration::from_secs(6));
    }
}
