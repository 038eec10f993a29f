//! Tests of trace contexts: changed only if traces are exported, and then with the same length.

use std::sync::Mutex;
use std::time::Duration;

use portion_core::event::{Event, Observer, TraceContext};

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
            self.0.lock().expect("nobody panics").push(served.trace);
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
    let factory =
        McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20).with_tracing(traces);
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
    observer.0.lock().expect("nobody panics").pop().expect("it was served").expect("it belongs to a trace")
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
