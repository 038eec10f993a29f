//! Tests of payloads that are pages of the upstream, and of the arguments for the next page.

use portion_json::scan::quote;

use super::{client, processor, server};

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

#[test]
fn an_empty_cursor_ends_the_list_of_a_client() {
    let processor = processor();
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    let out = server(&processor, r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[],"nextCursor":""}}"#);
    assert!(out[0].contains(r#""name":"portion_read""#), "{out:?}");
}
