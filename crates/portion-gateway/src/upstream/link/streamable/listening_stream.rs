//! The stream on which a server before 2026-07-28 says what nobody has asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::backoff::{Backoff, BackoffPolicy};
use super::server_handle::ServerHandle;
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::{ResumePoint, StreamItem};

/// How long the next message waits for the stream to be open: what the server says in between would be lost.
const OPEN_TIMEOUT: Duration = Duration::from_millis(300);
/// How long to wait after streams that bring something and end at once, and after those that bring nothing.
const ACTIVE_BACKOFF: BackoffPolicy = BackoffPolicy::with_max_delay(Duration::from_secs(1));
const EMPTY_BACKOFF: BackoffPolicy =
    BackoffPolicy { initial_delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };

/// Opens the stream, which goes on by itself; returns as soon as the server has answered.
pub(super) async fn open_listening_stream(server: &Arc<ServerHandle>) {
    let opened = Arc::new(OneShotFlag::default());
    server.spawn(keep_listening(Arc::clone(server), Arc::clone(&opened)));
    let _ = timeout(OPEN_TIMEOUT, opened.wait()).await;
}

/// Until the session is over, or the server says that there is no such stream.
async fn keep_listening(server: Arc<ServerHandle>, opened: Arc<OneShotFlag>) {
    let number = server.session().generation;
    let mut resume = ResumePoint::default();
    let mut backoff = Backoff::default();
    while server.session().generation == number {
        let asked = Instant::now();
        let outcome = server.open_stream(resume.clone()).await;
        opened.set();
        let mut growth = EMPTY_BACKOFF;
        match outcome {
            Ok(mut stream) => {
                while let Some(item) = stream.next().await {
                    growth = ACTIVE_BACKOFF;
                    let heard = match item {
                        StreamItem::Event(event) if event.event_type() == b"message" => {
                            server.receive(event.into_data(), None).await
                        }
                        StreamItem::Event(_) => Ok(()),
                        StreamItem::TooLarge(bytes) => {
                            tracing::warn!(bytes, "dropped a message of the server that is too large");
                            Ok(())
                        }
                    };
                    if heard.is_err() {
                        return;
                    }
                }
                resume = stream.resume_point;
            }
            Err(trouble) if trouble.is_transient() => tracing::debug!(%trouble, "the server's own stream"),
            Err(trouble) => {
                tracing::debug!(%trouble, "the server has no stream of its own");
                return;
            }
        }
        sleep(backoff.next_delay(asked.elapsed(), resume.retry_delay, growth)).await;
    }
}
