//! Requests that come when the server is gone.
//!
//! A client that has written a request gets an answer to it: also to one that still lies in the pipe when the server dies,
//! and to the first that it writes, which most clients do at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::{MessageProcessor, OutgoingMessage};
use crate::one_shot_flag::OneShotFlag;

/// How long a client that has said nothing yet may take to say something.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it must have said nothing, so that nothing is on its way; and how long that is waited for at most.
const QUIET_INTERVAL: Duration = Duration::from_millis(250);
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);

/// What is known of a client whose server may be gone.
#[derive(Default)]
pub(super) struct LateRequests {
    /// Messages of the client that were dealt with.
    client_message_count: AtomicU64,
    /// Why the server is gone.
    gone_reason: Mutex<Option<String>>,
    /// The server could not be reached at all.
    is_unreachable: bool,
}

impl LateRequests {
    /// For a client whose server could not be started.
    pub(super) fn for_unreachable(why: String) -> Self {
        Self { gone_reason: Mutex::new(Some(why)), is_unreachable: true, ..Self::default() }
    }

    /// Remembers why the server is gone: from now on no request waits for it.
    pub(super) fn set_gone(&self, why: String) {
        self.gone_reason().get_or_insert(why);
    }

    /// Counts a message of the client. Returns the answers to what it asks, where the server is gone.
    pub(super) fn on_client_message<L: MessageProcessor>(&self, lane: &L) -> Vec<OutgoingMessage> {
        self.client_message_count.fetch_add(1, Ordering::AcqRel);
        self.answer_pending(lane)
    }

    /// The answers to what has come since the first ones.
    pub(super) fn answer_pending<L: MessageProcessor>(&self, lane: &L) -> Vec<OutgoingMessage> {
        if lane.pending_count() == 0 { Vec::new() } else { self.answer_all(lane) }
    }

    /// The answers to all that waits, where the server is gone.
    pub(super) fn answer_all<L: MessageProcessor>(&self, lane: &L) -> Vec<OutgoingMessage> {
        match (self.gone_reason().clone(), self.is_unreachable) {
            (Some(why), false) => lane.on_server_gone(&why),
            (Some(why), true) => lane.on_server_unreachable(&why),
            (None, _) => Vec::new(),
        }
    }

    /// Waits until the client has said nothing for a moment, or has left.
    pub(super) async fn wait_until_quiet(&self, client_done: &OneShotFlag, client_shut: &OneShotFlag) {
        let quiet = async {
            let spoken = async {
                while self.message_count() == 0 {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let _ = timeout(FIRST_MESSAGE_TIMEOUT, spoken).await;
            let _ = timeout(QUIET_TIMEOUT, async {
                let mut before = self.message_count();
                loop {
                    sleep(QUIET_INTERVAL).await;
                    let now = self.message_count();
                    if now == before {
                        return;
                    }
                    before = now;
                }
            })
            .await;
        };
        tokio::select! {
            () = quiet => {}
            () = client_done.wait() => {}
            () = client_shut.wait() => {}
        }
    }

    fn message_count(&self) -> u64 {
        self.client_message_count.load(Ordering::Acquire)
    }

    fn gone_reason(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.gone_reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
