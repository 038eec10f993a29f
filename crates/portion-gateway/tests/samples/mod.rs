//! Payloads, endpoints and requests that the suites share.
#![allow(dead_code, reason = "each suite takes what it needs")]

pub(crate) mod lines;
pub(crate) mod trial;

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_gateway::call::{Endpoint, EndpointKind};

/// A payload of one text.
pub(crate) fn text(text: impl Into<String>) -> Payload {
    let block = Block::new("/content/0/text", Content::Text(text.into()));
    Payload { blocks: vec![block], ..Payload::default() }
}

/// A list of bookings.
pub(crate) fn bookings(count: usize) -> Payload {
    let items: Vec<String> = (0..count)
        .map(|n| format!("{{\"id\":{n},\"status\":\"confirmed\",\"guest\":{{\"name\":\"Guest {n}\"}}}}"))
        .collect();
    text(format!("[{}]", items.join(",")))
}

/// An object of so many keys, `k0` and on, each of which can be viewed by its path.
pub(crate) fn drawers(count: usize) -> Snapshot {
    let keys: Vec<String> = (0..count).map(|n| format!("\"k{n}\":{{\"a\":{n}}}")).collect();
    capture(text(format!("{{{}}}", keys.join(","))))
}

/// The view of one key of [`drawers`].
pub(crate) fn drawer(snapshot: &Snapshot, n: usize) -> View {
    let request = Request { path: Some(format!("/k{n}")), ..Request::default() };
    resolve(snapshot, None, &request, &Policy::default()).expect("the key is there").view
}

/// A tool that only reads.
pub(crate) fn list_bookings() -> Endpoint {
    Endpoint { name: "list_bookings".into(), kind: EndpointKind::Tool, read_only: true, idempotent: false }
}

/// A tool that acts.
pub(crate) fn create_order() -> Endpoint {
    Endpoint { name: "create_order".into(), kind: EndpointKind::Tool, read_only: false, idempotent: false }
}
