//! Payloads, endpoints and requests that several test suites use.

pub(crate) mod lines;
pub(crate) mod trial;

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_gateway::call::{Caller, Reply, SnapshotQuery};
use portion_gateway::gateway::Gateway;
use portion_policy::endpoint::{Endpoint, EndpointKind};

/// Returns a payload of one text.
pub(crate) fn text(text: impl Into<String>) -> Payload {
    let block = Block::new("/content/0/text", Content::Text(text.into()));
    Payload { blocks: vec![block], ..Payload::default() }
}

/// Returns a list of bookings.
pub(crate) fn bookings(count: usize) -> Payload {
    let items: Vec<String> = (0..count)
        .map(|n| format!("{{\"id\":{n},\"status\":\"confirmed\",\"guest\":{{\"name\":\"Guest {n}\"}}}}"))
        .collect();
    text(format!("[{}]", items.join(",")))
}

/// Returns an object with keys `k0`, `k1` …, each of which can be viewed by its path.
pub(crate) fn drawers(count: usize) -> Snapshot {
    let keys: Vec<String> = (0..count).map(|n| format!("\"k{n}\":{{\"a\":{n}}}")).collect();
    capture(text(format!("{{{}}}", keys.join(","))))
}

/// Returns the view of one key of [`drawers`].
pub(crate) fn drawer(snapshot: &Snapshot, n: usize) -> View {
    let request = Request { path: Some(format!("/k{n}")), ..Request::default() };
    resolve(snapshot, None, &request, &Policy::default()).expect("the key is there").view
}

/// Returns a read-only tool.
pub(crate) fn list_bookings() -> Endpoint {
    Endpoint { name: "list_bookings".into(), kind: EndpointKind::Tool, read_only: true, idempotent: false }
}

/// Returns a tool with side effects.
pub(crate) fn create_order() -> Endpoint {
    Endpoint { name: "create_order".into(), kind: EndpointKind::Tool, read_only: false, idempotent: false }
}

/// Answers a follow-up.
pub(crate) async fn follow_up(
    gateway: &Gateway,
    caller: Caller,
    endpoint: Option<Endpoint>,
    request: Request,
) -> Reply {
    gateway.open_cursor(caller, endpoint, request.cursor.clone()).await.answer(request).await
}

/// Answers a query.
pub(crate) async fn query(gateway: &Gateway, caller: Caller, request: Request, ask: SnapshotQuery) -> Reply {
    gateway.open_cursor(caller, None, request.cursor.clone()).await.query(request, ask).await
}
