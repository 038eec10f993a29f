//! Payloads, endpoints and requests that several test suites use.

pub(crate) mod lines;
pub(crate) mod trial;

use portion_core::cursor::Position;
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, Context, FirstReply, FollowUpCall};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Query, Request, View, resolve};
use portion_gateway::call::{Caller, Reply, SnapshotQuery};
use portion_gateway::gateway::Gateway;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use portion_tokens::BYTE_COUNTER;

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
    requested(snapshot, &Request { path: Some(format!("/k{n}")), ..Request::default() })
}

/// Returns the view of a request before its first reply.
pub(crate) fn requested(snapshot: &Snapshot, request: &Request) -> View {
    resolve(snapshot, None, request, &Policy::default()).expect("a valid request").view
}

/// Returns the view of a request with the pagination of its first reply, which has `page_size` items.
pub(crate) fn paginated(snapshot: &Snapshot, request: &Request, page_size: usize) -> View {
    let policy = Policy { default_page_size: page_size, ..Policy::default() };
    let resolved = resolve(snapshot, None, request, &policy).expect("a valid request");
    let issue_cursor = |_: Position| None;
    let cx = Context {
        policy: &policy,
        counter: BYTE_COUNTER,
        issue_cursor: &issue_cursor,
        read_call: FollowUpCall::Tool("portion_read"),
        query_tool: None,
        read_uri: None,
    };
    let FirstReply::Portion(portion) = render::first_reply(snapshot, &resolved, &cx) else {
        panic!("it fits");
    };
    render::view_with_pagination(resolved.view, &portion)
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
    follow_up(gateway, caller, None, asking(request, ask)).await
}

/// Returns a request with a query.
pub(crate) fn asking(request: Request, ask: SnapshotQuery) -> Request {
    let (query, fields) = match ask {
        SnapshotQuery::Sql { sql, params, with } => (Query { params, with, ..Query::from_sql(sql) }, None),
        SnapshotQuery::Find { pattern, context, fields, keys } => {
            (Query { context, keys, ..Query::from_pattern(pattern) }, fields)
        }
    };
    Request { query, fields: fields.or(request.fields), ..request }
}
