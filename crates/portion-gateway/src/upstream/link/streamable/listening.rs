//! The stream on which a server before 2026-07-28 says what nobody has asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::backoff::{Backoff, Growth};
use super::server::Server;
use crate::latch::Latch;
use crate::upstream::http::{Item, Resume};

/// How long the next message waits for the stream to be open: what the server says in between would be lost.
const HEAD_START: Duration = Duration::from_millis(300);
/// How long to wait after streams that bring something and end at once, and after those that bring nothing.
const FRUITFUL: Growth = Growth::up_to(Duration::from_secs(1));
const FRUITLESS: Growth = Growth { first: Duration::from_secs(1), longest: Duration::from_secs(30) };

/// Opens the stream, which goes on by itself; returns as soon as the server has answered.
pub(super) async fn listen(server: &Arc<Server>) {
    let opened = Arc::new(Latch::default());
    server.spawn(keep_listening(Arc::clone(server), Arc::clone(&opened)));
    let _ = timeout(HEAD_START, opened.wait()).await;
}

/// Until the session is over, or the server says that there is no such stream.
async fn keep_listening(server: Arc<Server>, opened: Arc<Latch>) {
    let number = server.session().number;
    let mut resume = Resume::default();
    let mut backoff = Backoff::default();
    while server.session().number == number {
        let asked = Instant::now();
        let outcome = server.get(resume.clone()).await;
        opened.set();
        let mut growth = FRUITLESS;
        match outcome {
            Ok(mut stream) => {
                while let Some(item) = stream.next().await {
                    growth = FRUITFUL;
                    let heard = match item {
                        Item::Event(event) if event.kind() == b"message" => {
                            server.heard(event.into_data(), None).await
                        }
                        Item::Event(_) => Ok(()),
                        Item::TooLarge(bytes) => {
                            tracing::warn!(bytes, "dropped a message of the server that is too large");
                            Ok(())
                        }
                    };
                    if heard.is_err() {
                        return;
                    }
                }
                resume = stream.resume;
            }
            Err(trouble) if trouble.may_pass() => tracing::debug!(%trouble, "the server's own stream"),
            Err(trouble) => {
                tracing::debug!(%trouble, "the server has no stream of its own");
                return;
            }
        }
        sleep(backoff.after(asked.elapsed(), resume.retry, growth)).await;
    }
}
