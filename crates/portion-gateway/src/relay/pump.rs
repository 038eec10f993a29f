//! The threads that carry messages.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::gate::Gate;
use super::late::Late;
use super::outlet::Outlet;
use super::{Lane, Outgoing};
use crate::frame::{Frame, Frames};
use crate::latch::Latch;

/// Messages of a client that are dealt with beside others, at most.
const BESIDE: usize = 32;

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
        pump_past(&*ends.lane, input, &ends.from_client, |frame| {
            for outgoing in runtime.block_on(ends.lane.from_client(frame)) {
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
            for outgoing in runtime.block_on(ends.lane.from_server(frame)) {
                match outgoing {
                    Outgoing::ToClient(message) => ends.client.send(message),
                    // There is an error only when the session is over.
                    Outgoing::ToServer(message) | Outgoing::Question(message) => {
                        drop(errands.send(Errand::Send(message)));
                    }
                }
            }
            ends.progress.notify_one();
        });
    });
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

/// The same, but what takes long is dealt with beside the messages after it. Ends when all is dealt with.
pub(super) fn pump_past<L: Lane, R: Read>(
    lane: &L,
    frames: Frames<R>,
    gate: &Gate,
    deal: impl Fn(Frame) + Sync,
) {
    let beside = AtomicUsize::new(0);
    thread::scope(|scope| {
        pump(frames, gate, |frame| {
            // A client that does not wait for answers is made to.
            if beside.load(Ordering::Acquire) >= BESIDE || !lane.takes_long(&frame) {
                return deal(frame);
            }
            beside.fetch_add(1, Ordering::AcqRel);
            scope.spawn(|| {
                deal(frame);
                beside.fetch_sub(1, Ordering::AcqRel);
            });
        });
    });
}

/// Also when the lane panics: then the session ends, instead of waiting for a thread that is no more.
pub(super) struct SetAtEnd<'a>(pub(super) &'a Latch);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
