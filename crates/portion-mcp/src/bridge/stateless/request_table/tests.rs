use std::time::Instant;

use portion_core::cursor::Scope;
use proptest::prelude::*;
use tokio::sync::mpsc;

use super::{Delivery, RequestTable};
use crate::mcp::ParsedBatch;

const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn table() -> RequestTable {
    RequestTable::new(Instant::now())
}

/// Posts a message of a principal. Returns the id of the post and the message on the link.
fn posted(table: &mut RequestTable, principal: &str, text: &str) -> (u64, String) {
    let batch = ParsedBatch::parse(text).expect("a message");
    let (sender, _) = mpsc::channel(1);
    let post = table
        .register_post(sender, Scope::from_principal(principal), &batch.messages[0])
        .expect("it is open");
    (post, String::from_utf8(table.rewrite_outbound(post, text.into())).expect("text"))
}

fn inward(table: &mut RequestTable, text: &str) -> Option<Delivery> {
    let batch = ParsedBatch::parse(text).expect("a message");
    table.rewrite_inbound(text, &batch.messages[0])
}

fn check(table: &mut RequestTable, text: &str, expect: Option<(&[u64], &str)>) {
    let got = inward(table, text).map(|delivery| (delivery.post_ids, delivery.text));
    assert_eq!(got, expect.map(|(posts, text)| (posts.to_vec(), text.to_owned())), "{text}");
}

#[test]
fn each_client_gets_its_own_messages_with_its_own_ids() {
    let mut table = table();
    let ask = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen","params":{{"_meta":{{{VERSION},"progressToken" : 1.0}}}}}}"#
    );
    let (a, sent_a) = posted(&mut table, "a", &ask);
    let (b, sent_b) = posted(&mut table, "b", &ask);
    assert_eq!((a, b), (1, 3));
    assert_eq!(sent_a, ask.replace("\"x\"", "2").replace("1.0", "2"));
    assert_eq!(sent_b, ask.replace("\"x\"", "4").replace("1.0", "4"));
    let named = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#)
    };
    check(&mut table, &named("4"), Some((&[b], &named("\"x\""))));
    check(&mut table, &named("4.0"), Some((&[b], &named("\"x\""))));
    check(&mut table, &named("5"), None);
    let progress = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token}}}}}"#
        )
    };
    check(&mut table, &progress("2"), Some((&[a], &progress("1.0"))));
    let ended =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#);
    check(&mut table, &ended("2"), Some((&[a], &ended("\"x\""))));
    check(&mut table, &ended("2"), None);
    let cancelled = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };
    let delivery = inward(&mut table, &cancelled("4")).expect("it waits");
    assert_eq!((delivery.text, delivery.end_reason.is_some()), (cancelled("\"x\""), true));
}

#[test]
fn logs_go_to_subscribers_unless_there_are_several_principals() {
    let mut table = table();
    let quiet = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{{VERSION}}}}}}}"#);
    let loud = quiet.replace(VERSION, &format!(r#"{VERSION},"io.modelcontextprotocol/logLevel":"info""#));
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    check(&mut table, log, Some((&[], log)));
    posted(&mut table, "a", &quiet);
    let (a, _) = posted(&mut table, "a", &loud);
    check(&mut table, log, Some((&[a], log)));
    posted(&mut table, "b", &loud);
    check(&mut table, log, Some((&[], log)));
}

#[test]
fn a_client_that_leaves_cancels_its_requests_and_gets_no_messages() {
    let mut table = table();
    let (call, sent) = posted(&mut table, "a", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
    let (probe, _) = posted(&mut table, "a", r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
    assert_eq!(table.idle_since(), None);
    assert!(sent.contains(r#""id":2,"#));
    assert_eq!(table.remove_post(call, Instant::now()), [2]);
    assert!(table.remove_post(probe, Instant::now()).is_empty(), "this one may not be cancelled");
    check(&mut table, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, None);
    assert!(table.idle_since().is_some());
    table.close("over");
    let (sender, _) = mpsc::channel(1);
    let batch = ParsedBatch::parse(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).expect("a message");
    assert!(table.register_post(sender, Scope::from_principal("a"), &batch.messages[0]).is_none());
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[1-9][0-9]{0,24}",
        "\"[a-z\u{e9} 0-9]{0,9}\"",
        "[1-9]\\.[0-9]e[1-9]",
        Just("\"\\u00e9\"".to_owned())
    ]
}

proptest! {
    /// With any ids, each client gets its own responses, with the bytes of its own ids.
    #[test]
    fn ids_keep_their_bytes(requests in prop::collection::vec((id(), id()), 1..20), turn in any::<prop::sample::Index>()) {
        let mut table = table();
        let mut sent = Vec::new();
        for (id, token) in &requests {
            let params = format!(r#"{{ "a":1e400,"_meta":{{"progressToken":{token}}}}}"#);
            let text = format!(r#" {{"jsonrpc":"2.0", "id":{id},"method":"x","params":{params}}}"#);
            let (post, onward) = posted(&mut table, "a", &text);
            let batch = ParsedBatch::parse(&onward).expect("a message");
            let link_id = batch.messages[0].id().to_owned();
            prop_assert_eq!(&onward, &text.replace(&format!("\"id\":{id}"), &format!("\"id\":{link_id}")).replace(&format!("Token\":{token}"), &format!("Token\":{link_id}")));
            sent.push((post, link_id, id, token));
        }
        sent.rotate_left(turn.index(requests.len()));
        for (post, link_id, id, token) in sent {
            let progress = |token: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken": {token} }} }}"#);
            check(&mut table, &progress(&link_id), Some((&[post], &progress(token))));
            let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","result":{{"id":{link_id},"n":1.50}} , "id" : {id}}}"#);
            check(&mut table, &answer(&link_id), Some((&[post], &answer(id))));
        }
    }
}

#[test]
fn a_notification_after_its_caller_has_left_goes_to_no_other_caller() {
    let untargeted = [
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"secret of a"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://secret"}}"#,
    ];
    let meta = format!(r#"{{"_meta":{{{VERSION},"io.modelcontextprotocol/logLevel":"info"}}}}"#);
    let ask = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{meta}}}"#);
    let mut table = table();
    let (first, _) = posted(&mut table, "a", &ask);
    untargeted.iter().for_each(|text| check(&mut table, text, Some((&[first], text))));
    table.remove_post(first, Instant::now());
    let (second, _) = posted(&mut table, "b", &ask);
    untargeted.iter().for_each(|text| check(&mut table, text, Some((&[], text))));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    check(&mut table, changed, Some((&[second], changed)));
}

#[test]
fn only_a_single_request_of_a_single_principal_is_the_only_one() {
    let mut table = table();
    let ask = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{{"_meta":{{{VERSION}}}}}}}"#)
    };
    assert_eq!(table.only_link_id(), None);
    posted(&mut table, "a", &ask("subscriptions/listen"));
    assert_eq!(table.only_link_id(), None, "a subscription is not answered");
    let (post, _) = posted(&mut table, "a", &ask("tools/call"));
    assert_eq!(table.only_link_id().as_deref(), Some("4"));
    posted(&mut table, "a", &ask("tools/call"));
    assert_eq!(table.only_link_id(), None);
    table.remove_post(post, Instant::now());
    assert_eq!(table.only_link_id().as_deref(), Some("6"));
    table.add_principal(Scope::from_principal("b"));
    assert_eq!(table.only_link_id(), None);
}
