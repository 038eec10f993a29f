//! Every outgoing message is one JSON value without a raw line break, whatever the server's layout. Trace contexts
//! change only if traces are exported, and then keep their length.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portion_core::event::{Event, Observer, TraceContext};
use portion_core::policy::{
    ClientLimits, EnvelopeMode, LimitOverrides, MetadataMode, MetadataStyle, Policy, PolicyProfile,
    RenderOptions, RowStyle,
};
use portion_core::redact::RedactionRules;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_json::scan::{JsonReader, quote};
use portion_policy::endpoint::ListingOptions;
use serde_json::{Value, json};

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const ID: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const SPAN: u64 = 0xb7ad_6b71_6920_3331;

/// Trace contexts of served requests.
#[derive(Default)]
struct Heard(Mutex<Vec<Option<TraceContext>>>);

impl Observer for Heard {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event {
            self.0.lock().push(served.trace);
        }
    }
}

/// Creates a processor that knows its tools, and the observer of its records.
fn traced(traces: bool) -> (McpProcessor, Arc<Heard>) {
    let records: Arc<Heard> = Arc::default();
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let rules = EndpointRules::fixed(EffectivePolicy::new(Policy::default(), &Quarters, None));
    let observer = Arc::clone(&records) as Arc<dyn Observer>;
    let gateway = Gateway::new(GatewayParts { observer, ..GatewayParts::new(rules, store, [7; 32]) });
    let mut factory = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20);
    factory.exports_traces = traces;
    let processor = factory.new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, &LIST[2..]);
    (processor, records)
}

/// Builds a request with a `traceparent`, spaces and other members that a client may write around it.
fn request(method: &str, params: &str, parent: &str) -> String {
    format!(
        r#"{{ "jsonrpc":"2.0", "id":1,"method":"{method}","params":{{{params}, "_meta" : {{"tracestate":"a=1,b=2", "traceparent":"{parent}" ,"progressToken":1e0}}}} }}"#
    )
}

fn answer(processor: &McpProcessor, result: &str) {
    server(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
}

/// Returns the trace context of the last record, which is emitted after the reply.
fn last_trace(processor: &McpProcessor, observer: &Heard) -> TraceContext {
    assert!(processor.gateway.flush(Duration::from_mins(1)));
    observer.0.lock().pop().expect("it was served").expect("it belongs to a trace")
}

const CONTENT: [(&str, &str, &str); 3] = [
    (
        "tools/call",
        r#""name":"free","arguments":{"a":[1, 2]}"#,
        r#"{"content":[{"type":"text","text":"hello"}]}"#,
    ),
    ("resources/read", r#""uri":"file:///a""#, r#"{"contents":[{"uri":"file:///a","text":"hello"}]}"#),
    (
        "prompts/get",
        r#""name":"p""#,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#,
    ),
];

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

#[test]
fn without_exported_traces_requests_pass_unchanged() {
    let (processor, observer) = traced(false);
    for (method, params, result) in CONTENT {
        let message = request(method, params, PARENT);
        assert_eq!(client(&processor, &message), [format!("> {message}")]);
        answer(&processor, result);
        let TraceContext { id, parent, sampled, .. } = last_trace(&processor, &observer);
        assert_eq!((id, parent, sampled), (ID, SPAN, true), "{method}");
    }
}

#[test]
fn the_server_receives_the_gateways_span_and_no_other_byte_changes() {
    let (processor, observer) = traced(true);
    let mut spans = Vec::new();
    for (method, params, result) in CONTENT {
        let out = client(&processor, &request(method, params, PARENT));
        answer(&processor, result);
        let TraceContext { id, parent, span, .. } = last_trace(&processor, &observer);
        assert_eq!((id, parent), (ID, SPAN), "{method}");
        let ours = PARENT.replace("b7ad6b7169203331", &format!("{span:016x}"));
        assert_eq!(out, [format!("> {}", request(method, params, &ours))]);
        spans.push(span);
    }
    spans.dedup();
    assert_eq!(spans.len(), CONTENT.len());
}

#[test]
fn requests_without_a_gateway_span_pass_unchanged() {
    let (processor, _) = traced(true);
    let unsampled = PARENT.replace("-01", "-00");
    for parent in [unsampled.as_str(), "", "00-", &PARENT.to_uppercase(), &PARENT.replace("00-", "ff-")] {
        let message = request("tools/call", CONTENT[0].1, parent);
        assert_eq!(client(&processor, &message), [format!("> {message}")]);
        answer(&processor, CONTENT[0].2);
    }
    for method in ["tools/list", "resources/list", "completion/complete", "initialize", "ping"] {
        let message = request(method, r#""a":1"#, PARENT);
        assert_eq!(client(&processor, &message), [format!("> {message}")]);
        answer(&processor, r#"{"tools":[],"capabilities":{}}"#);
    }
}

#[test]
fn a_follow_up_has_a_span_without_reaching_the_server() {
    let (processor, observer) = traced(true);
    let message = request("tools/call", r#""name":"list_x","arguments":{}"#, PARENT);
    client(&processor, &message);
    let text = big();
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
    let out = server(&processor, &answer);
    let (_, rest) = out[0].split_once(r#""nextCursor":""#).expect("more");
    let first = last_trace(&processor, &observer);
    let params = format!(r#""name":"portion_read","arguments":{{"cursor":"{}"}}"#, leading_cursor(rest));
    let out = client(&processor, &request("tools/call", &params, PARENT));
    assert!(out[0].starts_with('<'), "{out:?}");
    let next = last_trace(&processor, &observer);
    assert_eq!((next.id, next.parent), (ID, SPAN));
    assert_ne!(next.span, first.span);
}

proptest! {
    /// Whatever the value, a forwarded request keeps its length, and all bytes except the span id.
    #[test]
    fn any_traceparent_keeps_its_length(parent in "[0-9a-f-]{0,60}|00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}") {
        let (processor, _) = traced(true);
        let message = request("tools/call", CONTENT[0].1, &parent);
        let out = client(&processor, &message);
        let went = out[0].strip_prefix("> ").expect("it goes on");
        prop_assert_eq!(went.len(), message.len());
        let changed = went.bytes().zip(message.bytes()).enumerate().filter(|(_, (a, b))| a != b);
        let places: Vec<usize> = changed.map(|(at, _)| at).collect();
        let start = message.find(&format!(r#""{parent}""#)).expect("it is there") + 1 + 36;
        prop_assert!(places.iter().all(|at| (start..start + 16).contains(at)), "{}", went);
    }
}
