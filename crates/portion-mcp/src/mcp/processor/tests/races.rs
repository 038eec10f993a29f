//! Races of a response with a second one, a timeout and a cancellation, on threads: no request gets two replies.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::policy::ClientLimits;
use portion_policy::endpoint::EndpointConfig;

use super::*;

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"free","arguments":{}}}"#;
const OTHER: &str = r#"{"jsonrpc":"2.0","id":7,"method":"vendor/thing","params":{}}"#;
const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
const TIMEOUT: Duration = Duration::from_mins(10);

type Step<'a> = dyn Fn() -> Vec<String> + Sync + 'a;

/// Number of races of each kind. The long tests set another one.
fn races() -> usize {
    std::env::var("CANCEL_RACES").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000)
}

/// Prepares and runs races: in each, every step runs once, all at the same moment. Checks what each race sent.
fn race(prepare: impl Fn(), steps: &[&Step<'_>], check: impl Fn(&[String])) {
    let (start, end) = (Barrier::new(steps.len() + 1), Barrier::new(steps.len() + 1));
    let (sent, count) = (Mutex::new(Vec::new()), races());
    std::thread::scope(|threads| {
        for step in steps {
            threads.spawn(|| {
                for _ in 0..count {
                    start.wait();
                    let out = step();
                    sent.lock().extend(out);
                    end.wait();
                }
            });
        }
        for _ in 0..count {
            prepare();
            start.wait();
            end.wait();
            check(&std::mem::take(&mut *sent.lock()));
        }
    });
}

fn processor_with_timeout() -> McpProcessor {
    let written = EndpointConfig { request_timeout: Some(TIMEOUT), ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN);
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Arc::new(Gateway::new(GatewayParts::new(rules, store, [7; 32])));
    let factory = McpProcessorFactory::new(gateway, ListingOptions::default(), 1 << 20);
    let processor = factory.new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, &LIST[2..]);
    processor
}

/// Races responses and a timeout, with or without a cancellation. Each race sends `replies` to the client.
fn check_replies(request: &str, is_cancelled: bool, replies: std::ops::RangeInclusive<usize>) {
    let processor = processor_with_timeout();
    let text = big();
    let response =
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
    let small = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
    let respond = || server(&processor, &response);
    let respond_again = || server(&processor, small);
    let expire = || sent(processor.expire_requests(Instant::now() + 2 * TIMEOUT));
    let cancel = || if is_cancelled { client(&processor, CANCEL) } else { Vec::new() };
    race(
        || assert_eq!(client(&processor, request).len(), 1),
        &[&respond, &respond_again, &expire, &cancel],
        |sent| {
            let count = sent.iter().filter(|message| message.starts_with("< ")).count();
            assert!(replies.contains(&count), "{count} replies: {sent:?}");
            assert_eq!(processor.pending_count(), 0);
        },
    );
}

#[test]
fn a_call_gets_one_reply() {
    check_replies(CALL, false, 1..=1);
}

#[test]
fn a_relayed_request_gets_one_reply() {
    check_replies(OTHER, false, 1..=1);
}

#[test]
fn a_cancelled_call_gets_one_reply_at_most() {
    check_replies(CALL, true, 0..=1);
}

#[test]
fn a_cancelled_query_gets_one_reply_at_most() {
    let processor = processor_with_tools();
    let cursor = cursor(&processor, "{}");
    let arguments = format!(r#"{{"cursor":"{cursor}","find":"line 77"}}"#);
    let query = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"portion_query","arguments":{arguments}}}}}"#
    );
    let message = || parsed(&*query);
    let ask = || sent(run(processor.process_deferred(message())));
    let cancel = || client(&processor, CANCEL);
    race(
        || assert!(processor.is_deferred(&message())),
        &[&ask, &cancel],
        |sent| {
            let count = sent.iter().filter(|message| message.starts_with("< ")).count();
            assert!(count <= 1, "{sent:?}");
        },
    );
}
