//! Tests of `portion_query`: it never reaches the server, unless the server has a tool of that name.

use super::super::super::catalog::{ListingOptions, ListingStyle};
use super::{LIST, check, client, cursor, lane_listing, lane_with_tools, server};
use crate::frame::Frame;
use crate::mcp::McpProcessor;
use crate::relay::MessageProcessor as _;
use portion_core::scan::quote;

fn asked(lane: &McpProcessor, name: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    let out =
        client(lane, &format!(r#"{{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{params}}}"#));
    assert_eq!(out.len(), 1, "{out:?}");
    out[0].clone()
}

#[test]
fn queries_are_answered_without_the_server() {
    let lane = lane_with_tools();
    let cursor = cursor(&lane, "{}");
    let check = |question: &str, expect: &[&str]| {
        let out = asked(&lane, "portion_query", &format!(r#"{{"cursor":"{cursor}",{question}}}"#));
        let beginning = r#"< {"jsonrpc":"2.0","id":"q","result":{"content":[{"type":"text","text":""#;
        assert!(out.starts_with(beginning), "{out}");
        for part in expect {
            assert!(out.contains(part), "{part} is not in {out}");
        }
    };
    check(r#""sql":"SELECT count(*) AS n FROM lines""#, &[r#"[{\"n\":5000}]"#, r#""kind":"query""#]);
    check(r#""find":4321"#, &[r#"\"line\":4322"#, r#""matches":1"#]);
    let params = r#""sql":"SELECT number FROM lines WHERE text = :t","params":{"t":"line 7"}"#;
    check(params, &[r#"[{\"number\":8}]"#]);
    check(r#""sql":7"#, &["query_invalid", r#""isError":true"#]);
    check(r#""sql":"SELECT nope FROM lines""#, &["query_invalid", r#"\"cursor\":\""#, r#""isError":true"#]);
    assert!(asked(&lane, "portion_query", r#"{"cursor":"x","sql":"SELECT 1"}"#).contains("cursor_invalid"));
    assert!(asked(&lane, "portion_query", "{}").contains("query_invalid"));
    assert_eq!(lane.pending_count(), 0);
}

#[test]
fn an_unlisted_query_tool_belongs_to_the_server() {
    let lane = lane_listing(&ListingOptions { query_tool: None, ..ListingOptions::default() });
    let list = r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    check(&lane, &[(list, &["="])]);
    let listed = server(&lane, &LIST[2..]);
    assert!(listed[0].contains("portion_read") && !listed[0].contains("portion_query"), "{listed:?}");
    let call = r#"{"cursor":"x","sql":"SELECT 1"}"#;
    assert!(asked(&lane, "portion_query", call).starts_with("> "), "whatever it is, it is the server's");
}

#[test]
fn a_renamed_tool_answers_to_its_name_in_every_style() {
    for style in ListingStyle::ALL {
        let query_tool = Some("ask".into());
        let lane = lane_listing(&ListingOptions { style, query_tool, ..ListingOptions::default() });
        check(&lane, &[(r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#, &["="])]);
        assert!(server(&lane, &LIST[2..])[0].contains(r#""name":"ask""#));
        let cursor = cursor(&lane, "{}");
        let question = format!(r#"{{"cursor":"{cursor}","sql":"SELECT max(number) AS n FROM lines"}}"#);
        assert!(asked(&lane, "ask", &question).contains(r#"[{\"n\":5000}]"#));
    }
}

#[test]
fn only_queries_are_deferred() {
    let (lane, new) = (lane_with_tools(), super::lane());
    let call = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
    };
    let check = |lane: &McpProcessor, line: &str, expect: bool| {
        assert_eq!(lane.is_deferred(&Frame::Message(line.into())), expect, "{line}");
    };
    check(&lane, &call("portion_query"), true);
    check(&new, &call("portion_query"), false);
    check(&lane, &call("portion_read"), false);
    check(&lane, &call("portion_query_2"), false);
    check(&lane, &format!("[{}]", call("portion_query")), false);
    check(&lane, &call("portion_query").replace("tools/call", "prompts/get"), false);
    check(&lane, &call("portion_query").replace(r#""id":1,"#, ""), false);
    check(&lane, &call("list_x").replace("1,", r#""portion_query","#), false);
    check(&lane, "portion_query", false);
}

/// Builds a query with this id as a frame.
fn question(lane: &McpProcessor, id: &str, what: &str) -> Frame {
    let cursor = cursor(lane, "{}");
    let arguments = format!(r#"{{"cursor":"{cursor}",{what}}}"#);
    let params = format!(r#"{{"name":"portion_query","arguments":{arguments}}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    Frame::Message(message.into_bytes())
}

fn cancelling(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

#[test]
fn a_queued_query_can_be_cancelled() {
    let lane = lane_with_tools();
    let asked = question(&lane, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(lane.is_deferred(&asked));
    assert!(client(&lane, &cancelling("7")).is_empty(), "the server has never heard of it");
    assert!(super::run(lane.process_deferred(asked)).is_empty(), "nobody wants an answer");
    let asked = question(&lane, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(lane.is_deferred(&asked));
    assert!(super::sent(super::run(lane.process_deferred(asked)))[0].contains(r#"[{\"n\":1}]"#));
}

#[test]
fn a_running_query_can_be_cancelled() {
    let lane = std::sync::Arc::new(lane_with_tools());
    let sql = format!(r#""sql":{}"#, quote(ENDLESS));
    let asked = question(&lane, "7", &sql);
    assert!(lane.is_deferred(&asked));
    let begun = std::time::Instant::now();
    let asking = std::sync::Arc::clone(&lane);
    let answering = std::thread::spawn(move || super::run(asking.process_deferred(asked)));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(client(&lane, &cancelling("7")).is_empty());
    assert!(answering.join().expect("it answers").is_empty());
    let limit = portion_sql::QueryLimits::default().timeout;
    assert!(begun.elapsed() < limit, "it did not go on to its deadline: {:?}", begun.elapsed());
}

#[test]
fn a_pending_id_is_refused_for_queries_too() {
    let lane = lane_with_tools();
    let asked = question(&lane, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(lane.is_deferred(&asked));
    let again = question(&lane, "7", r#""sql":"SELECT 2 AS n""#);
    assert!(!lane.is_deferred(&again));
    for said in [again, Frame::Message(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_vec())] {
        let out = super::sent(super::run(lane.process_client_frame(said)));
        assert!(out[0].starts_with("< ") && out[0].contains("already waiting"), "{out:?}");
    }
    assert!(super::sent(super::run(lane.process_deferred(asked)))[0].contains(r#"[{\"n\":1}]"#));
}

#[test]
fn an_invalid_request_gets_an_error_and_does_not_reach_the_server() {
    let lane = lane_with_tools();
    for said in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        "[]",
    ] {
        let out = client(&lane, said);
        assert_eq!(out.len(), 1, "{out:?}");
        assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600"#), "{out:?}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(client(&lane, ping), [format!("> {ping}")]);
    assert!(client(&lane, ping)[0].contains("already waiting"));
}
