//! The stream on which a server before 2026-07-28 says what nobody has asked for.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::server::Server;
use crate::latch::Latch;
use crate::upstream::http::{Item, Resume};

/// How long the next message waits for the stream to be open: what the server says in between would be lost.
const HEAD_START: Duration = Duration::from_millis(300);
/// How long to wait before it is opened again, where the server does not say, and at most after it came to nothing.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    let mut fruitless = 0;
    while server.session().number == number {
        let outcome = server.get(resume.clone()).await;
        opened.set();
        fruitless += 1;
        match outcome {
            Ok(mut stream) => {
                while let Some(item) = stream.next().await {
                    fruitless = 0;
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
        sleep(pause(resume.retry, fruitless)).await;
    }
}

/// How long to wait after so many streams in a row that nothing came of.
fn pause(retry: Option<Duration>, fruitless: u32) -> Duration {
    let wanted = retry.unwrap_or(PAUSE);
    match fruitless {
        0 => wanted,
        _ => wanted.max((PAUSE.saturating_mul(2_u32.saturating_pow(fruitless - 1))).min(LONGEST_PAUSE)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause;

    #[test]
    fn the_server_is_obeyed_and_left_alone() {
        let check = |retry: Option<u64>, fruitless: u32, expect: u64| {
            let paused = pause(retry.map(Duration::from_millis), fruitless);
            assert_eq!(paused, Duration::from_millis(expect), "{retry:?} {fruitless}");
        };
        check(None, 0, 1000);
        check(Some(0), 0, 0);
        check(Some(250), 0, 250);
        check(Some(250), 1, 1000);
        check(None, 3, 4000);
        check(Some(90_000), 3, 90_000);
        check(None, 100, 30_000);
    }
}
