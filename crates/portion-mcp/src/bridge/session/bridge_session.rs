//! One session: its link, its message processor and its streams to the client.
//!
//! A post is forwarded to the server even if the client disconnects: only `notifications/cancelled` cancels. Messages
//! of the server are processed by one task, which lives as long as the link.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use portion_core::cursor::Scope;
use tokio::sync::{Notify, SetOnce, mpsc};
use tokio::time::timeout;

use super::stream_router::{StreamRouter, Subscription};
use crate::bridge::session_mode::SERVER_EXIT_TIMEOUT;
use crate::mcp::{McpProcessor, MessageView, OwnedBatch, ParsedBatch};
use crate::message_processor::{MessageProcessor as _, OutgoingMessage};
use crate::once::{OneShotFlag, wait_until};
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox};

/// Messages to the server queued by the server's direction: requests of our own, calls that were held back.
const OUTBOUND_QUEUE_LIMIT: usize = 1024;

/// A client session.
pub(super) struct BridgeSession {
    /// Session id, which cannot be guessed.
    pub id: String,
    /// Scope of the owner; see [`Principal::owner_scope`](portion_gateway::principal::Principal::owner_scope).
    pub owner: Scope,
    /// Revision in the response to `initialize`.
    pub negotiated_version: OnceLock<String>,
    processor: McpProcessor,
    /// `None` once the session is over.
    outbox: Mutex<Option<Outbox>>,
    /// Reason that the server has ended.
    gone_reason: OnceLock<String>,
    /// Held while a client message is processed: one at a time, in order.
    client_order_lock: tokio::sync::Mutex<()>,
    /// The streams of the session.
    pub router: Mutex<StreamRouter>,
    /// Notified when a stream of the router has changed.
    pub changed: Notify,
    is_over: AtomicBool,
    /// Request to end, with its reason: a sentence that `before it responded` can follow, where "it" is the server.
    end_request: SetOnce<&'static str>,
    /// Set when the server has ended as well.
    pub ended: OneShotFlag,
}

impl BridgeSession {
    /// Starts a session over this link.
    pub(super) fn start(id: String, owner: Scope, processor: McpProcessor, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let session = Arc::new(Self {
            id,
            owner,
            negotiated_version: OnceLock::new(),
            processor,
            outbox: Mutex::new(Some(outbox.clone())),
            gone_reason: OnceLock::new(),
            client_order_lock: tokio::sync::Mutex::default(),
            router: Mutex::new(StreamRouter::new(Instant::now())),
            changed: Notify::new(),
            is_over: AtomicBool::new(false),
            end_request: SetOnce::new(),
            ended: OneShotFlag::default(),
        });
        tokio::spawn(Arc::clone(&session).run_server_side(inbox, outbox));
        session
    }

    /// Returns true if the session accepts no more requests.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends the session: closes the link and answers pending requests. `reason`: see `end_request`.
    pub(super) fn end(&self, reason: &'static str) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.end_request.set(reason);
    }

    /// Forwards a post to the server. Continues even if the future is dropped.
    pub(super) async fn forward_post(
        self: &Arc<Self>,
        posted: OwnedBatch,
        subscription: Option<Subscription>,
    ) {
        let cancelled_id =
            |message: &MessageView<'_>| Some(message.slice(message.cancelled_id()?).to_owned());
        let cancelled: Vec<String> = posted.view().messages.iter().filter_map(cancelled_id).collect();
        let session = Arc::clone(self);
        // A deferred message must not delay later messages.
        let is_deferred = subscription.is_some() && self.processor.defers_batch(&posted);
        let task = tokio::spawn(async move {
            if !is_deferred {
                return session.forward_in_order(posted, &cancelled, subscription).await;
            }
            let outgoing = session.processor.process_deferred_batch(posted).await;
            session.dispatch(outgoing, subscription).await;
            session.changed.notify_waiters();
        });
        let _ = task.await;
    }

    async fn forward_in_order(
        &self,
        posted: OwnedBatch,
        cancelled: &[String],
        subscription: Option<Subscription>,
    ) {
        let _order_guard = self.client_order_lock.lock().await;
        let mut outgoing = self.processor.process_client_batch(posted).await;
        if let Some(reason) = self.gone_reason.get() {
            // The end of the server has already been processed, so later requests are answered here.
            outgoing.extend(self.processor.on_server_gone(reason));
        }
        self.dispatch(outgoing, subscription).await;
        cancelled.iter().for_each(|id| self.router.lock().cancel_request(id));
        self.changed.notify_waiters();
    }

    /// Sends the messages that the processor returned for a post.
    async fn dispatch(&self, outgoing: Vec<OutgoingMessage>, subscription: Option<Subscription>) {
        let outbox = self.outbox.lock().clone();
        {
            for outgoing in outgoing {
                match (outgoing, subscription) {
                    (OutgoingMessage::ToClient(message), Some(subscription)) => {
                        self.router.lock().push_local_response(subscription.stream_id, message);
                    }
                    (OutgoingMessage::ToClient(_), None) => {}
                    (OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message), _) => {
                        if let Some(outbox) = &outbox {
                            // Fails if the link is closed; `run_server_side` then answers the request.
                            let _ = outbox.send(message).await;
                        }
                    }
                }
            }
        }
    }

    /// Processes the messages of the server until the link is closed.
    async fn run_server_side(self: Arc<Self>, mut inbox: Inbox, outbox: Outbox) {
        let (commands, mut queue) = mpsc::channel(OUTBOUND_QUEUE_LIMIT);
        // A server may not read while it writes, so this task must not wait for it to read.
        tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                let _ = outbox.send(message).await;
            }
        });
        let reason = loop {
            tokio::select! {
                event = inbox.next() => match event {
                    Some(LinkEvent::Frame(frame)) => {
                        self.dispatch_from_server(self.processor.process_server_frame(frame).await, &commands).await;
                    }
                    Some(LinkEvent::Closed(reason)) => break reason.to_string(),
                    None => break "the server has ended".to_owned(),
                },
                outgoing = self.processor.next_timeout() => self.dispatch_from_server(outgoing, &commands).await,
                reason = self.end_request.wait() => break (*reason).to_owned(),
            }
        };
        self.is_over.store(true, Ordering::Relaxed);
        while self.processor.is_responding() {
            self.dispatch_from_server(self.processor.next_timeout().await, &commands).await;
        }
        drop(commands);
        let outbox = self.outbox.lock().take();
        drop(outbox);
        {
            // The lock holder may be waiting for a server that does not read.
            let _order_guard = timeout(SERVER_EXIT_TIMEOUT, self.client_order_lock.lock()).await;
            let _ = self.gone_reason.set(reason.clone());
            for outgoing in self.processor.on_server_gone(&reason) {
                if let OutgoingMessage::ToClient(message) = outgoing {
                    self.router.lock().route_server_message(message);
                }
            }
            self.router.lock().finish();
        }
        self.changed.notify_waiters();
        inbox.wait_closed(SERVER_EXIT_TIMEOUT).await;
        self.ended.set();
    }

    /// Sends the messages that a server message or a timeout has caused.
    async fn dispatch_from_server(&self, outgoing: Vec<OutgoingMessage>, commands: &mpsc::Sender<Vec<u8>>) {
        for outgoing in outgoing {
            match outgoing {
                OutgoingMessage::ToClient(message) => {
                    self.record_negotiated_version(&message);
                    let stream = self.router.lock().route_server_message(message);
                    self.changed.notify_waiters();
                    if let Some(stream) = stream {
                        self.wait_while_full(stream).await;
                    }
                }
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    let _ = commands.send(message).await;
                }
            }
        }
    }

    /// Records the revision if the message is the response to `initialize`.
    fn record_negotiated_version(&self, message: &[u8]) {
        if self.negotiated_version.get().is_some() {
            return;
        }
        let version = ParsedBatch::read(message, |batch| {
            batch.messages.iter().find_map(MessageView::negotiated_version)
        });
        version.flatten().map(|version| self.negotiated_version.set(version));
    }

    /// Waits while the queue of a stream is full.
    async fn wait_while_full(&self, stream: u64) {
        tokio::select! {
            () = wait_until(&self.changed, || !self.router.lock().is_full(stream)) => {}
            _ = self.end_request.wait() => {}
        }
    }
}
