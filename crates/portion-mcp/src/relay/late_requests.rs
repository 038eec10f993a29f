//! Answers requests that arrive after the server has ended.
//!
//! Every request gets an answer: also a request that is still in the pipe when the server ends, and the first request
//! of the client, which most clients write at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::once::OneShotFlag;

/// Timeout for the first message of the client.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Silence of the client after which no message is assumed to be in the pipe; and the longest wait for that silence.
const QUIET_INTERVAL: Duration = Duration::from_millis(250);
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);

/// State of a client whose server may have ended.
#[derive(Default)]
pub(super) struct LateRequests {
    /// Number of client messages processed.
    client_message_count: AtomicU64,
    /// Reason that the server has ended.
    gone_reason: Mutex<Option<String>>,
    /// True if the server could not be started or reached at all.
    is_unreachable: bool,
}

impl LateRequests {
    /// Creates the state for a client whose server could not be started.
    pub(super) fn for_unreachable(why: String) -> Self {
        Self { gone_reason: Mutex::new(Some(why)), is_unreachable: true, ..Self::default() }
    }

    /// Sets the reason that the server has ended: from now on requests are answered here.
    pub(super) fn set_gone(&self, why: String) {
        self.gone_reason.lock().get_or_insert(why);
    }

    /// Counts a message of the client. Returns the answers to its requests if the server has ended.
    pub(super) fn on_client_message<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        self.client_message_count.fetch_add(1, Ordering::AcqRel);
        self.answer_pending(processor)
    }

    /// Returns the answers to pending requests, if there are any.
    pub(super) fn answer_pending<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        if processor.pending_count() == 0 { Vec::new() } else { self.answer_all(processor) }
    }

    /// Returns the answers to all pending requests if the server has ended.
    pub(super) fn answer_all<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        match (self.gone_reason.lock().clone(), self.is_unreachable) {
            (Some(why), false) => processor.on_server_gone(&why),
            (Some(why), true) => processor.on_server_unreachable(&why),
            (None, _) => Vec::new(),
        }
    }

    /// Waits until the client has been silent for a moment, or has left.
    pub(super) async fn wait_until_quiet(&self, client_done: &OneShotFlag, reader_gone: &OneShotFlag) {
        let quiet = async {
            let first_message = async {
                while self.message_count() == 0 {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let _ = timeout(FIRST_MESSAGE_TIMEOUT, first_message).await;
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
            () = reader_gone.wait() => {}
        }
    }

    fn message_count(&self) -> u64 {
        self.client_message_count.load(Ordering::Acquire)
    }
}
