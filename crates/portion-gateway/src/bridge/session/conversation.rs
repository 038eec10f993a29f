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

use super::desk::{Desk, Seat};
use crate::frame::Frame;
use crate::latch::Latch;
use crate::mcp::{Heard, McpLane, Note};
use crate::relay::{Lane as _, Outgoing};
use crate::upstream::link::{Inbox, Link, Outbox, Said};

/// How long a server may take to leave, before nobody listens any more and it is made to.
const LEAVING: Duration = Duration::from_secs(3);
/// What the server's direction may have waiting for the server: a question of our own, a call that was held back.
const ERRANDS: usize = 1024;

/// A session.
pub(super) struct Session {
    /// By which the client names it: nobody can guess it.
    pub id: String,
    /// Who began it; see [`Principal::owner`](crate::front::http::Principal::owner).
    pub owner: Scope,
    /// The revision that the answer to `initialize` has settled on.
    settled: OnceLock<String>,
    lane: McpLane,
    /// Taken once the session is over.
    outbox: Mutex<Option<Outbox>>,
    /// Why the server is gone.
    gone: OnceLock<String>,
    /// Held while a message of the client is dealt with: one at a time, in order.
    turn: tokio::sync::Mutex<()>,
    desk: Mutex<Desk>,
    /// Notified when anything on the desk has changed.
    pub changed: Notify,
    is_over: AtomicBool,
    leave: Latch,
    /// The server has left as well.
    ended: Latch,
    has_ended: AtomicBool,
}

impl Session {
    /// A session over this link.
    pub(super) fn begin(id: String, owner: Scope, lane: McpLane, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let session = Arc::new(Self {
            id,
            owner,
            settled: OnceLock::new(),
            lane,
            outbox: Mutex::new(Some(outbox.clone())),
            gone: OnceLock::new(),
            turn: tokio::sync::Mutex::default(),
            desk: Mutex::new(Desk::new(Instant::now())),
            changed: Notify::new(),
            is_over: AtomicBool::new(false),
            leave: Latch::default(),
            ended: Latch::default(),
            has_ended: AtomicBool::new(false),
        });
        tokio::spawn(Arc::clone(&session).attend(inbox, outbox));
        session
    }

    /// The streams.
    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision that was settled on.
    pub(super) fn settled(&self) -> Option<&str> {
        self.settled.get().map(String::as_str)
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
        self.leave.set();
    }

    /// Waits until the server has left.
    pub(super) async fn ended(&self) {
        self.ended.wait().await;
    }

    /// Carries what the client has posted to the server. Goes on even if nobody waits for it.
    pub(super) async fn say(self: &Arc<Self>, text: &str, heard: &Heard<'_>, seat: Option<Seat>) {
        let cancelled = heard.messages.iter().filter_map(|note| Some(note.at(note.cancelled()?).to_owned()));
        let (body, cancelled): (_, Vec<String>) = (text.as_bytes().to_vec(), cancelled.collect());
        let session = Arc::clone(self);
        let frame = Frame::Message(body);
        // What is answered here, and not at once, keeps no other message waiting.
        let takes_long = seat.is_some() && self.lane.takes_long(&frame);
        let carried = tokio::spawn(async move {
            let said = if takes_long {
                session.lane.beside(frame).await
            } else {
                return session.say_in_turn(frame, &cancelled, seat).await;
            };
            session.carry(said, seat).await;
            session.changed.notify_waiters();
        });
        let _ = carried.await;
    }

    async fn say_in_turn(&self, frame: Frame, cancelled: &[String], seat: Option<Seat>) {
        let _turn = self.turn.lock().await;
        let mut said = self.lane.from_client(frame).await;
        if let Some(why) = self.gone.get() {
            // Nobody hears the server's end any more.
            said.extend(self.lane.server_gone(why));
        }
        self.carry(said, seat).await;
        cancelled.iter().for_each(|id| self.desk().cancelled(id));
        self.changed.notify_waiters();
    }

    /// Carries what the lane made of a message to where it goes.
    async fn carry(&self, said: Vec<Outgoing>, seat: Option<Seat>) {
        let outbox = self.outbox().clone();
        {
            for said in said {
                match (said, seat) {
                    (Outgoing::ToClient(answer), Some(seat)) => {
                        self.desk().answered_here(seat.stream, answer);
                    }
                    (Outgoing::ToClient(_), None) => {}
                    (Outgoing::ToServer(message) | Outgoing::Question(message), _) => {
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
    async fn attend(self: Arc<Self>, mut inbox: Inbox, outbox: Outbox) {
        let (errands, mut waiting) = mpsc::channel(ERRANDS);
        // A server may not read while it writes: who hears it must not wait for it to read.
        tokio::spawn(async move {
            while let Some(message) = waiting.recv().await {
                let _ = outbox.send(message).await;
            }
        });
        let why = loop {
            tokio::select! {
                said = inbox.next() => match said {
                    Some(Said::Frame(frame)) => self.deal(self.lane.from_server(frame).await, &errands).await,
                    Some(Said::Gone(why)) => break why,
                    None => break "the server is gone".to_owned(),
                },
                said = self.lane.expired() => self.deal(said, &errands).await,
                () = self.leave.wait() => break "the session was ended".to_owned(),
            }
        };
        self.is_over.store(true, Ordering::Relaxed);
        drop(errands);
        let outbox = self.outbox().take();
        drop(outbox);
        {
            // Who has the turn may wait for a server that does not read.
            let _turn = timeout(LEAVING, self.turn.lock()).await;
            let _ = self.gone.set(why.clone());
            for said in self.lane.server_gone(&why) {
                if let Outgoing::ToClient(answer) = said {
                    self.desk().arrived(answer);
                }
            }
            self.desk().finish();
        }
        self.changed.notify_waiters();
        let _ = timeout(LEAVING, async { while inbox.next().await.is_some() {} }).await;
        drop(inbox);
        self.has_ended.store(true, Ordering::Relaxed);
        self.ended.set();
    }

    /// Sends what the lane made of what the server said, or failed to say.
    async fn deal(&self, said: Vec<Outgoing>, errands: &mpsc::Sender<Vec<u8>>) {
        for said in said {
            match said {
                Outgoing::ToClient(message) => {
                    self.settle(&message);
                    let stream = self.desk().arrived(message);
                    self.changed.notify_waiters();
                    if let Some(stream) = stream {
                        self.keep_pace(stream).await;
                    }
                }
                Outgoing::ToServer(message) | Outgoing::Question(message) => {
                    let _ = errands.send(message).await;
                }
            }
        }
    }

    /// Notes the revision, where a message is the answer to `initialize`.
    fn settle(&self, message: &[u8]) {
        if self.settled.get().is_some() {
            return;
        }
        let text = String::from_utf8_lossy(message);
        let heard = Heard::read(&text);
        if let Some(version) = heard.iter().flat_map(|heard| &heard.messages).find_map(Note::settled) {
            let _ = self.settled.set(version);
        }
    }

    /// Waits while the client reads a stream too slowly.
    async fn keep_pace(&self, stream: u64) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !self.desk().is_full(stream) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = self.leave.wait() => return,
            }
        }
    }

    fn outbox(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
