//! The link that all clients without sessions share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::exchange::Exchange;
use super::table::{Delivery, Table};
use crate::dropped::Dropped;
use crate::frame::Frame;
use crate::front::http::{Principal, refusal};
use crate::latch::Latch;
use crate::mcp::code::METHOD_NOT_FOUND;
use crate::mcp::{Heard, Lanes, McpLane, Note, Role};
use crate::relay::Lane as _;
use crate::upstream::link::{Inbox, Link, Outbox, Said};

/// How long a server may take to leave, before nobody listens any more and it is made to.
const LEAVING: Duration = Duration::from_secs(3);
/// Messages that may wait for one client. Who reads more slowly is cut off, for others wait for the same server.
const AHEAD: usize = 256;
/// Principals of whom is remembered what they were told about the server.
const PRINCIPALS: usize = 256;

/// A link with its posts.
pub(super) struct Trunk {
    lanes: Lanes,
    table: Mutex<Table>,
    /// What each principal knows of the server, and when it last asked.
    principals: Mutex<HashMap<Scope, (Arc<McpLane>, Instant)>>,
    /// Taken once the link is no more.
    outbox: Mutex<Option<Outbox>>,
    has_spoken: AtomicBool,
    is_mute: AtomicBool,
    leave: Latch,
    /// The server has left.
    ended: Latch,
}

impl Trunk {
    /// A trunk over this link.
    pub(super) fn begin(lanes: Lanes, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let trunk = Arc::new(Self {
            lanes,
            table: Mutex::new(Table::new(Instant::now())),
            principals: Mutex::default(),
            outbox: Mutex::new(Some(outbox)),
            has_spoken: AtomicBool::new(false),
            is_mute: AtomicBool::new(false),
            leave: Latch::default(),
            ended: Latch::default(),
        });
        tokio::spawn(Arc::clone(&trunk).attend(inbox));
        trunk
    }

    /// Whether it has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.outbox().is_none()
    }

    /// Ends it: the server is asked to leave, and what waits is answered.
    pub(super) fn end(&self) {
        self.leave.set();
    }

    /// Waits until the server has left.
    pub(super) async fn ended(&self) {
        self.ended.wait().await;
    }

    /// Since when nobody waits here; `None` while somebody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.table().idle_since()
    }

    /// Whether the server has ever said anything.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken.load(Ordering::Relaxed)
    }

    /// Whether it has let somebody wait in vain and never said anything.
    pub(super) fn is_mute(&self) -> bool {
        self.is_mute.load(Ordering::Relaxed) && !self.has_spoken()
    }

    /// Remembers that it has let somebody wait in vain.
    pub(super) fn was_mute(&self) {
        self.is_mute.store(true, Ordering::Relaxed);
    }

    /// A lane for a request of this principal.
    pub(super) fn lane(&self, principal: &Principal) -> McpLane {
        let scope = principal.sessionless();
        let mut principals = self.principals();
        if !principals.contains_key(&scope) && principals.len() >= PRINCIPALS {
            let oldest = principals.iter().min_by_key(|(_, (_, asked))| *asked).map(|(scope, _)| *scope);
            oldest.map(|oldest| principals.remove(&oldest));
        }
        let fresh = || (Arc::new(self.lanes.lane(scope, principal.conversation(None))), Instant::now());
        let (lane, asked) = principals.entry(scope).or_insert_with(fresh);
        *asked = Instant::now();
        lane.sibling().reusing(principal.has_credential())
    }

    /// A request that waits here from now on. `None`: the link is no more.
    pub(super) fn exchange(
        self: &Arc<Self>,
        lane: McpLane,
        scope: Scope,
        request: &Note<'_>,
    ) -> Option<Exchange> {
        let (to, hears) = mpsc::channel(AHEAD);
        let post = self.table().post(to, scope, request)?;
        Some(Exchange::new(self, lane, post, hears))
    }

    /// Carries a message of a post to the server. That the link is no more each post hears by itself.
    pub(super) async fn send(&self, post: u64, message: Vec<u8>) {
        let message = self.table().outward(post, message);
        self.send_as_it_is(message).await;
    }

    /// Carries a message that nobody waits for.
    pub(super) async fn send_as_it_is(&self, message: Vec<u8>) {
        let outbox = self.outbox().clone();
        if let Some(outbox) = outbox {
            let _ = outbox.send(message).await;
        }
    }

    /// A post waits no longer; what it waited for need not be done.
    pub(super) fn leave(&self, post: u64, now: Instant) {
        let open = self.table().leave(post, now);
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
    async fn attend(self: Arc<Self>, mut inbox: Inbox) {
        let why = loop {
            tokio::select! {
                said = inbox.next() => match said {
                    Some(Said::Frame(frame)) => self.hear(frame).await,
                    Some(Said::Gone(why)) => break why,
                    None => break "the server is gone".to_owned(),
                },
                () = self.leave.wait() => break "the server was ended".to_owned(),
            }
        };
        let outbox = self.outbox().take();
        drop(outbox);
        self.table().finish(&why);
        let _ = timeout(LEAVING, async { while inbox.next().await.is_some() {} }).await;
        drop(inbox);
        self.ended.set();
    }

    async fn hear(self: &Arc<Self>, frame: Frame) {
        self.has_spoken.store(true, Ordering::Relaxed);
        let line = match frame {
            Frame::Message(line) => line,
            Frame::TooLarge { id: Some(id), has_method: false, bytes } => {
                let mut table = self.table();
                let Some((post, id)) = table.answered(&id) else { return };
                let frame = Frame::TooLarge { id: Some(id.into()), has_method: false, bytes };
                if let Some(hears) = table.hears(post) {
                    let _ = hears.try_send(Ok(frame));
                }
                return;
            }
            Frame::TooLarge { id, has_method, .. } => {
                if let Some(id) = id.filter(|_| has_method) {
                    self.refuse(&id);
                }
                return;
            }
        };
        let text = String::from_utf8_lossy(&line);
        let Ok(heard) = Heard::read(&text) else {
            self.lanes.gateway.drops(Dropped::Invalid, line.len(), "a line of the server that is no message");
            return;
        };
        for note in &heard.messages {
            if note.role() == Role::Request {
                self.refuse(note.id());
                continue;
            }
            if note.method() == "notifications/tools/list_changed" {
                self.forget_tools(note).await;
            }
            let delivery = self.table().inward(&text, note);
            if let Some(delivery) = delivery {
                self.deliver(delivery);
            } else {
                let why = "an answer that no pending request has asked for";
                if note.role() == Role::Response {
                    self.lanes.gateway.drops(Dropped::Unasked, line.len(), why);
                }
            }
        }
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery { posts, text, last } = delivery;
        for post in posts {
            let Some(hears) = self.table().hears(post) else { continue };
            let said = hears.try_send(Ok(Frame::Message(text.clone().into_bytes())));
            let ended = last.map(|why| hears.try_send(Err(why.to_owned())));
            if said.is_err() || ended.is_some() {
                // It hears what waits for it, and then that nothing follows.
                self.leave(post, Instant::now());
            }
        }
    }

    /// What a principal knows of the tools holds no longer, whoever listens.
    async fn forget_tools(&self, note: &Note<'_>) {
        let text = note.at(note.whole()).as_bytes().to_vec();
        let lanes: Vec<_> = self.principals().values().map(|(lane, _)| Arc::clone(lane)).collect();
        for lane in lanes {
            lane.from_server(Frame::Message(text.clone())).await;
        }
    }

    /// In these revisions servers ask nobody.
    fn refuse(self: &Arc<Self>, raw_id: &str) {
        let message = "no client of this revision takes requests";
        let error = refusal::error(raw_id, METHOD_NOT_FOUND, message).into_bytes();
        let trunk = Arc::clone(self);
        // Not here: a server may not read while it writes.
        tokio::spawn(async move { trunk.send_as_it_is(error).await });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn principals(&self) -> MutexGuard<'_, HashMap<Scope, (Arc<McpLane>, Instant)>> {
        self.principals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
