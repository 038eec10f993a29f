//! Tests of requests by example: every control, every kind of path, every error.

mod condensed;
mod controls;
mod fields;
mod paths;
mod quoted;
mod render_options;
mod repeated;
mod repeated_blocks;
mod resolving;
mod served_pages;
mod shapes;
mod upstream;
mod warnings;

use portion_core::cursor::{CursorTarget, Keyring, Scope};
use portion_core::policy::Policy;
use portion_core::render::{Context, FirstReply, first_reply};
use portion_core::snapshot::Snapshot;
use portion_core::view::ResolvedRequest;
use portion_tokens::Tokenizer;

/// Returns the first reply to a resolved request.
fn reply(snapshot: &Snapshot, resolved: &ResolvedRequest, policy: &Policy) -> FirstReply {
    let keyring = Keyring::new(&[0; 32]);
    let mint = |position| {
        let pointer = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(keyring.sign(&pointer, &Scope::from_principal("")))
    };
    let cx = Context {
        policy,
        counter: Tokenizer::Chars4.counter(),
        issue_cursor: &mint,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    };
    first_reply(snapshot, resolved, &cx)
}
