//! Every outgoing message is one JSON value without a raw line break, whatever the server's layout.

use std::sync::Arc;

use portion_core::policy::{
    ClientLimits, EnvelopeMode, LimitOverrides, MetadataMode, MetadataStyle, Policy, PolicyProfile,
    RenderOptions, RowStyle,
};
use portion_core::redact::RedactionRules;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_json::scan::{JsonReader, quote};
use portion_policy::listing::ListingOptions;
use serde_json::{Value, json};

use super::{McpProcessor, Quarters, client, processor_with_policy, server};

/// Returns layouts of a JSON value: compact, and with every kind of white space that JSON allows.
fn layouts(value: &Value) -> Vec<String> {
    let pretty = serde_json::to_string_pretty(value).expect("JSON");
    vec![
        value.to_string(),
        pretty.clone(),
        pretty.replace('\n', "\r\n"),
        pretty.replace('\n', "\r"),
        pretty.replace("  ", "\t"),
        format!("\n \t{pretty}\r\n\n"),
    ]
}

fn records(count: usize) -> Value {
    let record = |i| {
        json!({"id": i, "name": format!("Record {i}"), "status": "open", "password": "swordfish",
        "note": "a\nb".repeat(8), "tags": ["x", "y"]})
    };
    (0..count).map(record).collect::<Vec<_>>().into()
}

/// Returns payloads of every shape that is handled separately.
fn payloads() -> Vec<Value> {
    let object: serde_json::Map<String, Value> =
        (0..80).map(|i| (format!("field{i}"), json!({"a": i, "b": "long text ".repeat(12)}))).collect();
    let mut payloads = Vec::new();
    for count in [1, 60, 150] {
        payloads.push(json!({"entities": records(count), "relations": records(count.min(4))}));
        payloads.push(json!({"result": records(count)}));
        payloads.push(records(count));
    }
    payloads.extend([
        json!({"columns": ["a", "b"], "rows": (0..90).map(|i| json!([i, "some text"])).collect::<Vec<_>>()}),
        Value::Object(object),
        json!({"result": "A sentence of many.\n".repeat(2_000)}),
        json!({"result": true}),
        json!(true),
        json!(1.5),
        json!("a\nb"),
        json!(null),
    ]);
    payloads
}

/// Returns results with a payload as text in several layouts and as `structuredContent`.
fn results(payload: &Value) -> Vec<String> {
    let mut results = Vec::new();
    for (i, text) in layouts(payload).iter().enumerate() {
        let block = format!("{{\"type\":\"text\",\"text\":{}}}", quote(text));
        let uri = "\"uri\":\"u:1\",\"mimeType\":\"application/json\"";
        let embedded = format!("{{\"type\":\"resource\",\"resource\":{{{uri},\"text\":{}}}}}", quote(text));
        let wrapped = json!({"result": payload});
        let as_string = json!({"result": text});
        results.push(format!("{{\"content\":[{block}],\"structuredContent\":{payload}}}"));
        results.push(format!("{{\"content\":[{embedded}],\"structuredContent\":{wrapped}}}"));
        // For these the layout makes no difference to the code path.
        if i < 2 {
            results
                .push(format!("{{\"content\":[{block}],\"structuredContent\":{payload},\"isError\":true}}"));
            results.push(format!("{{\"content\":[{block},{embedded}]}}"));
            let text_block = "{\"type\":\"text\",\"text\":\"Done.\"}";
            results.push(format!("{{\"content\":[{text_block}],\"structuredContent\":{payload}}}"));
            results.push(format!("{{\"content\":[{block}],\"structuredContent\":{as_string}}}"));
        }
    }
    results
}

/// Returns policies and redaction rules that change how a reply is written.
fn options() -> Vec<(Policy, Option<Arc<RedactionRules>>)> {
    let secrets = || Some(Arc::new(RedactionRules::default_secrets()));
    let policy = |manner: RenderOptions, profile: PolicyProfile, rows: Option<RowStyle>| {
        LimitOverrides { render_options: manner, profile, rows, ..LimitOverrides::default() }
            .resolve(ClientLimits::UNKNOWN)
    };
    let usual = RenderOptions::default;
    let mut all = Vec::new();
    for metadata in [MetadataMode::WhenShaped, MetadataMode::Always] {
        for envelope in [EnvelopeMode::Auto, EnvelopeMode::Wrap] {
            for metadata_style in [MetadataStyle::Camel, MetadataStyle::Snake] {
                let manner = RenderOptions { metadata, envelope, metadata_style, ..usual() };
                all.push((policy(manner, PolicyProfile::Default, Some(RowStyle::Auto)), None));
            }
        }
    }
    all.push((policy(usual(), PolicyProfile::Lean, None), secrets()));
    all.push((policy(usual(), PolicyProfile::Default, None), secrets()));
    all
}

fn ask(processor: &McpProcessor, id: usize, method: &str, params: &Value) -> Vec<String> {
    client(processor, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
}

/// Asserts that each line is one JSON message without a raw line break, and returns the last.
fn lines(out: &[String], about: &str) -> Value {
    for line in out {
        let line = &line[2..];
        let whole = !line.contains(['\n', '\r']);
        assert!(whole, "a raw line break: {about}\n{:?}", line.chars().take(2_000).collect::<String>());
        let mut reader = JsonReader::new(line);
        reader
            .skip()
            .and_then(|_| reader.expect_end())
            .unwrap_or_else(|why| panic!("{why}: {about}\n{line}"));
    }
    out.last().map(|line| serde_json::from_str(&line[2..]).expect("JSON")).unwrap_or_default()
}

/// Asserts that a result and all its follow-ups are single lines.
fn check(processor: &McpProcessor, result: &str) {
    ask(processor, 7, "tools/call", &json!({"name": "t", "arguments": {}}));
    let out = server(processor, &format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}"));
    let about: String = result.chars().take(200).collect();
    let answer = lines(&out, &about);
    let notice = &answer["result"]["_meta"]["io.portion/notice"];
    for cursor in [&notice["nextCursor"], &notice["next_cursor"], &notice["meta"]["cursor"]] {
        if cursor.is_string() {
            for (name, arguments) in [
                ("portion_read", json!({"cursor": cursor})),
                ("portion_read", json!({"cursor": cursor, "raw": true})),
                ("list_t", json!({"cursor": cursor})),
            ] {
                lines(
                    &ask(processor, 8, "tools/call", &json!({"name": name, "arguments": arguments})),
                    &about,
                );
            }
        }
    }
}

#[test]
fn every_message_is_one_line() {
    for (policy, redact) in options() {
        let mut effective_policy = EffectivePolicy::new(policy, &Quarters, None);
        effective_policy.redact = redact;
        let processor = processor_with_policy(effective_policy, &ListingOptions::default());
        let schema = json!({"type": "object", "properties": {}});
        let tools = json!({"tools": [{"name": "t", "inputSchema": schema}, {"name": "list_t", "inputSchema": schema}]});
        ask(&processor, 1, "tools/list", &json!({}));
        lines(
            &server(&processor, &json!({"jsonrpc": "2.0", "id": 1, "result": tools}).to_string()),
            "the tools",
        );
        for payload in payloads() {
            results(&payload).iter().for_each(|result| check(&processor, result));
        }
    }
}
