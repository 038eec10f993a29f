//! One session: a link of its own, a lane, and the streams on which the client hears.
//!
//! What the client posts is carried to the server whether the client stays or not: only `notifications/cancelled`
//! cancels. What the server says is dealt with by one task, which lives as long as the link.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::stream_router::{StreamRouter, Subscription};
use crate::frame::Frame;
use crate::mcp::{McpProcessor, MessageView, ParsedBatch};
use crate::one_shot_flag::OneShotFlag;
use crate::relay::{MessageProcessor as _, OutgoingMessage};
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox};

/// How long a server may take to leave, before nobody listens any more and it is made to.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// What the server's direction may have waiting for the server: a question of our own, a call that was held back.
const OUTBOUND_QUEUE_LIMIT: usize = 1024;

/// A session.
pub(super) struct BridgeSession {
    /// By which the client names it: nobody can guess it.
    pub id: String,
    /// Who began it; see [`Principal::owner_scope`](crate::front::http::Principal::owner_scope).
    pub owner: Scope,
    /// The revision that the answer to `initialize` has settled on.
    negotiated_version: OnceLock<String>,
    processor: McpProcessor,
    /// Taken once the session is over.
    outbox: Mutex<Option<Outbox>>,
    /// Why the server is gone.
    gone_reason: OnceLock<String>,
    /// Held while a message of the client is dealt with: one at a time, in order.
    client_order_lock: tokio::sync::Mutex<()>,
    router: Mutex<StreamRouter>,
    /// Notified when anything on the desk has changed.
    pub changed: Notify,
    is_over: AtomicBool,
    end_requested: OneShotFlag,
    /// The server has left as well.
    ended: OneShotFlag,
    has_ended: AtomicBool,
}

impl BridgeSession {
    /// A session over this link.
    pub(super) fn start(id: String, owner: Scope, lane: McpProcessor, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let session = Arc::new(Self {
            id,
            owner,
            negotiated_version: OnceLock::new(),
            processor: lane,
            outbox: Mutex::new(Some(outbox.clone())),
            gone_reason: OnceLock::new(),
            client_order_lock: tokio::sync::Mutex::default(),
            router: Mutex::new(StreamRouter::new(Instant::now())),
            changed: Notify::new(),
            is_over: AtomicBool::new(false),
            end_requested: OneShotFlag::default(),
            ended: OneShotFlag::default(),
            has_ended: AtomicBool::new(false),
        });
        tokio::spawn(Arc::clone(&session).run_server_side(inbox, outbox));
        session
    }

    /// The streams.
    pub(super) fn router(&self) -> MutexGuard<'_, StreamRouter> {
        self.router.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision that was settled on.
    pub(super) fn negotiated_version(&self) -> Option<&str> {
        self.negotiated_version.get().map(String::as_str)
    }

    /// Whether it has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether its server has left as well.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Ends it: the server is asked to leave, and what waits is answered.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.end_requested.set();
    }

    /// Waits until the server has left.
    pub(super) async fn ended(&self) {
        self.ended.wait().await;
    }

    /// Carries what the client has posted to the server. Goes on even if nobody waits for it.
    pub(super) async fn forward_post(
        self: &Arc<Self>,
        text: &str,
        heard: &ParsedBatch<'_>,
        seat: Option<Subscription>,
    ) {
        let cancelled =
            heard.messages.iter().filter_map(|note| Some(note.slice(note.cancelled_id()?).to_owned()));
        let (body, cancelled): (_, Vec<String>) = (text.as_bytes().to_vec(), cancelled.collect());
        let session = Arc::clone(self);
        let frame = Frame::Message(body);
        // What is answered here, and not at once, keeps no other message waiting.
        let takes_long = seat.is_some() && self.processor.is_deferred(&frame);
        let carried = tokio::spawn(async move {
            let said = if takes_long {
                session.processor.process_deferred(frame).await
            } else {
                return session.forward_in_order(frame, &cancelled, seat).await;
            };
            session.dispatch(said, seat).await;
            session.changed.notify_waiters();
        });
        let _ = carried.await;
    }

    async fn forward_in_order(&self, frame: Frame, cancelled: &[String], seat: Option<Subscription>) {
        let _turn = self.client_order_lock.lock().await;
        let mut said = self.processor.process_client_frame(frame).await;
        if let Some(why) = self.gone_reason.get() {
            // Nobody hears the server's end any more.
            said.extend(self.processor.on_server_gone(why));
        }
        self.dispatch(said, seat).await;
        cancelled.iter().for_each(|id| self.router().cancel_request(id));
        self.changed.notify_waiters();
    }

    /// Carries what the lane made of a message to where it goes.
    async fn dispatch(&self, said: Vec<OutgoingMessage>, seat: Option<Subscription>) {
        let outbox = self.outbox().clone();
        {
            for said in said {
                match (said, seat) {
                    (OutgoingMessage::ToClient(answer), Some(seat)) => {
                        self.router().push_local_response(seat.stream_id, answer);
                    }
                    (OutgoingMessage::ToClient(_), None) => {}
                    (OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message), _) => {
                        if let Some(outbox) = &outbox {
                            // The link's end is heard by `attend`, which answers.
                            let _ = outbox.send(message).await;
                        }
                    }
                }
            }
        }
    }

    /// Deals with what the server says, to its end.
    async fn run_server_side(self: Arc<Self>, mut inbox: Inbox, outbox: Outbox) {
        let (errands, mut waiting) = mpsc::channel(OUTBOUND_QUEUE_LIMIT);
        // A server may not read while it writes: who hears it must not wait for it to read.
        tokio::spawn(async move {
            while let Some(message) = waiting.recv().await {
                let _ = outbox.send(message).await;
            }
        });
        let why = loop {
            tokio::select! {
                said = inbox.next() => match said {
                    Some(LinkEvent::Frame(frame)) => self.dispatch_from_server(self.processor.process_server_frame(frame).await, &errands).await,
                    Some(LinkEvent::Closed(why)) => break why,
                    None => break "the server is gone".to_owned(),
                },
                said = self.processor.next_timeout() => self.dispatch_from_server(said, &errands).await,
                () = self.end_requested.wait() => break "the session was ended".to_owned(),
            }
        };
        self.is_over.store(true, Ordering::Relaxed);
        drop(errands);
        let outbox = self.outbox().take();
        drop(outbox);
        {
            // Who has the turn may wait for a server that does not read.
            let _turn = timeout(SERVER_EXIT_TIMEOUT, self.client_order_lock.lock()).await;
            let _ = self.gone_reason.set(why.clone());
            for said in self.processor.on_server_gone(&why) {
                if let OutgoingMessage::ToClient(answer) = said {
                    self.router().route_server_message(answer);
                }
            }
            self.router().finish();
        }
        self.changed.notify_waiters();
        let _ = timeout(SERVER_EXIT_TIMEOUT, async { while inbox.next().await.is_some() {} }).await;
        drop(inbox);
        self.has_ended.store(true, Ordering::Relaxed);
        self.ended.set();
    }

    /// Sends what the lane made of what the server said, or failed to say.
    async fn dispatch_from_server(&self, said: Vec<OutgoingMessage>, errands: &mpsc::Sender<Vec<u8>>) {
        for said in said {
            match said {
                OutgoingMessage::ToClient(message) => {
                    self.record_negotiated_version(&message);
                    let stream = self.router().route_server_message(message);
                    self.changed.notify_waiters();
                    if let Some(stream) = stream {
                        self.wait_while_full(stream).await;
                    }
                }
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    let _ = errands.send(message).await;
                }
            }
        }
    }

    /// Notes the revision, where a message is the answer to `initialize`.
    fn record_negotiated_version(&self, message: &[u8]) {
        if self.negotiated_version.get().is_some() {
            return;
        }
        let text = String::from_utf8_lossy(message);
        let heard = ParsedBatch::parse(&text);
        if let Some(version) =
            heard.iter().flat_map(|heard| &heard.messages).find_map(MessageView::negotiated_version)
        {
            let _ = self.negotiated_version.set(version);
        }
    }

    /// Waits while the client reads a stream too slowly.
    async fn wait_while_full(&self, stream: u64) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !self.router().is_full(stream) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = self.end_requested.wait() => return,
            }
        }
    }

    fn outbox(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
