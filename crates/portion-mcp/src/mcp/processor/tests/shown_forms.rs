//! Tests of the form of a result that the model of a client sees.

use portion_core::policy::ClientLimits;
use portion_gateway::rules::EndpointRules;
use portion_policy::endpoint::EndpointConfig;
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Arc, ClientSession, Gateway, GatewayParts, ListingOptions, McpProcessor, MemoryStore, Scope, StoreLimits,
    client, server,
};
use crate::mcp::McpProcessorFactory;

const TEXT: &str = "goose";
const STRUCTURED: &str = "claude-code";
const BOTH: &str = "github-copilot-developer";

/// Returns a processor after `initialize` of a client and the list of a tool.
fn listed(client_name: &str, tool: &Value) -> McpProcessor {
    listed_with(EndpointConfig::default(), client_name, tool)
}

fn listed_with(config: EndpointConfig, client_name: &str, tool: &Value) -> McpProcessor {
    let rules = EndpointRules::new(Arc::new(config), ClientLimits::UNKNOWN);
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
    let processor = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client_name}});
    client(
        &processor,
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string(),
    );
    server(&processor, r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}}}}"#);
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, &json!({"jsonrpc": "2.0", "id": 0, "result": {"tools": [tool]}}).to_string());
    processor
}

fn tool(has_schema: bool) -> Value {
    let mut tool = json!({"name": "list_x", "inputSchema": {"type": "object", "properties": {}}});
    if has_schema {
        tool["outputSchema"] = json!({"type": "object", "properties": {"data": {"type": "array"}}});
    }
    tool
}

/// Returns the result that the client gets for a result of the server.
fn received(client_name: &str, has_schema: bool, arguments: &Value, result: &Value) -> Value {
    let processor = listed(client_name, &tool(has_schema));
    let params = json!({"name": "list_x", "arguments": arguments});
    client(
        &processor,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string(),
    );
    let out = server(&processor, &json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
    let line = out[0].strip_prefix("< ").expect("a response");
    serde_json::from_str::<Value>(line).expect("JSON")["result"].take()
}

fn records(count: usize) -> Value {
    let record = |at: usize| json!({"id": at, "name": format!("record {at}"), "note": "a note of some length ".repeat(3), "state": "open"});
    json!({"data": (0..count).map(record).collect::<Vec<_>>()})
}

/// A result with the same records in both forms.
fn twice(data: &Value) -> Value {
    json!({"content": [{"type": "text", "text": data.to_string()}], "structuredContent": data})
}

fn texts(result: &Value) -> Vec<&str> {
    result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
}

fn is_absent(result: &Value) -> bool {
    result.get("structuredContent").is_none()
}

#[test]
fn a_client_that_shows_both_forms_pays_once() {
    let large = twice(&records(400));
    let result = received(BOTH, false, &json!({}), &large);
    assert!(is_absent(&result), "{result}");
    let shown = texts(&result);
    assert!(
        shown[0].contains("record 0") && shown.last().is_some_and(|notice| notice.contains("nextCursor"))
    );
    let result = received(BOTH, true, &json!({}), &large);
    assert!(result["structuredContent"]["nextCursor"].is_string(), "{result}");
    assert!(result["structuredContent"]["data"][0]["name"].is_string(), "{result}");
    assert_eq!(texts(&result), ["The result is in structuredContent."]);
}

#[test]
fn what_is_small_is_shown_once_too() {
    let small = twice(&records(20));
    assert_eq!(received(TEXT, false, &json!({}), &small), small);
    assert_eq!(received(STRUCTURED, false, &json!({}), &small), small);
    assert_eq!(received(BOTH, true, &json!({}), &small), small, "a schema demands it");
    let mut once = small.clone();
    once.as_object_mut().expect("an object").remove("structuredContent");
    assert_eq!(received(BOTH, false, &json!({}), &small), once);
}

#[test]
fn structured_content_that_adds_to_the_text_becomes_text() {
    let data = records(20);
    let summary = json!({"content": [{"type": "text", "text": "Found 20."}], "structuredContent": data});
    let result = received(BOTH, false, &json!({}), &summary);
    assert_eq!(texts(&result), ["Found 20.", &data.to_string()]);
    assert!(is_absent(&result), "{result}");
    let alone = json!({"structuredContent": data});
    let result = received(BOTH, false, &json!({}), &alone);
    assert_eq!((texts(&result), is_absent(&result)), (vec![&*data.to_string()], true));
    let large =
        json!({"content": [{"type": "text", "text": "Found 400."}], "structuredContent": records(400)});
    let result = received(BOTH, false, &json!({}), &large);
    assert!(is_absent(&result) && texts(&result).iter().any(|text| text.contains("record 0")), "{result}");
}

#[test]
fn sorted_rows_have_the_structured_content_that_a_schema_demands() {
    let told =
        json!({"content": [{"type": "text", "text": "400 records"}], "structuredContent": records(400)});
    let result = received(STRUCTURED, true, &json!({"sort": "id desc", "limit": 2}), &told);
    assert_eq!(result["structuredContent"]["items"][0]["id"], 399, "{result}");
}

#[test]
fn an_image_is_shown_where_structured_content_hides_it() {
    let image = json!({"type": "image", "data": "A".repeat(4_000), "mimeType": "image/png"});
    let data = json!({"width": 3, "title": "t".repeat(300)});
    let result =
        json!({"content": [{"type": "text", "text": data.to_string()}, image], "structuredContent": data});
    let got = received(STRUCTURED, false, &json!({}), &result);
    assert_eq!((&got["content"], is_absent(&got)), (&result["content"], true));
    assert_eq!(received(STRUCTURED, true, &json!({}), &result), result, "a schema demands it");
    assert_eq!(received(TEXT, false, &json!({}), &result), result);
}

#[test]
fn a_tool_that_was_not_listed_keeps_its_structured_content() {
    let processor = listed(BOTH, &json!({"name": "other", "inputSchema": {}}));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x"}}"#;
    client(&processor, call);
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": twice(&records(20))}).to_string();
    assert_eq!(server(&processor, &message), [format!("< {message}")]);
}

/// Returns the result of `portion_read` at the cursor of a first reply.
fn read(processor: &McpProcessor, result: &Value, arguments: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_x", "arguments": {}}});
    client(processor, &call.to_string());
    let out = server(processor, &json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
    let first: Value = serde_json::from_str(&out[0][2..]).expect("JSON");
    let shown = texts(&first["result"]);
    let notice: Value = serde_json::from_str(shown.last().expect("a notice")).expect("JSON");
    let mut arguments = arguments;
    arguments["cursor"] = notice["nextCursor"].clone();
    let params = json!({"name": "portion_read", "arguments": arguments});
    let out = client(
        processor,
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string(),
    );
    serde_json::from_str::<Value>(&out[0][2..]).expect("JSON")["result"].take()
}

#[test]
fn a_program_reads_everything_at_once() {
    let data = records(3_000);
    let text = json!({"content": [{"type": "text", "text": data.to_string()}]});
    assert!(data.to_string().len() > 300_000);
    let all = read(&listed(TEXT, &tool(false)), &text, json!({"all": true}));
    assert_eq!(texts(&all)[0], data.to_string());
    assert!(!texts(&all)[1].contains("nextCursor"), "{}", texts(&all)[1]);
    let parts: Vec<Value> =
        (0..30).map(|at| json!({"type": "text", "text": format!("part {at} ").repeat(900)})).collect();
    let all = read(&listed(TEXT, &tool(false)), &json!({"content": parts}), json!({"all": true}));
    let shown = texts(&all);
    assert!(shown.len() == 31 && shown[29].starts_with("part 29"), "{}", shown.len());
    let raw = read(&listed(TEXT, &tool(false)), &text, json!({"raw": true}));
    assert!(texts(&raw)[0].len() < 100_000 && texts(&raw)[1].contains("nextCursor"));
    let error = read(&listed(TEXT, &tool(false)), &text, json!({"all": true, "limit": 3}));
    assert!(error["isError"] == true && texts(&error)[0].contains("all"), "{error}");
}

#[test]
fn what_the_operator_allows_a_program_bounds_everything() {
    let data = records(3_000).to_string();
    for limit in [8_000, 100_000] {
        let config = EndpointConfig { unshaped_byte_limit: Some(limit), ..EndpointConfig::default() };
        let processor = listed_with(config, TEXT, &tool(false));
        let all =
            read(&processor, &json!({"content": [{"type": "text", "text": data}]}), json!({"all": true}));
        let shown = texts(&all);
        assert!(data.starts_with(shown[0]) && shown[1].contains("nextCursor"), "{}", shown[1]);
        let bytes = all.to_string().len();
        assert!((limit / 2..=limit).contains(&bytes), "{bytes}");
    }
}

proptest! {
    /// A model is shown records, a way to the rest, and no more tokens than a reply may have.
    #[test]
    fn a_model_sees_records_once_and_within_the_budget(
        count in 1_usize..500,
        client_name in prop_oneof![Just(TEXT), Just(STRUCTURED), Just(BOTH)],
        has_schema: bool,
        is_repeated: bool,
    ) {
        let data = records(count);
        let mut sent = twice(&data);
        if !is_repeated {
            sent["content"][0]["text"] = "some records".into();
        }
        let result = received(client_name, has_schema, &json!({}), &sent);
        let text = texts(&result).join("\n");
        let structured = result.get("structuredContent").map(Value::to_string);
        let shown = match (client_name, structured) {
            (TEXT, _) | (_, None) => text,
            (STRUCTURED, Some(structured)) => structured,
            (_, Some(structured)) => format!("{text}\n{structured}"),
        };
        let tokens = Tokenizer::Auto.counter().count(&shown);
        prop_assert!(tokens <= 4_100, "{tokens}");
        if client_name != TEXT || is_repeated {
            prop_assert!(shown.contains("record 0"), "{shown}");
        }
        if shown.matches("\"id\":").count() < count && result != sent {
            prop_assert!(shown.contains("nextCursor") || shown.contains("cursor"), "{shown}");
        }
    }
}
