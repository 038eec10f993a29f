//! Keeps open the GET stream on which servers before 2026-07-28 send unsolicited messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::backoff::{Backoff, BackoffPolicy};
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
