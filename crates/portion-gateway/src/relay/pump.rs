//! The threads that carry messages.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::gate::Gate;
use super::late::Late;
use super::outlet::Outlet;
use super::{Lane, Outgoing};
use crate::frame::{Frame, Frames};
use crate::latch::Latch;
use crate::questions::{AT_ONCE, WAITING};

/// What both directions and the session share.
pub(super) struct Ends<L> {
    pub(super) lane: Arc<L>,
    pub(super) client: Arc<Outlet>,
    pub(super) server: Outlet,
    /// Passed by each of the client's messages, and of the server's.
    pub(super) from_client: Gate,
    pub(super) from_server: Gate,
    /// The client will say nothing more, and the server.
    pub(super) client_done: Latch,
    pub(super) server_done: Latch,
    /// Notified after each of the server's messages.
    pub(super) progress: Notify,
    pub(super) late: Late,
}

/// For the server, but not from the client's direction.
pub(super) enum Errand {
    Send(Vec<u8>),
    /// Close the server's input.
    Close,
}

/// Carries the client's messages.
pub(super) fn start_client<L: Lane + 'static>(ends: &Arc<Ends<L>>, input: Frames<Box<dyn Read + Send>>) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&ends.client_done);
        pump_past(&*ends.lane, input, &ends.from_client, |frame, way| {
            for outgoing in runtime.block_on(way.of(&*ends.lane, frame)) {
                match outgoing {
                    Outgoing::ToClient(message) => ends.client.send(message),
                    Outgoing::ToServer(message) | Outgoing::Question(message) => ends.server.send(message),
                }
            }
            ends.to_client(ends.late.heard(&*ends.lane));
        });
    });
}

impl<L> Ends<L> {
    /// Sends what is for the client, and nothing else.
    pub(super) fn to_client(&self, messages: Vec<Outgoing>) {
        for message in messages {
            if let Outgoing::ToClient(message) = message {
                self.client.send(message);
            }
        }
    }
}

/// Carries the server's messages.
pub(super) fn start_server<L: Lane + 'static, R: Read + Send + 'static>(
    ends: &Arc<Ends<L>>,
    output: Frames<R>,
    errands: SyncSender<Errand>,
) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&ends.server_done);
        pump(output, &ends.from_server, |frame| {
            send_from_server(&ends, &errands, runtime.block_on(ends.lane.from_server(frame)));
        });
    });
}

/// Sends what the lane made of what the server said, or failed to say.
pub(super) fn send_from_server<L>(ends: &Ends<L>, errands: &SyncSender<Errand>, messages: Vec<Outgoing>) {
    for outgoing in messages {
        match outgoing {
            Outgoing::ToClient(message) => ends.client.send(message),
            // There is an error only when the session is over.
            Outgoing::ToServer(message) | Outgoing::Question(message) => {
                drop(errands.send(Errand::Send(message)));
            }
        }
    }
    ends.progress.notify_one();
}

/// Carries what the server's direction has for the server itself. A server may not read while it writes:
/// if its direction waited for it to read, each would wait for the other for ever.
pub(super) fn start_errands<L: Lane + 'static>(ends: &Arc<Ends<L>>, errands: Receiver<Errand>) {
    let ends = Arc::clone(ends);
    thread::spawn(move || {
        for errand in errands {
            match errand {
                Errand::Send(message) => ends.server.send(message),
                Errand::Close => ends.server.close(),
            }
        }
    });
}

/// Hands on each message that passes the gate, until the stream ends.
pub(super) fn pump<R: Read>(frames: Frames<R>, gate: &Gate, mut deal: impl FnMut(Frame)) {
    // A stream that fails ends the session as one that ends does.
    for frame in frames.map_while(Result::ok) {
        let Some(_passing) = gate.pass() else { return };
        deal(frame);
    }
}

/// How a message of the client is dealt with.
#[derive(Clone, Copy)]
pub(super) enum Way {
    AtOnce,
    /// Beside the messages after it.
    Beside,
    /// Too many are dealt with beside others already.
    Refused,
}

impl Way {
    /// What is made of a message.
    pub(super) async fn of<L: Lane>(self, lane: &L, frame: Frame) -> Vec<Outgoing> {
        match self {
            Self::AtOnce => lane.from_client(frame).await,
            Self::Beside => lane.beside(frame).await,
            Self::Refused => lane.refuse(&frame),
        }
    }
}

/// The same, but what takes long is dealt with beside the messages after it, by a few threads with a queue of bounded length.
/// The reader itself never does it. Ends when all is dealt with.
pub(super) fn pump_past<L: Lane, R: Read>(
    lane: &L,
    frames: Frames<R>,
    gate: &Gate,
    deal: impl Fn(Frame, Way) + Sync,
) {
    let (queue, queued) = sync_channel::<Frame>(WAITING);
    let (queued, deal) = (Mutex::new(queued), &deal);
    let work = || {
        let next = || queued.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(frame) = next() {
            deal(frame, Way::Beside);
        }
    };
    thread::scope(|scope| {
        let mut threads = 0;
        pump(frames, gate, |frame| {
            if !lane.takes_long(&frame) {
                return deal(frame, Way::AtOnce);
            }
            if threads < AT_ONCE {
                threads += 1;
                scope.spawn(work);
            }
            if let Err(TrySendError::Full(frame) | TrySendError::Disconnected(frame)) = queue.try_send(frame)
            {
                deal(frame, Way::Refused);
            }
        });
        // The threads end with the queue.
        drop(queue);
    });
}

/// Also when the lane panics: then the session ends, instead of waiting for a thread that is no more.
pub(super) struct SetAtEnd<'a>(pub(super) &'a Latch);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
