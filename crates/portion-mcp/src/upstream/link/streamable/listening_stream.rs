//! Keeps open the GET stream on which servers before 2026-07-28 send unsolicited messages.
//!
//! The delay before the stream is opened again is at least what the server asks for, but not below a floor; it grows with each
//! stream in a row that ends at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::server_handle::ServerHandle;
use crate::once::OneShotFlag;
use crate::upstream::http::{ResumePoint, StreamItem};

/// Longest delay of the next message until the stream is open: messages that the server sends before would be lost.
const OPEN_TIMEOUT: Duration = Duration::from_millis(300);
/// Backoff after short streams with messages, and after short streams without.
const ACTIVE_BACKOFF: BackoffPolicy = BackoffPolicy::with_max_delay(Duration::from_secs(1));
const EMPTY_BACKOFF: BackoffPolicy =
    BackoffPolicy { initial_delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };

/// Opens the stream in a task of its own; returns as soon as the server has responded.
pub(super) async fn open_listening_stream(server: &Arc<ServerHandle>) {
    let opened = Arc::new(OneShotFlag::default());
    server.spawn(keep_listening(Arc::clone(server), Arc::clone(&opened)));
    let _ = timeout(OPEN_TIMEOUT, opened.wait()).await;
}

/// Reopens the stream until the session has ended or the server rejects it.
async fn keep_listening(server: Arc<ServerHandle>, opened: Arc<OneShotFlag>) {
    let generation = server.session().generation;
    let mut resume = ResumePoint::default();
    let mut backoff = Backoff::default();
    while server.session().generation == generation {
        let started = Instant::now();
        let outcome = server.open_stream(resume.clone()).await;
        opened.set();
        let mut policy = EMPTY_BACKOFF;
        match outcome {
            Ok(mut stream) => {
                while let Some(item) = stream.next().await {
                    policy = ACTIVE_BACKOFF;
                    let forwarded = match item {
                        StreamItem::Event(event) if event.event_type() == b"message" => {
                            server.receive(event.into_data(), None).await
                        }
                        StreamItem::Event(_) => Ok(()),
                        StreamItem::TooLarge(bytes) => {
                            tracing::warn!(bytes, "dropped an oversized server message");
                            Ok(())
                        }
                    };
                    if forwarded.is_err() {
                        return;
                    }
                }
                resume = stream.resume_point;
            }
            Err(trouble) if trouble.is_transient() => {
                tracing::debug!(%trouble, "the listening stream failed; it is reopened");
            }
            Err(trouble) => {
                tracing::debug!(%trouble, "the server has no listening stream");
                return;
            }
        }
        sleep(backoff.next_delay(started.elapsed(), resume.retry_delay, policy)).await;
    }
}

/// Lower bound of the delay, whatever the server asks for.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// Delay if the server does not set one.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// A stream shorter than this counts as ended at once.
const SHORT_STREAM: Duration = Duration::from_secs(1);

/// Growth of the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackoffPolicy {
    /// Delay after the first stream that ended at once; it doubles with each further such stream.
    pub(super) initial_delay: Duration,
    pub(super) max_delay: Duration,
}

/// Counts the streams in a row that ended at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    short_stream_count: u32,
}

impl BackoffPolicy {
    /// Policy for streams that carry messages, or whose response a client awaits.
    pub(super) const fn with_max_delay(max_delay: Duration) -> Self {
        Self { initial_delay: MIN_DELAY, max_delay }
    }
}

impl Backoff {
    /// Returns the delay after a stream that lasted for `lasted`. `retry` is the delay that the server asked for.
    pub(super) fn next_delay(
        &mut self,
        lasted: Duration,
        retry: Option<Duration>,
        policy: BackoffPolicy,
    ) -> Duration {
        let requested = retry.unwrap_or(DEFAULT_DELAY).max(MIN_DELAY);
        if lasted >= SHORT_STREAM {
            self.short_stream_count = 0;
            return requested;
        }
        let doubled = policy.initial_delay.saturating_mul(2_u32.saturating_pow(self.short_stream_count));
        self.short_stream_count = self.short_stream_count.saturating_add(1);
        requested.max(doubled.min(policy.max_delay))
    }
}

#[cfg(test)]
mod backoff_tests {
    use std::time::Duration;

    use super::{Backoff, BackoffPolicy, MIN_DELAY};

    const SHORT: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_mins(1);

    fn check(lasted: &[Duration], retry: Option<u64>, policy: BackoffPolicy, expect: &[u64]) {
        let mut backoff = Backoff::default();
        let waited =
            lasted.iter().map(|lasted| backoff.next_delay(*lasted, retry.map(Duration::from_millis), policy));
        let waited: Vec<u128> = waited.map(|wait| wait.as_millis()).collect();
        assert_eq!(waited, expect.iter().map(|wait| u128::from(*wait)).collect::<Vec<_>>(), "{retry:?}");
    }

    #[test]
    fn the_delay_of_the_server_counts_above_the_floor() {
        let policy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[LONG; 3], None, policy, &[1000; 3]);
        check(&[LONG; 3], Some(0), policy, &[100; 3]);
        check(&[LONG; 3], Some(90_000), policy, &[90_000; 3]);
        check(&[SHORT], Some(500), policy, &[500]);
        check(&[SHORT], Some(0), policy, &[100]);
    }

    #[test]
    fn the_delay_doubles_for_streams_that_end_at_once() {
        let policy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[SHORT; 8], Some(0), policy, &[100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        check(&[SHORT, SHORT, LONG, SHORT], Some(0), policy, &[100, 200, 100, 100]);
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
