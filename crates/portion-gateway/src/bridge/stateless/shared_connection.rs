//! The link that all clients without sessions share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::exchange::StatelessExchange;
use super::request_table::{Delivery, RequestTable};
use crate::dropped_messages::DropReason;
use crate::frame::Frame;
use crate::front::http::{Principal, http_error};
use crate::mcp::error_code::METHOD_NOT_FOUND;
use crate::mcp::{McpProcessor, McpProcessorFactory, MessageKind, MessageView, ParsedBatch};
use crate::one_shot_flag::OneShotFlag;
use crate::relay::MessageProcessor as _;
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox};

/// How long a server may take to leave, before nobody listens any more and it is made to.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Messages that may wait for one client. Who reads more slowly is cut off, for others wait for the same server.
const POST_QUEUE_LIMIT: usize = 256;
/// Principals of whom is remembered what they were told about the server.
const MAX_PRINCIPALS: usize = 256;

/// A link with its posts.
pub(super) struct SharedConnection {
    processor_factory: McpProcessorFactory,
    requests: Mutex<RequestTable>,
    /// What each principal knows of the server, and when it last asked.
    processor_by_principal: Mutex<HashMap<Scope, (Arc<McpProcessor>, Instant)>>,
    /// Taken once the link is no more.
    outbox: Mutex<Option<Outbox>>,
    has_received: AtomicBool,
    is_unresponsive: AtomicBool,
    end_requested: OneShotFlag,
    /// The server has left.
    ended: OneShotFlag,
}

impl SharedConnection {
    /// A trunk over this link.
    pub(super) fn start(lanes: McpProcessorFactory, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let trunk = Arc::new(Self {
            processor_factory: lanes,
            requests: Mutex::new(RequestTable::new(Instant::now())),
            processor_by_principal: Mutex::default(),
            outbox: Mutex::new(Some(outbox)),
            has_received: AtomicBool::new(false),
            is_unresponsive: AtomicBool::new(false),
            end_requested: OneShotFlag::default(),
            ended: OneShotFlag::default(),
        });
        tokio::spawn(Arc::clone(&trunk).run_server_side(inbox));
        trunk
    }

    /// Whether it has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.outbox().is_none()
    }

    /// Ends it: the server is asked to leave, and what waits is answered.
    pub(super) fn end(&self) {
        self.end_requested.set();
    }

    /// Waits until the server has left.
    pub(super) async fn ended(&self) {
        self.ended.wait().await;
    }

    /// Since when nobody waits here; `None` while somebody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.requests().idle_since()
    }

    /// Whether the server has ever said anything.
    pub(super) fn has_received(&self) -> bool {
        self.has_received.load(Ordering::Relaxed)
    }

    /// Whether it has let somebody wait in vain and never said anything.
    pub(super) fn is_unresponsive(&self) -> bool {
        self.is_unresponsive.load(Ordering::Relaxed) && !self.has_received()
    }

    /// Remembers that it has let somebody wait in vain.
    pub(super) fn mark_unresponsive(&self) {
        self.is_unresponsive.store(true, Ordering::Relaxed);
    }

    /// A lane for a request of this principal.
    pub(super) fn processor_for(&self, principal: &Principal) -> McpProcessor {
        let scope = principal.sessionless_scope();
        let mut principals = self.processor_by_principal();
        if !principals.contains_key(&scope) && principals.len() >= MAX_PRINCIPALS {
            let oldest = principals.iter().min_by_key(|(_, (_, asked))| *asked).map(|(scope, _)| *scope);
            oldest.map(|oldest| principals.remove(&oldest));
        }
        let fresh = || {
            (
                Arc::new(self.processor_factory.new_processor(scope, principal.conversation(None))),
                Instant::now(),
            )
        };
        let (lane, asked) = principals.entry(scope).or_insert_with(fresh);
        *asked = Instant::now();
        lane.fork().with_reuse(principal.has_credential())
    }

    /// A request that waits here from now on. `None`: the link is no more.
    pub(super) fn open_exchange(
        self: &Arc<Self>,
        lane: McpProcessor,
        scope: Scope,
        request: &MessageView<'_>,
    ) -> Option<StatelessExchange> {
        let (to, hears) = mpsc::channel(POST_QUEUE_LIMIT);
        let post = self.requests().register_post(to, scope, request)?;
        Some(StatelessExchange::new(self, lane, post, hears))
    }

    /// Carries a message of a post to the server. That the link is no more each post hears by itself.
    pub(super) async fn send_for_post(&self, post: u64, message: Vec<u8>) {
        let message = self.requests().rewrite_outbound(post, message);
        self.send_verbatim(message).await;
    }

    /// Carries a message that nobody waits for.
    pub(super) async fn send_verbatim(&self, message: Vec<u8>) {
        let outbox = self.outbox().clone();
        if let Some(outbox) = outbox {
            let _ = outbox.send(message).await;
        }
    }

    /// A post waits no longer; what it waited for need not be done.
    pub(super) fn close_post(&self, post: u64, now: Instant) {
        let open = self.requests().remove_post(post, now);
        let Some(outbox) = self.outbox().clone().filter(|_| !open.is_empty()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            for ours in open {
                let params = format!("{{\"requestId\":{ours},\"reason\":\"nobody waits for the answer\"}}");
                let cancel = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}"
                );
                let _ = outbox.send(cancel.into_bytes()).await;
            }
        });
    }

    /// Deals with what the server says, to its end.
    async fn run_server_side(self: Arc<Self>, mut inbox: Inbox) {
        let why = loop {
            tokio::select! {
                said = inbox.next() => match said {
                    Some(LinkEvent::Frame(frame)) => self.handle_frame(frame).await,
                    Some(LinkEvent::Closed(why)) => break why,
                    None => break "the server is gone".to_owned(),
                },
                () = self.end_requested.wait() => break "the server was ended".to_owned(),
            }
        };
        let outbox = self.outbox().take();
        drop(outbox);
        self.requests().close(&why);
        let _ = timeout(SERVER_EXIT_TIMEOUT, async { while inbox.next().await.is_some() {} }).await;
        drop(inbox);
        self.ended.set();
    }

    async fn handle_frame(self: &Arc<Self>, frame: Frame) {
        self.has_received.store(true, Ordering::Relaxed);
        let line = match frame {
            Frame::Message(line) => line,
            Frame::TooLarge { id: Some(id), has_method: false, bytes } => {
                let mut table = self.requests();
                let Some((post, id)) = table.take_request(&id) else { return };
                let frame = Frame::TooLarge { id: Some(id.into()), has_method: false, bytes };
                if let Some(hears) = table.sender(post) {
                    let _ = hears.try_send(Ok(frame));
                }
                return;
            }
            Frame::TooLarge { id, has_method, .. } => {
                if let Some(id) = id.filter(|_| has_method) {
                    self.reject_server_request(&id);
                }
                return;
            }
        };
        let text = String::from_utf8_lossy(&line);
        let Ok(heard) = ParsedBatch::parse(&text) else {
            self.processor_factory.gateway.record_drop(
                DropReason::Invalid,
                line.len(),
                "a line of the server that is no message",
            );
            return;
        };
        for note in &heard.messages {
            if note.kind() == MessageKind::Request {
                self.reject_server_request(note.id());
                continue;
            }
            if note.method() == "notifications/tools/list_changed" {
                self.invalidate_tools(note).await;
            }
            let delivery = self.requests().rewrite_inbound(&text, note);
            if let Some(delivery) = delivery {
                self.deliver(delivery);
            } else {
                let why = "an answer that no pending request has asked for";
                if note.kind() == MessageKind::Response {
                    self.processor_factory.gateway.record_drop(DropReason::Unsolicited, line.len(), why);
                }
            }
        }
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery { post_ids: posts, text, end_reason: last } = delivery;
        for post in posts {
            let Some(hears) = self.requests().sender(post) else { continue };
            let said = hears.try_send(Ok(Frame::Message(text.clone().into_bytes())));
            let ended = last.map(|why| hears.try_send(Err(why.to_owned())));
            if said.is_err() || ended.is_some() {
                // It hears what waits for it, and then that nothing follows.
                self.close_post(post, Instant::now());
            }
        }
    }

    /// What a principal knows of the tools holds no longer, whoever listens.
    async fn invalidate_tools(&self, note: &MessageView<'_>) {
        let text = note.slice(note.span()).as_bytes().to_vec();
        let lanes: Vec<_> =
            self.processor_by_principal().values().map(|(lane, _)| Arc::clone(lane)).collect();
        for lane in lanes {
            lane.process_server_frame(Frame::Message(text.clone())).await;
        }
    }

    /// In these revisions servers ask nobody.
    fn reject_server_request(self: &Arc<Self>, raw_id: &str) {
        let message = "no client of this revision takes requests";
        let error = http_error::json_rpc_error(raw_id, METHOD_NOT_FOUND, message).into_bytes();
        let trunk = Arc::clone(self);
        // Not here: a server may not read while it writes.
        tokio::spawn(async move { trunk.send_verbatim(error).await });
    }

    fn requests(&self) -> MutexGuard<'_, RequestTable> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn processor_by_principal(&self) -> MutexGuard<'_, HashMap<Scope, (Arc<McpProcessor>, Instant)>> {
        self.processor_by_principal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
