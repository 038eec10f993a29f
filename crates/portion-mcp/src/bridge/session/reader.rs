//! Reads a stream of a session for one client.

use std::sync::Arc;
use std::time::Instant;

use super::bridge_session::BridgeSession;
use super::stream_router::{NextEvent, Subscription};
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};

/// Reader of a stream. Dropping it unsubscribes.
pub(super) struct SubscriptionReader {
    session: Arc<BridgeSession>,
    subscription: Subscription,
    /// True if the client has received event ids and can resume the stream.
    can_resume: bool,
}

impl SubscriptionReader {
    /// Creates a reader for a subscription of the session's router.
    pub(super) fn new(session: &Arc<BridgeSession>, subscription: Subscription) -> Self {
        Self { session: Arc::clone(session), subscription, can_resume: false }
    }

    /// Returns an event id for the current position, from which a client can resume that has received no event.
    pub(super) fn current_event_id(&self) -> String {
        let number = self.session.router().next_id();
        format_event_id(self.subscription.stream_id, number)
    }
}

impl MessageSource for SubscriptionReader {
    async fn wait(&mut self) {
        loop {
            let mut changed = std::pin::pin!(self.session.changed.notified());
            changed.as_mut().enable();
            if self.session.router().is_ready(self.subscription) {
                return;
            }
            changed.await;
        }
    }

    async fn take(&mut self) -> SourceItem {
        let next = self.session.router().next_event(self.subscription, Instant::now());
        // The server's task may be waiting for space in this stream.
        self.session.changed.notify_waiters();
        match next {
            NextEvent::Event(event) => {
                let id = Some(format_event_id(self.subscription.stream_id, event.number));
                SourceItem::Message(ResponseMessage {
                    event_id: id,
                    data: event.data,
                    is_response: event.is_response,
                })
            }
            NextEvent::Pending => SourceItem::Pending,
            NextEvent::End => SourceItem::End,
        }
    }

    fn mark_streamed(&mut self) {
        self.can_resume = true;
    }
}

impl Drop for SubscriptionReader {
    fn drop(&mut self) {
        self.session.router().unsubscribe(self.subscription, self.can_resume, Instant::now());
        self.session.changed.notify_waiters();
    }
}

/// Returns the event id of a message on a stream.
fn format_event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// Returns the stream and the message number of an event id.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
