//! Tests of request timeouts with a manual clock.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::policy::ClientLimits;
use portion_gateway::gateway_parts::Clock;
use portion_policy::endpoint::EndpointConfig;

use super::*;

const TIMEOUT: Duration = Duration::from_mins(10);

/// A processor and its clock.
struct Timed {
    processor: McpProcessor,
    now: Arc<Mutex<Instant>>,
}

fn processor_with_timeout(timeout: Duration, clock: Clock) -> McpProcessor {
    let written = EndpointConfig { request_timeout: Some(timeout), ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN);
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Gateway::new(GatewayParts { clock, ..GatewayParts::new(rules, store, [7; 32]) });
    let factory = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20);
    factory.new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
}

impl Timed {
    fn new() -> Self {
        let now = Arc::new(Mutex::new(Instant::now()));
        let clock = Arc::clone(&now);
        let processor = processor_with_timeout(TIMEOUT, Arc::new(move || *clock.lock()));
        client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
        server(&processor, &LIST[2..]);
        Self { processor, now }
    }

    /// Creates a processor that holds a call until it has the list of tools.
    fn with_held_call() -> Self {
        let timed = Self::new();
        server(&timed.processor, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let sent = client(&timed.processor, HELD_CALL);
        assert!(sent[0].contains("tools/list"), "the call waits for the list of tools");
        timed
    }

    /// Returns the outgoing messages once these seconds have passed.
    fn after(&self, seconds: u64) -> Vec<String> {
        let now = {
            let mut now = self.now.lock();
            *now += Duration::from_secs(seconds);
            *now
        };
        sent(self.processor.expire_requests(now))
    }
}

const HELD_CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"new","arguments":{"limit":2}}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{}}}"#;
const CANCELLED: &str = r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no response within requestTimeout"}}"#;

#[test]
fn a_timed_out_call_gets_one_error_and_its_late_response_is_dropped() {
    let timed = Timed::new();
    client(&timed.processor, CALL);
    assert_eq!(timed.after(599), [""; 0]);
    let [error, cancelled] = &timed.after(1)[..] else { panic!("an error and a cancellation") };
    for part in [r#""id":1,"result":{"#, r#""isError":true"#, "upstream_timeout", "600 s", "may have acted"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(error.starts_with("< "), "{error}");
    assert_eq!(cancelled, CANCELLED);
    assert_eq!(timed.processor.pending_count(), 0);
    let late = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"late"}]}}"#;
    assert_eq!(server(&timed.processor, late), [""; 0]);
    assert_eq!(timed.after(6000), [""; 0]);
}

#[test]
fn other_timed_out_requests_get_an_error() {
    let timed = Timed::new();
    client(&timed.processor, r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#);
    let out = timed.after(600);
    assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-32603"#), "{out:?}");
    assert_eq!(out[1..], [CANCELLED]);
}

#[test]
fn initialize_is_not_cancelled() {
    let timed = Timed::new();
    client(&timed.processor, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    let out = timed.after(600);
    assert!(out.len() == 1 && out[0].contains("upstream_timeout"), "{out:?}");
}

#[test]
fn requests_that_wait_on_purpose_have_no_timeout() {
    for method in ["subscriptions/listen", "tasks/result"] {
        let timed = Timed::new();
        client(&timed.processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#));
        assert_eq!(timed.after(60_000), [""; 0], "{method}");
    }
}

#[test]
fn progress_restarts_the_timer() {
    let timed = Timed::new();
    let meta = r#""_meta":{"progressToken":"p\u0031"},"name":"free""#;
    client(&timed.processor, &CALL.replace(r#""name":"free""#, meta));
    let report = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    };
    for _ in 0..5 {
        assert_eq!(timed.after(500), [""; 0]);
        server(&timed.processor, &report(r#""p1""#));
    }
    assert_eq!(timed.after(500), [""; 0]);
    server(&timed.processor, &report(r#""another""#));
    assert_eq!(timed.after(100).len(), 2);
}

#[test]
fn progress_on_another_stream_of_the_session_restarts_the_timer() {
    let timed = Timed::new();
    let post = Timed { processor: timed.processor.fork_in_session(), now: Arc::clone(&timed.now) };
    client(&post.processor, &CALL.replace(r#""name""#, r#""_meta":{"progressToken":7},"name""#));
    assert_eq!(timed.after(500), [""; 0]);
    server(
        &timed.processor,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#,
    );
    assert_eq!(post.after(500), [""; 0]);
    assert_eq!(post.after(100).len(), 2);
}

#[test]
fn timers_pause_while_the_client_is_asked() {
    let asks = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}"#;
    for (end, by_client) in [
        (r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}"#, true),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#, false),
    ] {
        let timed = Timed::new();
        client(&timed.processor, CALL);
        assert_eq!(timed.after(500), [""; 0]);
        server(&timed.processor, asks);
        assert_eq!(timed.after(60_000), [""; 0]);
        if by_client {
            client(&timed.processor, end)
        } else {
            server(&timed.processor, end)
        };
        assert_eq!(timed.after(500), [""; 0]);
        assert_eq!(timed.after(100).len(), 2);
    }
}

#[test]
fn a_call_that_was_never_sent_is_not_cancelled() {
    let timed = Timed::with_held_call();
    let out = timed.after(600);
    assert!(out.len() == 1 && out[0].contains("was not sent"), "{out:?}");
}

#[test]
fn the_timeout_future_notices_later_requests() {
    let processor = processor_with_timeout(Duration::from_millis(20), Arc::new(Instant::now));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let call = processor.process_client_message(parsed(CALL));
    // The timeout future is polled first, when no request is pending.
    let (expired, _) = runtime.block_on(async { tokio::join!(biased; processor.next_timeout(), call) });
    assert_eq!(sent(expired)[1..], [CANCELLED]);
}

#[test]
fn calls_do_not_wait_forever_for_the_list_of_tools() {
    let timed = Timed::with_held_call();
    assert_eq!(timed.after(30), [""; 0]);
    let released = run(timed.processor.next_timeout());
    assert_eq!(sent(released), [format!("> {HELD_CALL}")]);
    assert_eq!((timed.processor.pending_count(), timed.processor.has_held_messages()), (1, false));
}
