//! Delays requests by `Retry-After` and by the rate limits that APIs report.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hyper::header::HeaderMap;
use portion_net::rate_limits::{MAX_RETRY_AFTER, quota_delay, retry_after};

/// First delay before a retry without `Retry-After`; it doubles.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(300);

/// Delays requests to an API whose quota is used up.
#[derive(Default)]
pub(super) struct Pacer {
    not_before: Mutex<Option<Instant>>,
}

impl Pacer {
    /// Waits until the API accepts requests again, if that is before the deadline. Otherwise the API decides.
    pub(super) async fn wait(&self, deadline: Instant) {
        let until = *self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = until.filter(|until| *until < deadline) {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Reads the rate limits of a response.
    pub(super) fn observe(&self, headers: &HeaderMap) {
        if let Some(delay) = quota_delay(headers, SystemTime::now()) {
            let until = Instant::now() + delay.min(MAX_RETRY_AFTER);
            *self.not_before.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
    }
}

/// Returns the delay before a retry; `attempt` counts from 0.
pub(super) fn retry_delay(headers: Option<&HeaderMap>, attempt: u32) -> Duration {
    let requested = headers.and_then(|headers| retry_after(headers, SystemTime::now()));
    requested.unwrap_or_else(|| INITIAL_RETRY_DELAY * 2_u32.pow(attempt.min(6)) + jitter())
}

/// Returns up to 100 ms, so that clients that failed together do not retry together.
fn jitter() -> Duration {
    Duration::from_millis(getrandom::u32().map_or(0, |random| u64::from(random % 100)))
}
