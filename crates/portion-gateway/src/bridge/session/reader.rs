//! A client that hears a stream of its session.

use std::sync::Arc;
use std::time::Instant;

use super::bridge_session::BridgeSession;
use super::stream_router::{NextEvent, Subscription};
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};

/// A client at a stream. Dropping it leaves the stream.
pub(super) struct SubscriptionReader {
    session: Arc<BridgeSession>,
    subscription: Subscription,
    /// It has been told by which ids it can come back.
    can_resume: bool,
}

impl SubscriptionReader {
    /// At a place that the session's desk has given out.
    pub(super) fn new(session: &Arc<BridgeSession>, seat: Subscription) -> Self {
        Self { session: Arc::clone(session), subscription: seat, can_resume: false }
    }

    /// The id of what is to come after now, by which a client can come back that has heard nothing yet.
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
        // Somebody may wait for this stream to become shorter.
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

/// The id of a message on a stream.
fn format_event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// The stream, and the message on it, that an id names.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
