//! Text in the body of an HTTP response is a string of JSON, and costs what that costs.

use portion_core::cursor::{CursorTarget, Keyring, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{Context, FirstReply, FollowUpCall, first_reply};
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;
use serde_json::Value;

/// Returns the tokens of the body that is made from the reply, and those that are charged.
fn body_tokens(text: &str, controls: &[(&str, &str)]) -> (usize, usize) {
    let policy = Policy::default();
    let content = Content::Text(text.to_owned());
    let snapshot =
        capture(Payload { blocks: vec![Block::new("/content/0/text", content)], ..Payload::default() });
    let mut request = Request::default();
    for (name, json) in controls {
        request.set_control(name, json, &policy).expect("valid controls");
    }
    let resolved = resolve(&snapshot, None, &request, &policy).expect("it is there");
    let keyring = Keyring::new(&[0; 32]);
    let mint = |position| {
        let target = CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position };
        Some(keyring.sign(&target, &Scope::from_principal("")))
    };
    let counter = Tokenizer::O200k.counter();
    let cx = Context {
        policy: &policy,
        counter,
        issue_cursor: &mint,
        read_call: FollowUpCall::Http("/code"),
        query_tool: None,
        read_uri: None,
    };
    let FirstReply::Portion(portion) = first_reply(&snapshot, &resolved, &cx) else { panic!("it is shaped") };
    let shown = Value::from(portion.pieces()[0].body.as_str()).to_string();
    let notice = portion.separate_notice().expect("a notice");
    (counter.count(&shown) + counter.count(notice), portion.tokens())
}

#[test]
fn a_body_fits_its_budget() {
    let code = "fn main() {\n\tprintln!(\"{:?}\", [\"a\\\\b\", \"\\u{1}\"]);\n}\n\n".repeat(2_000);
    for (controls, budget) in [
        (vec![("raw", "true")], 4_000),
        (vec![("raw", "true"), ("maxTokens", "12000")], 12_000),
        (vec![("startLine", "1"), ("endLine", "5000")], 12_000),
        (vec![], 4_000),
    ] {
        let (sent, charged) = body_tokens(&code, &controls);
        assert!(sent <= charged && charged <= budget, "{controls:?}: {sent} of {charged}");
    }
}
