//! Tests of resources and prompts: follow-ups by URI and by tool, ranges of blobs, one snapshot per read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{McpProcessor, check, client, processor_with_tools, server};

const MODERN: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

/// Sends a request, and the server's response if there is one; otherwise expects a response without the
/// server.
fn ask(processor: &McpProcessor, method: &str, params: &Value, answer: Option<&Value>) -> Value {
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let out = client(processor, &question);
    let out = match answer {
        Some(result) => {
            assert_eq!(out, [format!("> {question}")], "the server is asked");
            server(processor, &json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string())
        }
        None => out,
    };
    let message = out[0].strip_prefix("< ").expect("the client is answered");
    serde_json::from_str(message).expect("JSON")
}

/// Reads a resource: returns the server's entries and the notice.
fn read(processor: &McpProcessor, uri: &str, contents: Option<&Value>) -> (Vec<Value>, Value) {
    let result = contents.map(|contents| json!({"contents": contents}));
    let message = ask(processor, "resources/read", &json!({"uri": uri}), result.as_ref());
    let mut entries = message["result"]["contents"].as_array().expect("contents").clone();
    let notice = &message["result"]["_meta"]["io.portion/notice"];
    if !notice.is_null() {
        let entry = entries.pop().expect("the notice");
        let text: Value = serde_json::from_str(entry["text"].as_str().expect("text")).expect("JSON");
        for name in ["nextCursor", "totalCount"] {
            assert_eq!(text[name], notice[name], "{name}");
        }
        assert_eq!(text["meta"]["nextUri"], notice["meta"]["nextUri"]);
        let next = notice["nextCursor"].as_str().or(notice["meta"]["cursor"].as_str()).expect("a cursor");
        assert_eq!(entry["uri"], format!("portion://read/{next}"));
    }
    (entries, notice.clone())
}

/// Follows up with `portion_read`: returns the blocks and the notice.
fn follow(processor: &McpProcessor, arguments: &Value) -> (Vec<Value>, Value) {
    let params = json!({"name": "portion_read", "arguments": arguments});
    let message = ask(processor, "tools/call", &params, None);
    let mut blocks = message["result"]["content"].as_array().expect("content").clone();
    blocks.pop().expect("the notice");
    (blocks, message["result"]["_meta"]["io.portion/notice"].clone())
}

/// Reads all follow-ups of a first reply, by tool or by URI. `by_tool` selects the way for each step.
fn walk(
    processor: &McpProcessor,
    first: (Vec<Value>, Value),
    by_tool: impl Fn(usize) -> bool,
) -> (Vec<Value>, Vec<String>) {
    let (mut all, mut notice) = first;
    let mut uris: Vec<String> = Vec::new();
    for step in 0.. {
        let Some(next) = notice["nextCursor"].as_str() else { break };
        let mut shown;
        (shown, notice) = if by_tool(step) {
            follow(processor, &json!({ "cursor": next }))
        } else {
            read(processor, &format!("portion://read/{next}"), None)
        };
        uris.extend(shown.iter().filter_map(|entry| entry["uri"].as_str()).map(str::to_owned));
        all.append(&mut shown);
    }
    (all, uris)
}

fn lines(name: &str, count: usize) -> String {
    (0..count).fold(String::new(), |text, i| text + &format!("{name} {i}: \"quoted\" and é\n"))
}

fn texts(entries: &[Value]) -> String {
    entries.iter().filter_map(|entry| entry["text"].as_str()).collect()
}

#[test]
fn every_entry_is_read_to_its_end_by_uri_by_tool_and_by_both() {
    let (a, b) = (lines("first", 3_000), lines("second", 2_000));
    let contents = json!([
        {"uri": "file:///a.md", "mimeType": "text/markdown", "text": a},
        {"uri": "file:///b.txt", "text": b},
    ]);
    let ways: [fn(usize) -> bool; 4] = [|_| false, |_| true, |step| step % 2 == 0, |step| step > 3];
    for by_tool in ways {
        let processor = processor_with_tools();
        let first = read(&processor, "file:///", Some(&contents));
        assert_eq!(first.0[0]["uri"], "file:///a.md");
        let (all, mut uris) = walk(&processor, first, by_tool);
        assert_eq!(texts(&all), format!("{a}{b}"));
        assert!(uris.iter().all(|uri| uri.starts_with("portion://read/")), "{uris:?}");
        let count = uris.len();
        uris.sort_unstable();
        uris.dedup();
        assert_eq!(uris.len(), count, "a URI twice");
    }
}

#[test]
fn follow_ups_keep_the_type_and_name_their_source() {
    let processor = processor_with_tools();
    let json = |n: usize| format!("[{}]", vec!["{\"id\":1,\"name\":\"x\"}"; n].join(","));
    let contents = json!([
        {"uri": "file:///a.md", "mimeType": "text/markdown", "text": lines("a", 1_000)},
        {"uri": "file:///b.json", "mimeType": "application/json", "text": json(300)},
    ]);
    let first = read(&processor, "file:///", Some(&contents));
    let next = first.1["meta"]["nextUri"].as_str().expect("goes on").to_owned();
    let (entries, notice) = read(&processor, &next, None);
    assert_eq!((&entries[0]["uri"], &entries[0]["mimeType"]), (&json!(next), &json!("text/markdown")));
    assert_eq!(notice["meta"]["of"], json!(["file:///a.md"]));
    let whole = format!("{next}?path=/contents/1/text&fields=id&limit=2");
    let (entries, notice) = read(&processor, &whole, None);
    assert_eq!(entries[0]["text"], r#"[{"id":1},{"id":1}]"#);
    assert_eq!((&entries[0]["mimeType"], &notice["totalCount"]), (&json!("application/json"), &json!(300)));
    let (entries, _) =
        read(&processor, &format!("{next}?path=/contents/1/text&raw=true&maxTokens=300"), None);
    assert_eq!(entries[0]["mimeType"], "text/plain", "a piece of JSON is none");
}

#[test]
fn a_blob_is_described_and_read_in_ranges_that_can_be_decoded() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    for (mime, media) in [("application/pdf", false), ("image/png", true)] {
        let processor = processor_with_tools();
        let blob = STANDARD.encode(&bytes);
        let contents = json!([{"uri": "file:///a", "mimeType": mime, "blob": blob}]);
        let first = read(&processor, "file:///a", Some(&contents));
        if media {
            assert_eq!((first.0[0]["blob"].as_str(), first.1), (Some(&*blob), Value::Null), "passes");
            continue;
        }
        let description = first.0[0]["text"].as_str().expect("described");
        let description = description
            .strip_prefix("[file:///a: application/pdf, 300000 bytes, not shown; ")
            .expect(description);
        let (_, uri) = description.split_once("resources/read ").expect("a URI");
        let (uri, _) = uri.split_once(' ').expect("its end");
        let (all, uris) = walk(&processor, read(&processor, uri, None), |_| false);
        let ranges = all.iter().map(|entry| entry["blob"].as_str().expect("a range"));
        let decoded = ranges.clone().flat_map(|range| STANDARD.decode(range).expect("base64"));
        assert_eq!(ranges.collect::<String>(), blob);
        assert!(decoded.eq(bytes.iter().copied()) && uris.len() < 10, "{} reads", uris.len());
        assert!(all.iter().all(|entry| entry["mimeType"] == "application/octet-stream"), "parts of a PDF");
        let (description, _) = description.split_once(" or ").expect("a call");
        assert_eq!(description, r#"portion_read(cursor, path="/contents/0/blob")"#);
        assert_eq!(first.1["meta"]["partsNotShown"], json!({"/contents/0/blob": "300000 bytes"}));
        let cursor = first.1["meta"]["cursor"].as_str();
        let begun = follow(&processor, &json!({"cursor": cursor, "path": "/contents/0/blob"}));
        assert_eq!(begun.1["meta"]["totalBytes"], blob.len());
        let (all, _) = walk(&processor, begun, |_| true);
        assert_eq!(texts(&all), blob);
    }
}

#[test]
fn tool_blocks_become_entries_when_read_by_uri() {
    let processor = processor_with_tools();
    let link = json!({"type": "resource_link", "uri": "file:///l", "name": "l"});
    let image = json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0K"});
    let embedded = json!({"uri": "file:///e", "blob": "QUJD"});
    let content = json!([
        {"type": "text", "text": lines("log", 900)}, link, image, {"type": "resource", "resource": embedded},
        {"type": "resource", "resource": {"uri": "file:///t", "mimeType": "text/x", "text": lines("log", 150)}},
    ]);
    let params = json!({"name": "free", "arguments": {}});
    let first = ask(&processor, "tools/call", &params, Some(&json!({ "content": content })));
    let notice = first["result"]["_meta"]["io.portion/notice"].clone();
    let (all, _) = walk(&processor, (Vec::new(), notice), |_| false);
    let blobs: Vec<&Value> = all.iter().filter(|entry| !entry["blob"].is_null()).collect();
    assert_eq!(blobs, [&embedded]);
    assert!(all.iter().any(|entry| entry["mimeType"] == "text/x"), "{all:?}");
    let shown = first["result"]["content"].as_array().expect("content");
    assert!(shown.contains(&link), "small, and so beside the first");
    assert!(shown.contains(&image), "media come first");
}

#[test]
fn an_update_makes_a_new_snapshot_and_leaves_the_old() {
    let processor = processor_with_tools();
    let of = |text: &str| json!([{"uri": "file:///a", "text": text}]);
    let (old, new) = (lines("old", 2_000), lines("new", 1_500));
    let first = read(&processor, "file:///a", Some(&of(&old)));
    let update =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#;
    check(&processor, &[(&format!("s {update}"), &["="])]);
    let second = read(&processor, "file:///a", Some(&of(&new)));
    assert_eq!(texts(&walk(&processor, second, |step| step % 2 == 0).0), new);
    assert_eq!(texts(&walk(&processor, first, |step| step % 2 == 1).0), old);
}

#[test]
fn an_invalid_read_uri_is_an_error_with_advice() {
    let processor = processor_with_tools();
    let first = read(&processor, "file:///a", Some(&json!([{"uri": "file:///a", "text": lines("a", 900)}])));
    let cursor = first.1["meta"]["cursor"].as_str().expect("a handle");
    let other = format!("{}{}", &cursor[..cursor.len() - 1], if cursor.ends_with('x') { 'y' } else { 'x' });
    let meta: Value = serde_json::from_str(MODERN).expect("JSON");
    for (uri, is_stateless, code, reason) in [
        ("portion://read/", false, -32002, "cursor_invalid"),
        (&*format!("portion://read/{other}"), false, -32002, "cursor_invalid"),
        (&format!("portion://read/{other}"), true, -32602, "cursor_invalid"),
        (&format!("portion://read/{cursor}?path=/contents/9"), false, -32602, "path_unknown"),
        (&format!("portion://read/{cursor}?maxTokens=9"), false, -32602, "max_tokens_invalid"),
        (&format!("portion://read/{cursor}?q=9"), true, -32602, "argument_unknown"),
    ] {
        let mut params = json!({ "uri": uri });
        if is_stateless {
            params["_meta"] = meta.clone();
        }
        let error = ask(&processor, "resources/read", &params, None)["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]["error"]["code"]),
            (&json!(code), &json!(reason)),
            "{uri}"
        );
        assert!(
            error["data"]["error"]["advice"].as_str().is_some_and(|advice| !advice.is_empty()),
            "{error}"
        );
    }
}

#[test]
fn an_error_repeats_a_short_part_of_a_long_uri() {
    let processor = processor_with_tools();
    let rows: Vec<Value> = (0..2_000).map(|id| json!({"id": id, "name": format!("row {id}")})).collect();
    let entry = json!({"uri": "file:///a", "mimeType": "application/json", "text": json!(rows).to_string()});
    let first = read(&processor, "file:///a", Some(&json!([entry])));
    let cursor = first.1["meta"]["cursor"].as_str().expect("a handle");
    for control in ["fields", "path"] {
        let uri = format!("portion://read/{cursor}?{control}={}", "qx%25zz!".repeat(5_000));
        let error = ask(&processor, "resources/read", &json!({ "uri": uri }), None)["error"].clone();
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains("qx%zz!qx%zz!") && message.contains('…'), "{error}");
        assert_eq!(error["data"]["error"]["message"], message);
        assert!(error.to_string().len() < 4_000, "{error}");
    }
}

#[test]
fn follow_ups_of_a_prompt_name_the_roles() {
    let processor = processor_with_tools();
    let message = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
    let texts_of = ["question", "answer", "doubt"].map(|name| lines(name, 700));
    let roles = ["user", "assistant", "user"];
    let messages: Vec<Value> = roles.iter().zip(&texts_of).map(|(role, text)| message(role, text)).collect();
    let result = json!({"description": "d", "messages": messages});
    let first = ask(&processor, "prompts/get", &json!({"name": "p"}), Some(&result))["result"].clone();
    assert_eq!((&first["description"], &first["messages"][0]["role"]), (&json!("d"), &json!("user")));
    let mut said = vec![("user".to_owned(), first["messages"][0]["content"]["text"].clone())];
    let mut notice = first["_meta"]["io.portion/notice"].clone();
    while let Some(next) = notice["nextCursor"].as_str() {
        let blocks;
        (blocks, notice) = follow(&processor, &json!({ "cursor": next }));
        let of = notice["meta"]["of"].as_array().expect("roles").clone();
        assert_eq!(of.len(), blocks.len());
        for (role, block) in of.iter().zip(&blocks) {
            said.push((role.as_str().expect("a role").to_owned(), block["text"].clone()));
        }
    }
    let mut turns: Vec<(String, String)> = Vec::new();
    for (role, text) in said {
        let text = text.as_str().expect("text");
        match turns.last_mut().filter(|(last, _)| *last == role) {
            Some((_, turn)) => turn.push_str(text),
            None => turns.push((role, text.to_owned())),
        }
    }
    let expect: Vec<(String, String)> =
        roles.iter().zip(texts_of).map(|(role, text)| ((*role).to_owned(), text)).collect();
    assert_eq!(turns, expect);
}
