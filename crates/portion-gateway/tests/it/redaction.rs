//! Secrets are in no reply: neither small ones, nor follow-ups, nor raw bytes.

use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_core::snapshot::STRUCTURED_CONTENT;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Reply, SnapshotQuery};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::MemoryStore;
use portion_tokens::Tokenizer;
use serde_json::json;

use crate::samples::{follow_up, list_bookings, query, text};

fn gateway() -> Gateway {
    let mut terms = EffectivePolicy::new(Policy::default(), Tokenizer::O200k.counter(), None);
    terms.redact = Some(Arc::new(RedactionRules::default_secrets()));
    let rules = EndpointRules::fixed(terms);
    Gateway::new(GatewayParts::new(rules, Arc::new(MemoryStore::default()), [7; 32]))
}

fn caller(gateway: &Gateway) -> Caller {
    let (scope, rule) = (Scope::from_principal("ada"), Arc::clone(gateway.rules().default_rule()));
    Caller { query_tool: None, ..Caller::new(scope, ClientSession::new_unique(), rule) }
}

async fn fresh(gateway: &Gateway, payload: Payload) -> Reply {
    let (caller, endpoint) = (caller(gateway), Some(list_bookings()));
    gateway.answer(Call { caller, endpoint, payload, request: Request::default(), reuse: None }).await
}

/// Returns the shown content and the notice, asserting that neither contains a secret.
fn shown(reply: Reply) -> (String, serde_json::Value) {
    let Reply::Portion(portion) = reply else { panic!("expected a portion: {reply:?}") };
    let pieces: Vec<&str> = portion.pieces().iter().map(|piece| piece.body.as_str()).collect();
    let structured = portion.structured().map(ToString::to_string).unwrap_or_default();
    let output = format!("{}{structured}{}", pieces.join("\n"), portion.notice());
    assert!(!output.contains("hunter"), "{output}");
    (output, serde_json::from_str(portion.notice()).expect("a notice is JSON"))
}

#[tokio::test]
async fn small_payloads_are_redacted() {
    let json = r#"{"id":1,"doorCode":"hunter","pin":1234}"#;
    let structured = Block::new(STRUCTURED_CONTENT, Content::Structured(json.into()));
    let mut payload = text(json);
    payload.blocks.push(structured);
    let (output, notice) = shown(fresh(&gateway(), payload).await);
    assert!(output.contains(r#"{"id":1,"doorCode":"[redacted]"}"#), "{output}");
    assert_eq!(notice["meta"]["redacted"], json!(["doorCode", "pin"]));
}

#[tokio::test]
async fn follow_ups_and_raw_bytes_are_redacted() {
    let gateway = gateway();
    let item = |n: usize| {
        format!("{{\"id\":{n},\"name\":\"Flat {n}\",\"access\":{{\"wifiPassword\":\"hunter{n}\"}}}}")
    };
    let list = format!("[{}]", (0..300).map(item).collect::<Vec<_>>().join(","));
    let (_, notice) = shown(fresh(&gateway, text(list)).await);
    let cursor = notice["nextCursor"].as_str().expect("there is more").to_owned();
    let asks: [&[(&str, &str)]; 4] =
        [&[], &[("raw", "true")], &[("path", "\"/7/access\"")], &[("fields", "\"all\""), ("limit", "3")]];
    for controls in asks {
        let mut request = Request { cursor: Some(cursor.clone()), ..Request::default() };
        for (name, value) in controls {
            request.set_control(name, value, &Policy::default()).expect("a control");
        }
        let (output, notice) =
            shown(follow_up(&gateway, caller(&gateway), Some(list_bookings()), request).await);
        assert_eq!(notice["meta"]["redacted"], json!(["access.wifiPassword"]), "{output}");
    }
}

#[tokio::test]
async fn queries_see_redacted_content_only() {
    let gateway = gateway();
    let item = |n: usize| format!("{{\"id\":{n},\"pin\":{},\"wifiPassword\":\"hunter{n}\"}}", 1_000 + n);
    let list = format!("[{}]", (0..300).map(item).collect::<Vec<_>>().join(","));
    let (_, notice) = shown(fresh(&gateway, text(list)).await);
    let cursor = notice["nextCursor"].as_str().expect("there is more").to_owned();
    let find = SnapshotQuery::Find { pattern: "hunter7".into(), context: None, fields: None, keys: false };
    let sql = "SELECT id AS token, \"wifiPassword\" AS w FROM items WHERE id < 3";
    let ask_sql = |sql: &str| SnapshotQuery::Sql { sql: sql.to_owned(), params: vec![], with: Vec::new() };
    for (ask, expect, names) in [
        (find, 0, json!(["pin", "wifiPassword"])),
        (ask_sql(sql), 3, json!(["wifiPassword"])),
        (ask_sql("SELECT item FROM items LIMIT 1"), 1, json!(["pin", "wifiPassword"])),
        (ask_sql("SELECT count(*) AS n, max(id) AS m FROM items"), 0, json!(null)),
    ] {
        let request = Request { cursor: Some(cursor.clone()), ..Request::default() };
        let reply = query(&gateway, caller(&gateway), request, ask).await;
        let Reply::Portion(portion) = &reply else { panic!("expected a portion: {reply:?}") };
        let notice: serde_json::Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
        assert_eq!(notice["meta"]["redacted"], names, "{notice}");
        let pieces: String = portion.pieces().iter().map(|piece| piece.body.as_str()).collect();
        assert_eq!(
            (pieces.contains("hunter"), pieces.matches("[redacted]").count()),
            (false, expect),
            "{pieces}"
        );
    }
}

#[tokio::test]
async fn a_payload_may_disable_redaction() {
    let mut payload = text(r#"{"password":{"type":"string"}}"#);
    payload.redaction_rules = Some(Arc::new(RedactionRules::none()));
    let reply = fresh(&gateway(), payload).await;
    assert!(matches!(reply, Reply::Untouched), "{reply:?}");
}
