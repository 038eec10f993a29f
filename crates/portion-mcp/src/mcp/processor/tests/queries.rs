//! Tests of `portion_query`: it never reaches the server, unless the server has a tool of that name.

use portion_json::scan::quote;
use portion_policy::endpoint::{ListingOptions, ListingStyle};

use super::super::ClientMessage;
use super::{
    LIST, check, client, cursor, parsed, processor_with_listing, processor_with_tools, run, sent, server,
};
use crate::frame::Frame;
use crate::mcp::McpProcessor;
use crate::message_processor::MessageProcessor as _;

fn query(processor: &McpProcessor, name: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    let out = client(
        processor,
        &format!(r#"{{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{params}}}"#),
    );
    assert_eq!(out.len(), 1, "{out:?}");
    out[0].clone()
}

#[test]
fn queries_are_answered_without_the_server() {
    let processor = processor_with_tools();
    let cursor = cursor(&processor, "{}");
    let check = |question: &str, expect: &[&str]| {
        let out = query(&processor, "portion_query", &format!(r#"{{"cursor":"{cursor}",{question}}}"#));
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
    assert!(
        query(&processor, "portion_query", r#"{"cursor":"x","sql":"SELECT 1"}"#).contains("cursor_invalid")
    );
    assert!(query(&processor, "portion_query", "{}").contains("query_invalid"));
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn an_unlisted_query_tool_belongs_to_the_server() {
    let processor = processor_with_listing(&ListingOptions { query_tool: None, ..ListingOptions::default() });
    let list = r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    check(&processor, &[(list, &["="])]);
    let listed = server(&processor, &LIST[2..]);
    assert!(listed[0].contains("portion_read") && !listed[0].contains("portion_query"), "{listed:?}");
    let call = r#"{"cursor":"x","sql":"SELECT 1"}"#;
    assert!(query(&processor, "portion_query", call).starts_with("> "), "whatever it is, it is the server's");
}

#[test]
fn a_renamed_tool_answers_to_its_name_in_every_style() {
    for style in ListingStyle::ALL {
        let query_tool = Some("ask".into());
        let processor =
            processor_with_listing(&ListingOptions { style, query_tool, ..ListingOptions::default() });
        check(&processor, &[(r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#, &["="])]);
        assert!(server(&processor, &LIST[2..])[0].contains(r#""name":"ask""#));
        let cursor = cursor(&processor, "{}");
        let question = format!(r#"{{"cursor":"{cursor}","sql":"SELECT max(number) AS n FROM lines"}}"#);
        assert!(query(&processor, "ask", &question).contains(r#"[{\"n\":5000}]"#));
    }
}

#[test]
fn only_queries_are_deferred() {
    let (processor, new) = (processor_with_tools(), super::processor());
    let call = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
    };
    let check = |processor: &McpProcessor, line: &str, expect: bool| {
        assert_eq!(processor.is_deferred(&parsed(line)), expect, "{line}");
    };
    check(&processor, &call("portion_query"), true);
    check(&new, &call("portion_query"), false);
    check(&processor, &call("portion_read"), false);
    check(&processor, &call("portion_query_2"), false);
    check(&processor, &format!("[{}]", call("portion_query")), false);
    check(&processor, &call("portion_query").replace("tools/call", "prompts/get"), false);
    check(&processor, &call("portion_query").replace(r#""id":1,"#, ""), false);
    check(&processor, &call("list_x").replace("1,", r#""portion_query","#), false);
    check(&processor, "portion_query", false);
}

/// Builds a query with this id as a message.
fn question(processor: &McpProcessor, id: &str, what: &str) -> ClientMessage {
    let cursor = cursor(processor, "{}");
    let arguments = format!(r#"{{"cursor":"{cursor}",{what}}}"#);
    let params = format!(r#"{{"name":"portion_query","arguments":{arguments}}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    parsed(message)
}

fn cancelling(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

#[test]
fn a_queued_query_can_be_cancelled() {
    let processor = processor_with_tools();
    let query = question(&processor, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(processor.is_deferred(&query));
    assert!(client(&processor, &cancelling("7")).is_empty(), "the server has never heard of it");
    assert!(run(processor.process_deferred(query)).is_empty(), "nobody wants an answer");
    let query = question(&processor, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(processor.is_deferred(&query));
    assert!(sent(run(processor.process_deferred(query)))[0].contains(r#"[{\"n\":1}]"#));
}

#[test]
fn a_running_query_can_be_cancelled() {
    let processor = std::sync::Arc::new(processor_with_tools());
    let sql = format!(r#""sql":{}"#, quote(ENDLESS));
    let query = question(&processor, "7", &sql);
    assert!(processor.is_deferred(&query));
    let begun = std::time::Instant::now();
    let asking = std::sync::Arc::clone(&processor);
    let answering = std::thread::spawn(move || run(asking.process_deferred(query)));
    // A cancellation of a request that is not known yet is passed on to the server.
    while !client(&processor, &cancelling("7")).is_empty() {
        std::thread::yield_now();
    }
    assert!(answering.join().expect("it answers").is_empty());
    let limit = portion_sql::QueryLimits::default().timeout;
    assert!(begun.elapsed() < limit, "it did not go on to its deadline: {:?}", begun.elapsed());
}

#[test]
fn a_pending_id_is_refused_for_queries_too() {
    let processor = processor_with_tools();
    let query = question(&processor, "7", r#""sql":"SELECT 1 AS n""#);
    assert!(processor.is_deferred(&query));
    let again = question(&processor, "7", r#""sql":"SELECT 2 AS n""#);
    assert!(!processor.is_deferred(&again));
    for input in [again, parsed(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)] {
        let out = sent(run(processor.process_client_message(input)));
        assert!(out[0].starts_with("< ") && out[0].contains("already pending"), "{out:?}");
    }
    assert!(sent(run(processor.process_deferred(query)))[0].contains(r#"[{\"n\":1}]"#));
}

#[test]
fn an_invalid_request_gets_an_error_and_does_not_reach_the_server() {
    let processor = processor_with_tools();
    for input in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        "[]",
    ] {
        let out = client(&processor, input);
        assert_eq!(out.len(), 1, "{out:?}");
        assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600"#), "{out:?}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(client(&processor, ping), [format!("> {ping}")]);
    assert!(client(&processor, ping)[0].contains("already pending"));
}

#[test]
fn a_query_belongs_to_a_tool_that_may_act_on_it() {
    let processor = processor_with_tools();
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"own","arguments":{"query":"x","with":{"a":"b"}}}}"#;
    assert_eq!(client(&processor, call), [format!("> {call}")], "nothing was listed for it");
}

#[test]
fn later_messages_do_not_wait_for_a_query_in_the_first_call() {
    run(answers_queries_later(processor_with_tools()));
}

async fn answers_queries_later(processor: McpProcessor) {
    let asked = async |statement: &str| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"list_x","arguments":{{"q":1,"query":"{statement}"}}}}}}"#
        );
        let out = sent(processor.process_client_message(parsed(call)).await);
        assert!(out[0].ends_with(r#""params":{"name":"list_x","arguments":{"q":1}}}"#), "{out:?}");
        let result = r#"{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"[{\"a\":1},{\"a\":2}]"}]}}"#;
        let frame = Frame::Message(result.as_bytes().to_vec());
        assert!(processor.process_server_frame(frame).await.is_empty(), "it is answered later");
    };
    asked("SELECT sum(a) AS s FROM items").await;
    // The server may end, because its part is done.
    assert!(processor.on_server_gone(&"it has ended").is_empty() && processor.is_responding());
    let out = sent(processor.next_timeout().await);
    assert!(
        out[0].starts_with(
            r#"< {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"[{\"s\":3}]"}"#
        ),
        "{out:?}"
    );
    assert!(out[0].contains("originalCursor") && !processor.is_responding());
    asked("SELECT a FROM items").await;
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert!(processor.process_client_message(parsed(cancelled)).await.is_empty());
    assert_eq!(processor.pending_count(), 0);
}
