//! Requests that wait for a response of the server, and lists of tools whose pages the gateway collects.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Instant;

use portion_core::paging::PagingArgument;
use portion_core::view::Request;
use portion_gateway::call::{Caller, ReuseKey};
use portion_policy::client::ClientProfile;
use portion_policy::endpoint::Endpoint;

use super::super::envelope::{RequestIdMap, id_key};
use super::super::result::ResultShape;
use super::request_timer::RequestTimer;
use crate::once::OneShotFlag;

/// Largest number of pending requests per session: each costs about a kilobyte.
pub(super) const MAX_PENDING: usize = 10_000;

/// Largest number of cancelled ids kept.
const MAX_CANCELLED_IDS: usize = 256;

/// Largest number of pages of a list.
const MAX_LIST_PAGES: usize = 1_000;

/// A pending request.
pub(super) struct PendingRequest {
    /// Id as written.
    pub id: String,
    /// True for a revision whose results have a `resultType`.
    pub is_stateless: bool,
    pub kind: PendingKind,
    /// Timer; `None` if the request may wait without limit.
    pub timer: Option<RequestTimer>,
}

/// Handling of the response.
pub(super) enum PendingKind {
    AdvertiseTools {
        method: &'static str,
    },
    /// A request of the client for the tools. `meta`: members of `_meta` that requests for further pages need.
    ListTools {
        meta: String,
        client: Option<&'static ClientProfile>,
    },
    /// A result with content, or an error in its place, for a caller with the policy of the request time.
    /// `is_nested`: the content is a member of the response's result.
    Content {
        shape: ResultShape,
        caller: Box<Caller>,
        endpoint: Box<Endpoint>,
        request: Box<Request>,
        reuse_key: Option<ReuseKey>,
        /// Arguments of the call that page the tool's results.
        paging: Arc<[PagingArgument]>,
        is_nested: bool,
    },
    /// Not sent yet: waits until the tools are known.
    QueuedCall {
        line: String,
    },
    /// A call that is answered in a task. `is_received`: its result was received, and is queried; otherwise its pages are
    /// fetched.
    TaskCall {
        is_received: bool,
        /// Set when the client cancels the call.
        cancelled: Arc<OneShotFlag>,
    },
    /// The gateway's request for a page of the tools. Its response is not forwarded.
    ToolList(ToolListing),
    Relay {
        method: Box<str>,
    },
}

impl PendingRequest {
    fn is_queued(&self) -> bool {
        matches!(self.kind, PendingKind::QueuedCall { .. })
    }
}

impl PendingKind {
    /// Returns the handling of content that is requested without controls.
    pub(super) fn content(shape: ResultShape, caller: Caller, endpoint: Endpoint, is_nested: bool) -> Self {
        Self::Content {
            shape,
            caller: Box::new(caller),
            endpoint: Box::new(endpoint),
            request: Box::default(),
            reuse_key: None,
            paging: Arc::default(),
            is_nested,
        }
    }

    /// Returns the handling of the result of a tool.
    pub(super) fn tool_result(
        (caller, endpoint): (Caller, Endpoint),
        request: Request,
        reuse_key: Option<ReuseKey>,
        paging: Arc<[PagingArgument]>,
    ) -> Self {
        let (caller, endpoint, request) = (Box::new(caller), Box::new(endpoint), Box::new(request));
        let shape = ResultShape::Tool;
        Self::Content { shape, caller, endpoint, request, reuse_key, paging, is_nested: false }
    }

    /// Returns the method of the request.
    pub(super) fn method(&self) -> &str {
        match self {
            Self::AdvertiseTools { method } => method,
            Self::ListTools { .. } | Self::ToolList(_) => "tools/list",
            Self::Content { .. } | Self::QueuedCall { .. } | Self::TaskCall { .. } => "tools/call",
            Self::Relay { method } => method,
        }
    }

    /// Returns true if the client expects a tool result.
    pub(super) fn expects_tool_result(&self) -> bool {
        matches!(
            self,
            Self::Content { shape: ResultShape::Tool, is_nested: false, .. }
                | Self::QueuedCall { .. }
                | Self::TaskCall { .. }
        )
    }

    /// Returns true if the server has not received the request itself.
    pub(super) fn is_unsent(&self) -> bool {
        matches!(self, Self::QueuedCall { .. } | Self::TaskCall { .. })
    }

    /// Returns true if a client waits for what the gateway may yet send to the server.
    fn holds_client_request(&self) -> bool {
        let is_list =
            matches!(self, Self::ListTools { .. } | Self::ToolList(ToolListing { client: Some(_), .. }));
        self.is_unsent() || is_list
    }

    /// Returns true if the server has answered the request.
    fn is_received(&self) -> bool {
        matches!(self, Self::TaskCall { is_received: true, .. })
    }

    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Content { endpoint, .. } => Some(endpoint),
            _ => None,
        }
    }
}

/// Handling of a response without a pending request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsolicitedPolicy {
    Drop,
    /// Shape it by the form of the result.
    Shape,
}

/// All pending requests, by id and in order of arrival.
#[derive(Default)]
pub(super) struct PendingRequests {
    requests: BTreeMap<u64, PendingRequest>,
    sequence_by_id: RequestIdMap<u64>,
    last_sequence: u64,
    /// Number of requests of clients that wait for a response that the server does not know of.
    pub(super) held_count: usize,
    /// Lower bound of all deadlines; `None` if all requests may wait without limit.
    next_deadline: Option<Instant>,
    /// Id keys of the last cancelled requests: late responses to them are expected.
    cancelled_ids: VecDeque<String>,
}

impl PendingRequests {
    /// Returns true if a request with this id is pending.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.sequence_by_id.contains(raw_id)
    }

    /// Returns true if no further request can be added.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() >= MAX_PENDING
    }

    /// Adds a request. Returns true if its deadline is the earliest.
    pub(super) fn add(&mut self, request: PendingRequest, now: Instant) -> bool {
        let due = request.timer.as_ref().map(|timer| timer.deadline(now));
        let is_earlier = due.is_some_and(|due| self.next_deadline.is_none_or(|alarm| due < alarm));
        if is_earlier {
            self.next_deadline = due;
        }
        self.last_sequence += 1;
        self.held_count += usize::from(request.kind.holds_client_request());
        self.sequence_by_id.insert(&request.id, self.last_sequence);
        self.requests.insert(self.last_sequence, request);
        is_earlier
    }

    /// Returns the time of the next check for expired requests.
    pub(super) fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        if self.next_deadline.is_some_and(|alarm| alarm <= now) {
            let timers = self.requests.values().filter_map(|request| request.timer.as_ref());
            self.next_deadline = timers.map(|timer| timer.deadline(now)).min();
        }
        self.next_deadline
    }

    /// Takes the expired requests, in order, and records them as cancelled.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<PendingRequest> {
        let is_over =
            |request: &PendingRequest| request.timer.as_ref().is_some_and(|timer| timer.deadline(now) <= now);
        self.ids(is_over).iter().filter_map(|id| self.cancel(id)).collect()
    }

    /// Returns the ids of some requests, in order.
    fn ids(&self, is_meant: impl Fn(&PendingRequest) -> bool) -> Vec<String> {
        let meant = self.requests.values().filter(|request| is_meant(request));
        meant.map(|request| request.id.clone()).collect()
    }

    /// Takes the request that a response belongs to.
    pub(super) fn take(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let request = self.requests.remove(&self.sequence_by_id.take(raw_id)?)?;
        self.held_count -= usize::from(request.kind.holds_client_request());
        Some(request)
    }

    /// Takes the request that a response belongs to, unless it is still queued.
    pub(super) fn take_sent(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let is_held = self
            .sequence_by_id
            .get(raw_id)
            .and_then(|place| self.requests.get(place))
            .is_some_and(|request| request.kind.is_unsent());
        if is_held { None } else { self.take(raw_id) }
    }

    /// Takes a request that is cancelled, and records its id.
    pub(super) fn cancel(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let request = self.take(raw_id)?;
        if self.cancelled_ids.len() >= MAX_CANCELLED_IDS {
            self.cancelled_ids.pop_front();
        }
        self.cancelled_ids.push_back(id_key(&request.id));
        Some(request)
    }

    /// Returns true if the response belongs to a cancelled request, and removes the record of it.
    pub(super) fn forget_cancelled(&mut self, raw_id: &str) -> bool {
        let key = id_key(raw_id);
        let at = self.cancelled_ids.iter().position(|cancelled| *cancelled == key);
        at.and_then(|at| self.cancelled_ids.remove(at)).is_some()
    }

    /// Takes the queued calls, in order.
    pub(super) fn take_queued(&mut self) -> Vec<PendingRequest> {
        self.ids(PendingRequest::is_queued).iter().filter_map(|id| self.take(id)).collect()
    }

    /// Takes the first queued call.
    pub(super) fn take_first_queued(&mut self) -> Option<PendingRequest> {
        let id = self.requests.values().find(|request| request.is_queued())?.id.clone();
        self.take(&id)
    }

    /// Takes all requests of the client that wait for the server, in order, and removes those of the gateway.
    pub(super) fn take_all(&mut self) -> Vec<PendingRequest> {
        let is_received = |(_, request): &(u64, PendingRequest)| request.kind.is_received();
        let (received, all): (Vec<_>, Vec<_>) =
            std::mem::take(self).requests.into_iter().partition(is_received);
        for (_, request) in received {
            // It has no timer.
            let _ = self.add(request, Instant::now());
        }
        all.into_iter().map(|(_, request)| request).filter(|request| !is_own(request)).collect()
    }

    /// Returns true if a result that was received is queried.
    pub(super) fn has_received(&self) -> bool {
        self.requests.values().any(|request| request.kind.is_received())
    }

    /// Takes all requests of the client, in order. The gateway's own go on.
    pub(super) fn take_all_of_client(&mut self) -> Vec<PendingRequest> {
        self.ids(|request| !is_own(request)).iter().filter_map(|id| self.take(id)).collect()
    }

    /// Returns true if the gateway's own request for the tools is pending.
    pub(super) fn is_listing_tools(&self) -> bool {
        self.requests.values().any(is_own)
    }

    /// Returns the number of pending client requests.
    pub(super) fn len(&self) -> usize {
        self.requests.len() - usize::from(self.is_listing_tools())
    }

    /// Returns the id of the only request that was sent to the server, if it is one of the client.
    pub(super) fn only_sent_id(&self) -> Option<String> {
        let mut sent = self.requests.values().filter(|request| !request.kind.is_unsent());
        let only = sent.next().filter(|_| sent.next().is_none())?;
        (!matches!(only.kind, PendingKind::ToolList(_))).then(|| only.id.clone())
    }

    /// Returns an id that no pending request has.
    pub(super) fn new_internal_id(&self) -> String {
        let mut n = self.last_sequence;
        loop {
            let id = format!("\"portion:{n}\"");
            if !self.contains(&id) {
                return id;
            }
            n += 1;
        }
    }
}

/// A list of tools of which the gateway requests the next page.
#[derive(Debug, Default)]
pub(super) struct ToolListing {
    /// Members of `_meta` that each request needs.
    pub(super) meta: String,
    /// List of a client; `None` if the gateway itself needs the tools.
    pub(super) client: Option<Box<ClientList>>,
    /// Hashes of the cursors that were followed.
    followed: Vec<u64>,
    /// Time until which pages are requested, from the first request of the gateway.
    pub(super) deadline: Option<Instant>,
}

/// The pages of a client's list that were received.
#[derive(Debug)]
pub(super) struct ClientList {
    /// Response with the first page, with the listings for clients.
    pub(super) response: String,
    /// Listings of the tools of the other pages.
    pub(super) further: Vec<String>,
    /// Size of the listings in bytes.
    pub(super) bytes: usize,
    /// Client that gets the list, if it is known.
    pub(super) client: Option<&'static ClientProfile>,
}

impl ToolListing {
    /// Starts a list.
    pub(super) fn new(meta: String, client: Option<Box<ClientList>>) -> Self {
        Self { meta, client, ..Self::default() }
    }

    /// Records the next page. Returns the reason why no further pages are requested, if there is one.
    pub(super) fn follow(
        &mut self,
        cursor: &str,
        max_bytes: usize,
        now: Instant,
    ) -> Result<(), &'static str> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(cursor);
        if self.followed.contains(&hash) {
            return Err("a cursor repeats");
        }
        if self.followed.len() + 1 >= MAX_LIST_PAGES {
            return Err("it has too many pages");
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err("it takes too long");
        }
        if self.client.as_ref().is_some_and(|list| list.bytes > max_bytes) {
            return Err("it is larger than upstreamMessageLimit");
        }
        self.followed.push(hash);
        Ok(())
    }
}

/// Returns true for a request that the gateway itself needs.
fn is_own(request: &PendingRequest) -> bool {
    matches!(request.kind, PendingKind::ToolList(ToolListing { client: None, .. }))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{PendingKind, PendingRequest, PendingRequests, ToolListing};

    fn check(ids: &[&str], answered: &str, expect: Option<&str>) {
        let mut pending = PendingRequests::default();
        for id in ids {
            let what = PendingKind::Relay { method: "ping".into() };
            pending.add(
                PendingRequest { id: (*id).to_owned(), is_stateless: false, kind: what, timer: None },
                Instant::now(),
            );
        }
        assert_eq!(pending.take(answered).map(|request| request.id).as_deref(), expect, "{answered}");
        assert_eq!(pending.len(), ids.len() - usize::from(expect.is_some()));
        assert!(pending.take(answered).is_none() || ids.len() > 1);
    }

    #[test]
    fn a_response_finds_its_request() {
        check(&["1", "\"1\""], "1", Some("1"));
        check(&["1", "\"1\""], "\"1\"", Some("\"1\""));
        check(&["\"é\""], "\"\\u00e9\"", Some("\"é\""));
        check(&["12345678901234567890"], "12345678901234567000", Some("12345678901234567890"));
        check(&["12345678901234567890", "12345678901234567891"], "12345678901234567000", None);
        check(&["null"], "null", Some("null"));
        check(&["1"], "2", None);
        check(&["1.0"], "1", Some("1.0"));
        check(&["-0"], "0", Some("-0"));
        check(&["-0", "0"], "0", Some("0"));
    }

    #[test]
    fn only_a_single_request_of_the_client_is_the_only_one() {
        let mut pending = PendingRequests::default();
        let mut add = |id: &str, kind: PendingKind| {
            let request = PendingRequest { id: id.to_owned(), is_stateless: false, kind, timer: None };
            pending.add(request, Instant::now());
            pending.only_sent_id()
        };
        let relay = || PendingKind::Relay { method: "ping".into() };
        assert_eq!(add("\"q\"", PendingKind::QueuedCall { line: String::new() }), None);
        assert_eq!(add("1", relay()).as_deref(), Some("1"));
        assert_eq!(add("2", relay()), None);
        pending.take("1");
        pending.take("2");
        let listing = PendingKind::ToolList(ToolListing::default());
        pending.add(
            PendingRequest { id: "3".to_owned(), is_stateless: false, kind: listing, timer: None },
            Instant::now(),
        );
        assert_eq!(pending.only_sent_id(), None);
    }
}
