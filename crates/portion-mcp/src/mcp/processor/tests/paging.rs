//! Tests of payloads that are pages of the upstream, and of the arguments for the next page.

use std::time::{Duration, Instant};

use portion_json::scan::quote;

use super::{McpProcessor, client, leading_cursor, processor, sent, server};
use crate::message_processor::MessageProcessor as _;

const LIST: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"search_schools","inputSchema":{"type":"object","properties":{"state":{},"page":{},"per_page":{}}}}]}}"#;

#[test]
fn the_argument_for_the_next_page_is_named() {
    let processor = processor();
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, LIST);
    let school = |n: usize| format!(r#"{{"id":{n},"name":"School {n}","about":"{}"}}"#, "word ".repeat(80));
    let schools: Vec<String> = (0..60).map(school).collect();
    let page = format!(r#"{{"total_count":1000,"page":2,"schools":[{}]}}"#, schools.join(","));
    client(
        &processor,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_schools","arguments":{"page":2}}}"#,
    );
    let result = format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, quote(&page));
    let out = server(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).concat();
    assert!(out.contains(r#""upstreamTotal":1000"#), "{out}");
    assert!(out.contains(r#""upstreamNext":"repeat the call with page=3""#), "{out}");
    assert!(out.contains(r#""totalCount":60"#), "{out}");
}

#[test]
fn the_texts_of_a_list_stay_texts() {
    let processor = processor();
    let lines: Vec<String> =
        (0..400).map(|n| format!("line {n}: said \"no\" to {}", "x".repeat(60))).collect();
    let texts: Vec<String> = lines.iter().map(|line| quote(line)).collect();
    let blocks: Vec<String> =
        texts.iter().map(|text| format!(r#"{{"type":"text","text":{text}}}"#)).collect();
    let (blocks, texts) = (blocks.join(","), texts.join(","));
    client(&processor, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_lines"}}"#);
    let result = format!(r#"{{"content":[{blocks}],"structuredContent":{{"result":[{texts}]}}}}"#);
    let out = server(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).concat();
    let first = format!(r#""content":[{{"type":"text","text":{}}}"#, quote(&lines[0]));
    assert!(out.contains(&first) && out.contains(r#""totalCount":400"#), "{out}");
}

/// Returns the id of a request of the gateway.
fn id_of(request: &str) -> String {
    let id = request.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next());
    id.expect("an id").to_owned()
}

/// Returns how many pages the gateway lists, if the server sends these cursors.
fn pages_listed(next: impl Fn(usize) -> String) -> usize {
    let processor = processor();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":2}}}"#;
    let mut out = client(&processor, call);
    for page in 0..2_000 {
        if !out[0].contains("tools/list") {
            assert_eq!(out, [format!("> {}", call.replace(r#"{"limit":2}"#, "{}"))]);
            return page;
        }
        let tools = r#"[{"name":"list_x","inputSchema":{"type":"object"}}]"#;
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":{tools},"nextCursor":"{}"}}}}"#,
            id_of(&out[0]),
            next(page)
        );
        out = server(&processor, &answer);
    }
    panic!("the list never ends");
}

#[test]
fn a_tool_list_that_never_ends_is_given_up() {
    assert_eq!(pages_listed(|_| "same".to_owned()), 2);
    assert_eq!(pages_listed(|page| format!("{}", page % 3)), 4);
    assert_eq!(pages_listed(|page| format!("{page}")), 1_000);
    assert_eq!(pages_listed(|_| String::new()), 2);
}

/// Returns a page of tools with these names, as the response to a request. `rest`: further members of the result.
fn page(id: &str, names: &[&str], rest: &str) -> String {
    let tools: Vec<String> = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{}]{rest}}}}}"#, tools.join(", "))
}

/// Returns the list that a client gets, with the names of the tools, and the number of requests. `pages`: the server's pages
/// after the first, with the rest of their results; `None` is an error.
fn client_list(
    params: &str,
    first_rest: &str,
    pages: &[Option<(&[&str], &str)>],
) -> (String, Vec<String>, usize) {
    let processor = processor();
    let asked = client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":"c","method":"tools/list"{params}}}"#));
    assert!(asked[0].starts_with("> "), "{asked:?}");
    let mut out = server(&processor, &page("\"c\"", &["a", "b"], first_rest));
    let mut requests = 0;
    while out[0].starts_with("> ") {
        assert_eq!(out.len(), 1);
        assert_eq!(processor.pending_count(), 1, "the client waits");
        let answer = match &pages[requests] {
            Some((names, rest)) => page(&id_of(&out[0]), names, rest),
            None => format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32603,"message":"no"}}}}"#,
                id_of(&out[0])
            ),
        };
        requests += 1;
        out = server(&processor, &answer);
    }
    assert_eq!((out.len(), processor.pending_count()), (1, 0));
    let list: serde_json::Value = serde_json::from_str(&out[0][2..]).expect("JSON");
    let tools = list["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
    assert!(list["result"].get("nextCursor").is_none() && list["id"] == "c", "{list}");
    (out[0][2..].to_owned(), names.collect(), requests)
}

#[test]
fn s4_a_client_gets_one_list() {
    let check = |first: &str, pages: &[Option<(&[&str], &str)>], expect: &[&str], requests: usize| {
        let (_, names, sent) = client_list("", first, pages);
        let ours = ["portion_read", "portion_query"];
        assert_eq!(names, [expect, &ours].concat(), "{first} {pages:?}");
        assert_eq!(sent, requests, "{first} {pages:?}");
    };
    check("", &[], &["a", "b"], 0);
    // Most servers mean the end by an empty cursor.
    let empty = r#","nextCursor":"""#;
    check(empty, &[Some((&["a", "b"], empty))], &["a", "b"], 1);
    check(empty, &[None], &["a", "b"], 1);
    check(empty, &[Some((&["c"], ""))], &["a", "b", "c"], 1);
    check(r#","nextCursor":null"#, &[], &["a", "b"], 0);
    let more = r#","nextCursor":"2""#;
    check(more, &[Some((&["c"], ""))], &["a", "b", "c"], 1);
    // Pages overlap, or have no tools.
    check(more, &[Some((&["b", "c", "c"], r#","nextCursor":"3""#)), Some((&[], ""))], &["a", "b", "c"], 2);
    // The cursor repeats.
    check(more, &[Some((&["c"], more))], &["a", "b", "c"], 1);
    // A page fails.
    check(more, &[Some((&["c"], r#","nextCursor":"3""#)), None], &["a", "b", "c"], 2);
    check(more, &[None], &["a", "b"], 1);
}

#[test]
fn s4_the_rest_of_the_first_page_stays() {
    let first = r#" , "nextCursor":"2","ttlMs":300000,"cacheScope":"private","_meta":{"x":1.0}"#;
    let (text, ..) = client_list("", first, &[Some((&["c"], r#","ttlMs":1"#))]);
    assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"c","result":{"tools":[{"name":"a"}, {"name":"b"},{"name":"c"},{"name":"portion_read""#), "{text}");
    assert!(text.ends_with(r#"] , "ttlMs":300000,"cacheScope":"private","_meta":{"x":1.0}}}"#), "{text}");
    assert_eq!(text, client_list("", first, &[Some((&["c"], ""))]).0, "byte-stable");
}

#[test]
fn s4_a_list_ends_with_the_server() {
    let processor = processor();
    let protocol = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let params = format!(r#"{{"_meta":{{{protocol},"progressToken":7}}}}"#);
    client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#));
    assert!(processor.has_held_messages(), "the list may have further pages");
    let out = server(&processor, &page("1", &["a"], r#","nextCursor":"é\n""#));
    assert!(
        out[0].ends_with(&format!(
            r#""method":"tools/list","params":{{"cursor":"é\n","_meta":{{{protocol}}}}}}}"#
        )),
        "{out:?}"
    );
    assert!(processor.has_held_messages(), "the server's input stays open");
    let out = sent(processor.on_server_gone(&"it has ended"));
    assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},"#), "{out:?}");
    assert!(out[0].contains(r#""name":"portion_read""#), "{out:?}");
}

#[test]
fn s4_a_late_page_ends_the_list() {
    let processor = processor();
    client(&processor, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let asked = server(&processor, &page("1", &["a"], r#","nextCursor":"2""#));
    let out = sent(processor.expire_requests(Instant::now() + Duration::from_mins(1)));
    assert_eq!((out.len(), processor.pending_count()), (1, 0));
    assert!(
        out[0].starts_with(
            r#"< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"portion_read""#
        ),
        "{out:?}"
    );
    assert!(server(&processor, &page(&id_of(&asked[0]), &["b"], "")).is_empty(), "the late page is dropped");
}

#[test]
fn s4_the_cursor_of_a_client_is_relayed() {
    let params = r#","params":{"cursor":"x"}"#;
    let (_, names, _) = client_list(params, "", &[]);
    assert_eq!(names, ["a", "b", "portion_read", "portion_query"]);
}

/// Calls a tool with own arguments and a cursor of the gateway. Returns what follows.
fn called_with_cursor(processor: &McpProcessor, arguments: &str) -> String {
    let first = r#"{"path":"/srv","limit":3}"#;
    let call = |id: u8, arguments: &str| {
        let params = format!(r#"{{"name":"list_files","arguments":{arguments}}}"#);
        client(
            processor,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#),
        )
    };
    assert_eq!(call(1, first).len(), 1);
    let files: Vec<String> = (0..900).map(|n| format!(r#"{{"name":"file{n}.txt","size":{n}}}"#)).collect();
    let text = quote(&format!("[{}]", files.join(",")));
    let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
    let out = server(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).concat();
    let (_, rest) = out.split_once(r#"\"nextCursor\":\""#).expect("more");
    let arguments = arguments.replace("CURSOR", leading_cursor(rest));
    call(2, &arguments).concat()
}

#[test]
fn arguments_of_the_tool_are_no_controls_with_a_cursor() {
    let own =
        ["path", "section", "sort", "limit", "offset", "page", "startLine", "raw", "maxTokens", "fields"];
    let properties: Vec<String> = own.iter().map(|name| format!(r#""{name}":{{}}"#)).collect();
    let list = format!(
        r#"{{"jsonrpc":"2.0","id":0,"result":{{"tools":[{{"name":"list_files","inputSchema":{{"type":"object","properties":{{{}}}}}}}]}}}}"#,
        properties.join(",")
    );
    let check = |arguments: &str| {
        let processor = processor();
        client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
        server(&processor, &list);
        let out = called_with_cursor(&processor, arguments);
        assert!(out.starts_with("< ") && out.contains("file50.txt"), "{arguments}: {out}");
        assert!(!out.contains("file0.txt"), "{arguments}: {out}");
    };
    check(r#"{"cursor":"CURSOR"}"#);
    check(r#"{"path":"/srv","limit":3,"cursor":"CURSOR"}"#);
    check(r#"{"path":"/srv","limit":100000,"offset":"x","page":0,"sort":[],"cursor":"CURSOR"}"#);
    check(r#"{"section":"a","startLine":"b","raw":7,"maxTokens":1,"fields":{},"cursor":"CURSOR"}"#);
}
