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
