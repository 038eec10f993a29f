//! Render options apply to every reply: the first one and its follow-ups.

use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_core::policy::{Policy, RenderOptions};
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Reply};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::MemoryStore;
use portion_tokens::Tokenizer;

use crate::samples::{follow_up, list_bookings, text};

/// Returns the shown content, and the cursor to the next page.
fn shown(reply: Reply) -> (serde_json::Value, Option<String>) {
    let Reply::Portion(portion) = reply else { panic!("expected a portion: {reply:?}") };
    let notice: serde_json::Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
    let shown = serde_json::from_str(portion.pieces()[0].body.as_str()).expect("JSON stays JSON");
    (shown, notice["nextCursor"].as_str().map(str::to_owned))
}

#[tokio::test]
async fn configured_list_paths_and_orders_apply() {
    let manner = RenderOptions {
        list_path: Some("data.found".into()),
        default_sort: Some("id desc".into()),
        ..RenderOptions::default()
    };
    let terms = EffectivePolicy::new(
        Policy { render_options: manner, ..Policy::default() },
        Tokenizer::O200k.counter(),
        None,
    );
    let gateway = Gateway::new(GatewayParts::new(
        EndpointRules::fixed(terms),
        Arc::new(MemoryStore::default()),
        [7; 32],
    ));
    let found: Vec<String> =
        (0..80).map(|i| format!(r#"{{"id":{i},"name":"Name {i}","debug":"d{i}"}}"#)).collect();
    let words = "a word ".repeat(3_000);
    let payload = text(format!(r#"{{"words":["{words}"],"data":{{"found":[{}]}}}}"#, found.join(",")));
    let (scope, rule) = (Scope::from_principal("ada"), Arc::clone(gateway.rules().default_rule()));
    let caller = Caller { query_tool: None, ..Caller::new(scope, ClientSession::new_unique(), rule) };
    let (endpoint, request) = (Some(list_bookings()), Request::default());
    let call = Call { caller: caller.clone(), endpoint: endpoint.clone(), payload, request, reuse: None };
    let (page, next) = shown(gateway.answer(call).await);
    let first = serde_json::json!({"id": 79, "name": "Name 79"});
    assert_eq!(page["data"]["found"][0], first);
    let request = Request { cursor: next, ..Request::default() };
    let (page, next) = shown(follow_up(&gateway, caller, endpoint, request).await);
    assert_eq!((&page["data"]["found"][29]["id"], next), (&0.into(), None));
}
