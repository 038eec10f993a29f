//! A session of a client, or all requests of a client without sessions.
//!
//! The first request of a session is delayed until its listening stream is open. Clients open the stream and send the first
//! request at the same time, and a server that sends a request of its own during that first request needs the stream. The
//! proxy could reorder the two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::mcp::{McpProcessor, McpProcessorFactory, RequestIdMap};
use crate::message_processor::MessageProcessor as _;
use crate::once::{OneShotFlag, SetOnDrop};
use portion_gateway::principal::Principal;
use tokio::time::timeout;

/// Unanswered posts kept per session, so that the client can resume them.
const MAX_UNANSWERED_POSTS: usize = 64;

/// A session, or all requests of one principal if the server has no sessions.
pub(super) struct ProxySession {
    /// Holds the state of the server. Each post gets a fork of it, with its own requests.
    pub(super) processor: McpProcessor,
    pub(super) opening: SessionOpening,
    /// Ids of the pending requests, which must be unique in the session; `None` if this is not a session.
    ids_in_flight: Option<Mutex<RequestIdMap<()>>>,
    /// Posts whose streams ended before the response, and which the client may resume.
    pub(super) unanswered_posts: Mutex<Vec<Arc<McpProcessor>>>,
}

/// Reserved ids of the requests of a post; released when this is dropped.
pub(super) struct ReservedIds {
    session: Arc<ProxySession>,
    ids: Vec<Box<str>>,
}

impl ProxySession {
    /// Creates a session that has no id yet.
    pub(super) fn without_id(principal: &Principal, processor_factory: &McpProcessorFactory) -> Self {
        let scope = principal.sessionless_scope;
        let processor = processor_factory.new_processor(scope, principal.conversation(None));
        Self::new(processor.with_reuse(principal.has_credential), false)
    }

    /// Creates a session. `has_ids`: request ids must be unique in it.
    pub(super) fn new(processor: McpProcessor, has_ids: bool) -> Self {
        let ids_in_flight = has_ids.then(Mutex::default);
        Self {
            processor,
            opening: SessionOpening::default(),
            ids_in_flight,
            unanswered_posts: Mutex::default(),
        }
    }

    /// Returns a processor for a post.
    pub(super) fn post_processor(&self) -> McpProcessor {
        if self.ids_in_flight.is_some() { self.processor.fork_in_session() } else { self.processor.fork() }
    }

    /// Reserves the ids of the requests of a post. Returns also those of them that other posts have reserved.
    pub(super) fn reserve_ids<'a>(
        self: &Arc<Self>,
        ids: impl Iterator<Item = &'a str>,
    ) -> (ReservedIds, RequestIdMap<()>) {
        let (mut reserved, mut taken) = (ReservedIds::empty(self), RequestIdMap::default());
        let Some(all) = &self.ids_in_flight else { return (reserved, taken) };
        let mut all = all.lock();
        let (of_others, own): (Vec<_>, Vec<_>) = ids.partition(|id| all.contains(id));
        of_others.into_iter().for_each(|id| taken.insert(id, ()));
        for id in own {
            // A batch may repeat an id.
            if !all.contains(id) {
                all.insert(id, ());
                reserved.ids.push(id.into());
            }
        }
        (reserved, taken)
    }

    /// Keeps a post whose stream ended before the response.
    pub(super) fn keep_unanswered(&self, processor: Arc<McpProcessor>) {
        let mut unanswered = self.unanswered_posts.lock();
        if unanswered.len() >= MAX_UNANSWERED_POSTS {
            unanswered.remove(0);
        }
        unanswered.push(processor);
    }

    /// Returns the processor of the unanswered post that waits for the response with this id.
    pub(super) fn processor_awaiting(&self, raw_id: &str) -> Option<Arc<McpProcessor>> {
        let mut unanswered = self.unanswered_posts.lock();
        unanswered.retain(|processor| processor.pending_count() > 0);
        unanswered.iter().find(|processor| processor.is_awaiting(raw_id)).map(Arc::clone)
    }
}

impl ReservedIds {
    /// Releases the ids; called before the client gets the responses, because it may reuse them at once.
    pub(super) fn release(&mut self) {
        let Some(all) = &self.session.ids_in_flight else { return };
        let mut all = all.lock();
        for id in self.ids.drain(..) {
            all.take(&id);
        }
    }

    /// Creates an empty reservation.
    pub(super) fn empty(session: &Arc<ProxySession>) -> Self {
        Self { session: Arc::clone(session), ids: Vec::new() }
    }
}

impl Drop for ReservedIds {
    fn drop(&mut self) {
        self.release();
    }
}

/// Longest wait of the first request for the response to the stream request.
const STREAM_ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// Longest wait for the stream request: a client on the same machine needs a few milliseconds.
const STREAM_REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// State of the opening of a session.
#[derive(Default)]
pub(super) struct SessionOpening {
    /// True if the client has sent `initialized`, and no request since.
    is_client_ready: AtomicBool,
    stream_requested: OneShotFlag,
    stream_answered: OneShotFlag,
}

impl SessionOpening {
    /// Records that the client has sent `initialized`.
    pub(super) fn mark_client_ready(&self) {
        self.is_client_ready.store(true, Ordering::Release);
    }

    /// Records a request for the listening stream, which is answered when the guard is dropped.
    pub(super) fn begin_stream_request(&self) -> SetOnDrop<'_> {
        self.stream_requested.set();
        SetOnDrop(&self.stream_answered)
    }

    /// Waits for the listening stream. Returns at once except for the first request after
    /// [`mark_client_ready`](Self::mark_client_ready).
    pub(super) async fn wait_for_stream(&self) {
        if !self.is_client_ready.swap(false, Ordering::AcqRel) {
            return;
        }
        if timeout(STREAM_REQUEST_TIMEOUT, self.stream_requested.wait()).await.is_ok() {
            let _ = timeout(STREAM_ANSWER_TIMEOUT, self.stream_answered.wait()).await;
        }
    }
}
