//! Tests of render options in every kind of result.

use portion_core::policy::{EnvelopeMode, MetadataMode, MetadataStyle, Policy, RenderOptions, Techniques};
use serde_json::{Value, json};

use super::{ListingOptions, McpProcessor, client, processor_with_limits, server};

fn processor(manner: RenderOptions) -> McpProcessor {
    processor_with_limits(Policy { render_options: manner, ..Policy::default() }, &ListingOptions::default())
}

fn wrapped() -> McpProcessor {
    let (metadata_style, envelope) = (MetadataStyle::Snake, EnvelopeMode::Wrap);
    let processor = processor(RenderOptions { metadata_style, envelope, ..RenderOptions::default() });
    let tools = json!({"tools": [{"name": "rows", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array"}}}}]});
    let listed = ask(&processor, "tools/list", &json!({}), Some(&tools));
    let schema = &listed["result"]["tools"][0]["outputSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["anyOf"][0]["required"], json!(["rows"]), "theirs is untouched: {schema}");
    assert_eq!(schema["anyOf"][1]["required"], json!(["meta"]), "{schema}");
    processor
}

/// Sends a request, and the server's response if there is one; otherwise expects a response without the
/// server.
fn ask(processor: &McpProcessor, method: &str, params: &Value, answer: Option<&Value>) -> Value {
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let out = client(processor, &question);
    let out = match answer {
        Some(result) => server(processor, &json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string()),
        None => out,
    };
    serde_json::from_str(out[0].strip_prefix("< ").expect("an answer")).expect("JSON")
}

fn rows(count: usize) -> Value {
    json!({"rows": (0..count).map(|i| json!({"id": i, "name": format!("Row {i} of some that there are")})).collect::<Vec<_>>(), "of": "x"})
}

fn call(processor: &McpProcessor, name: &str, arguments: &Value, answer: Option<&Value>) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    ask(processor, "tools/call", &params, answer)["result"].clone()
}

/// Returns the envelope in the only block of a result, with these members.
fn envelope(blocks: &Value, expect: &[&str]) -> Value {
    let [block] = &blocks.as_array().expect("blocks")[..] else { panic!("{blocks}") };
    let text = block.get("text").or_else(|| block["content"].get("text")).and_then(Value::as_str);
    let envelope: Value = serde_json::from_str(text.expect("text")).expect("an envelope is JSON");
    let keys: Vec<&String> = envelope.as_object().expect("an object").keys().collect();
    assert_eq!(keys, expect, "{envelope}");
    envelope
}

const PAGE: [&str; 3] = ["items", "next_cursor", "meta"];
const CHUNK: [&str; 5] = ["content", "chunk_index", "total_chunks", "next_cursor", "metadata"];

#[test]
fn a_page_and_its_follow_ups_are_envelopes_in_every_kind_of_result() {
    let processor = wrapped();
    let text = rows(60);
    let answer = json!({"content": [{"type": "text", "text": text.to_string()}], "structuredContent": text});
    let result = call(&processor, "rows", &json!({}), Some(&answer));
    let page = envelope(&result["content"], &PAGE);
    assert_eq!(result["structuredContent"], page);
    assert_eq!(
        (page["items"].as_array().map(Vec::len), &page["meta"]["beside"]),
        (Some(50), &json!({"of": "x"}))
    );
    let notice = &result["_meta"]["io.portion/notice"];
    assert_eq!((&notice["next_cursor"], &notice["total_count"]), (&page["next_cursor"], &json!(60)));

    let result = call(&processor, "portion_read", &json!({"cursor": page["next_cursor"]}), None);
    let last = envelope(&result["content"], &PAGE);
    assert_eq!(last["next_cursor"], Value::Null);
    assert_eq!((last["items"][0]["id"].as_u64(), last["meta"]["current_page"].as_u64()), (Some(50), Some(2)));

    let question = json!({"cursor": page["meta"]["cursor"], "sql": "SELECT count(*) AS n FROM items"});
    let result = call(&processor, "portion_query", &question, None);
    assert_eq!(envelope(&result["content"], &PAGE)["items"], json!([{"n": 60}]));
}

#[test]
fn a_chunk_of_a_resource_or_prompt_is_an_envelope() {
    let processor = wrapped();
    let prose = "One line of many.\n".repeat(2_000);
    let entry = json!({"uri": "u:1", "mimeType": "text/plain", "text": prose});
    let read = ask(&processor, "resources/read", &json!({"uri": "u:1"}), Some(&json!({"contents": [entry]})));
    let contents = &read["result"]["contents"];
    let chunk = envelope(contents, &CHUNK);
    assert_eq!((&contents[0]["uri"], &contents[0]["mimeType"]), (&json!("u:1"), &json!("application/json")));
    let here = chunk["next_cursor"].as_str().expect("more");
    let uri = format!("portion://read/{here}");
    assert_eq!(chunk["metadata"]["next_uri"], uri);
    let read = ask(&processor, "resources/read", &json!({"uri": uri}), None);
    let contents = &read["result"]["contents"];
    assert_eq!(envelope(contents, &CHUNK)["chunk_index"], 1);
    assert_eq!((&contents[0]["uri"], &contents[0]["mimeType"]), (&json!(uri), &json!("application/json")));

    let message = json!({"role": "user", "content": {"type": "text", "text": prose}});
    let got = ask(&processor, "prompts/get", &json!({"name": "p"}), Some(&json!({"messages": [message]})));
    assert_eq!(envelope(&got["result"]["messages"], &CHUNK)["metadata"]["kind"], "chunk");
}

#[test]
fn content_is_relayed_while_techniques_are_off_and_no_control_is_given() {
    let techniques = Techniques { pagination: false, query: false, ..Techniques::ALL };
    let processor = processor(RenderOptions { techniques, ..RenderOptions::default() });
    ask(
        &processor,
        "tools/list",
        &json!({}),
        Some(&json!({"tools": [{"name": "list_x", "inputSchema": {"type": "object", "properties": {}}}]})),
    );
    let text = rows(5_000).to_string();
    let answer = json!({"content": [{"type": "text", "text": text}]});
    assert_eq!(call(&processor, "list_x", &json!({}), Some(&answer)), answer);
    let page = call(&processor, "list_x", &json!({"limit": 5}), Some(&answer));
    let meta = &page["_meta"]["io.portion/notice"]["meta"];
    assert_eq!((&meta["served"], meta.get("query")), (&json!(5), None), "{meta}");
}

#[test]
fn small_results_have_metadata_if_configured() {
    let processor = processor(RenderOptions { metadata: MetadataMode::Always, ..RenderOptions::default() });
    ask(&processor, "tools/list", &json!({}), Some(&json!({"tools": []})));
    let answer = json!({"content": [{"type": "text", "text": "Done. "}], "x": 1});
    let result = call(&processor, "t", &json!({}), Some(&answer));
    let notice = &result["_meta"]["io.portion/notice"];
    let block = json!({"type": "text", "text": notice.to_string()});
    assert_eq!(
        (&result["content"][0], &result["content"][1], &result["x"]),
        (&answer["content"][0], &block, &json!(1))
    );
    let cursor = json!({"cursor": notice["meta"]["cursor"]});
    assert_eq!(call(&processor, "portion_read", &cursor, None)["content"][0]["text"], "Done. ");
}

#[test]
fn a_scalar_is_a_chunk_of_its_json_in_an_envelope() {
    let processor = wrapped();
    for scalar in [json!(5), json!("ok"), json!(true), json!("with \"quotes\"\n")] {
        let text = rows(2_000).to_string();
        let result = json!({"content": [{"type": "text", "text": text}], "structuredContent": scalar});
        let told = call(&processor, "rows", &json!({}), Some(&result));
        assert_eq!(told["structuredContent"]["content"], scalar.to_string(), "{told}");
    }
}

#[test]
fn a_text_names_the_call_that_shows_what_only_structured_content_holds() {
    let processor = processor(RenderOptions::default());
    ask(&processor, "tools/list", &json!({}), Some(&json!({"tools": []})));
    let long = "a sentence of some length. ".repeat(4_000);
    for structured in [json!({"report": {"title": "x", "body": long}}), json!({"body": long}), json!(long)] {
        let result = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": structured});
        let told = call(&processor, "report", &json!({}), Some(&result));
        let blocks = told["content"].as_array().expect("blocks");
        let notice = blocks.last().and_then(|block| block["text"].as_str()).expect("a notice");
        let notice: Value = serde_json::from_str(notice).expect("JSON");
        assert_eq!(notice["meta"]["next"], "portion_read(cursor, path=/structuredContent)", "{notice}");
        let cursor = notice["meta"]["cursor"].as_str().expect("a cursor");
        let arguments = json!({"cursor": cursor, "path": "/structuredContent"});
        let shown = call(&processor, "portion_read", &arguments, None);
        assert!(shown["isError"].is_null(), "{shown}");
        assert!(shown.to_string().contains("a sentence of some length"), "{shown}");
    }
}
