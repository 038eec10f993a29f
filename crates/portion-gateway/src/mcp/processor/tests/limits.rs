//! Tests of the limits for a client within one session.

use super::*;
use crate::mcp::processor::pending::MAX_PENDING;

#[test]
fn a_batch_of_too_many_messages_is_one_error_and_is_not_forwarded() {
    let lane = lane();
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let out = client(&lane, &format!("[{}]", vec![one; 1001].join(",")));
    let [answer] = &out[..] else { panic!("one answer: {} messages", out.len()) };
    assert!(answer.starts_with(r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#), "{answer}");
    assert!(answer.contains("at most 1000"), "{answer}");
    assert_eq!(lane.pending_count(), 0);
}

#[test]
fn pending_requests_are_limited() {
    let lane = lane();
    let ask = |id: usize| client(&lane, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/y"}}"#));
    for id in 0..MAX_PENDING {
        assert!(ask(id)[0].starts_with("> "), "{id}");
    }
    let out = ask(MAX_PENDING);
    assert!(out.len() == 1 && out[0].starts_with("< ") && out[0].contains("10000 requests"), "{out:?}");
    // Notifications are forwarded, and a response makes room for a further request.
    check(&lane, &[(r#"c {"jsonrpc":"2.0","method":"notifications/progress"}"#, &["="])]);
    check(&lane, &[(r#"s {"jsonrpc":"2.0","id":7,"result":{}}"#, &["="])]);
    assert!(ask(MAX_PENDING)[0].starts_with("> "));
}

#[test]
fn an_oversized_client_message_is_the_clients_error() {
    let lane = lane();
    let large = Frame::TooLarge { id: Some("5".into()), has_method: true, bytes: 9 };
    let out = sent(run(lane.process_client_frame(large)));
    let says = |text: &str| assert!(out.len() == 1 && out[0].contains(text), "{text}: {out:?}");
    says("clientMessageLimit");
    says("message_too_large");
    assert!(!out[0].contains("upstream"), "{out:?}");
}
