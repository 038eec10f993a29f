//! Tests of the log: outcome and sizes of each reply, and never content of payloads or requests.

use std::sync::Arc;
use std::time::Duration;

use portion_core::cursor::Scope;
use portion_core::payload::Payload;
use portion_core::policy::{ClientLimits, LimitOverrides, OrderStrategy};
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Reply, SnapshotQuery};
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::endpoint::EndpointConfig;
use portion_tokens::Tokenizer;

use crate::samples::lines::Lines;
use crate::samples::{bookings, list_bookings, query, text};

/// Makes one call after another, and asserts that each log line contains these parts.
async fn check(memory: usize, calls: Vec<(usize, Request)>, expect: &[&[&str]]) {
    let log = logged(memory, LimitOverrides::default(), async |clerk| {
        for (count, request) in calls {
            clerk.fresh(bookings(count), request).await;
        }
    });
    hold(&log.await, expect);
}

/// A gateway, called by one client.
struct TestGateway {
    gateway: Gateway,
}

impl TestGateway {
    async fn fresh(&self, payload: Payload, request: Request) -> Reply {
        self.fresh_of(None, payload, request).await
    }

    /// Calls one of several servers.
    async fn fresh_of(&self, upstream: Option<&str>, payload: Payload, request: Request) -> Reply {
        let (caller, endpoint) = (self.caller(upstream), Some(list_bookings()));
        let reply = self.gateway.answer(Call { caller, endpoint, payload, request, reuse: None }).await;
        // The log line is written when the record is complete.
        assert!(self.gateway.flush(Duration::from_mins(1)));
        reply
    }

    fn caller(&self, upstream: Option<&str>) -> Caller {
        let scope = Scope::from_principal("secret-token");
        let rule = Arc::clone(self.gateway.rules().default_rule());
        let upstream = upstream.map(Arc::from);
        Caller { upstream, query_tool: None, ..Caller::new(scope, ClientSession::with_id(scope, ""), rule) }
    }
}

/// Returns the log of these calls.
async fn logged(memory: usize, given: LimitOverrides, calls: impl AsyncFnOnce(&TestGateway)) -> String {
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    let store = MemoryStore::new(StoreLimits { memory_bytes: memory, ..StoreLimits::default() });
    let written = EndpointConfig { limits: given, tokenizer: Tokenizer::Chars4, ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN);
    let gateway = Gateway::new(GatewayParts::new(rules, Arc::new(store), [7; 32]));
    calls(&TestGateway { gateway }).await;
    drop(guard);
    lines.text()
}

fn hold(log: &str, expect: &[&[&str]]) {
    assert_eq!(log.lines().count(), expect.len(), "{log}");
    for (line, parts) in log.lines().zip(expect) {
        for part in *parts {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
    for secret in ["Guest", "confirmed", "secret-token", "nowhere", "\"id\""] {
        assert!(!log.contains(secret), "{secret} has leaked: {log}");
    }
}

fn plain(count: usize) -> (usize, Request) {
    (count, Request::default())
}

#[tokio::test]
async fn portions_are_logged_with_sizes_kind_tokens_and_reduction() {
    let expect = [
        "INFO",
        "list_bookings",
        "outcome=\"paginated\"",
        "original_bytes=",
        " bytes=",
        "tokens=",
        "reduction=0.9",
    ];
    // A page without a requested size: with one, records are reduced to their identities before there are
    // fewer.
    let many = Request { max_tokens: Some(400), ..Request::default() };
    check(1 << 20, vec![plain(2_000), (2_000, many)], &[&expect, &["stages=\"", "fewer\""]]).await;
}

#[tokio::test]
async fn small_payloads_and_faults_are_logged() {
    let wrong = Request { path: Some("/nowhere".into()), ..Request::default() };
    let calls = vec![plain(2), (2, wrong)];
    check(1 << 20, calls, &[&["INFO", "untouched", "original_bytes="], &["INFO", "path_unknown"]]).await;
}

#[tokio::test]
async fn evictions_and_refusals_are_logged() {
    let evicted: &[&str] = &["INFO", "evicted", "list_bookings", "bytes="];
    let served: &[&str] = &["INFO", "paginated"];
    check(200_000, vec![plain(2_000), plain(2_000)], &[served, evicted, served]).await;
    check(50_000, vec![plain(2_000)], &[&["WARN", "without cursors", "bytes exceed"], served]).await;
}

#[tokio::test]
async fn queries_are_logged_with_kind_and_matches_but_without_text() {
    let log = logged(1 << 20, LimitOverrides::default(), async |clerk| {
        let reply = clerk.fresh(bookings(2_000), Request::default()).await;
        let Reply::Portion(first) = reply else { panic!("{reply:?}") };
        let notice: serde_json::Value = serde_json::from_str(first.notice()).expect("JSON");
        let cursor = notice["meta"]["cursor"].as_str().map(str::to_owned);
        let request = Request { cursor, ..Request::default() };
        let params = vec![("who".into(), "\"Guest 7\"".into())];
        let sql = "SELECT * FROM items WHERE \"guest.name\" = :who AND status = 'confirmed'".into();
        let find = SnapshotQuery::Find {
            pattern: "Guest 1".into(),
            context: None,
            fields: Some("id".into()),
            keys: false,
        };
        let wrong = SnapshotQuery::Sql {
            sql: "SELECT nowhere FROM items".into(),
            params: Vec::new(),
            with: Vec::new(),
        };
        for ask in [SnapshotQuery::Sql { sql, params, with: Vec::new() }, find, wrong] {
            query(&clerk.gateway, clerk.caller(None), request.clone(), ask).await;
            assert!(clerk.gateway.flush(Duration::from_mins(1)));
        }
    });
    let queried = "INFO message=queried endpoint=\"list_bookings\"";
    hold(
        &log.await,
        &[
            &["INFO", "outcome=\"paginated\""],
            &[
                queried,
                "kind=\"sql\"",
                "arguments=\"sql,params\"",
                "matches=1 ",
                "original_bytes=",
                "answer_bytes=",
            ],
            &["INFO", "served a portion", "outcome=\"queried\"", "tokens="],
            &[queried, "kind=\"find\"", "arguments=\"find,fields\"", "matches=1111 "],
            &["INFO", "served a portion", "outcome=\"queried\""],
            &["INFO", "served a fault", "query_invalid"],
        ],
    );
}

#[tokio::test]
async fn dropped_ranked_results_are_logged_as_warnings() {
    let scored = |count: usize| {
        let words = "what was found ".repeat(40);
        let found = |n: usize| format!("{{\"score\":{}.5,\"text\":\"{n} {words}\"}}", count - n);
        text(format!("[{}]", (0..count).map(found).collect::<Vec<_>>().join(",")))
    };
    let ranked = LimitOverrides { strategy: Some(OrderStrategy::Ranked), ..LimitOverrides::default() };
    let log = logged(1 << 20, ranked, async |clerk| {
        for count in [200, 2] {
            clerk.fresh(scored(count), Request::default()).await;
        }
    });
    hold(
        &log.await,
        &[
            &["WARN", "ranked results", "endpoint=\"list_bookings\"", "dropped=1"],
            &["INFO", "served a portion", "outcome=\"paginated\""],
            &["INFO"],
        ],
    );
}

#[tokio::test]
async fn log_lines_name_the_server() {
    let log = logged(1 << 20, LimitOverrides::default(), async |clerk| {
        for (upstream, count) in [("docs", 2_000), ("git", 2)] {
            clerk.fresh_of(Some(upstream), bookings(count), Request::default()).await;
        }
    });
    hold(
        &log.await,
        &[
            &["upstream=\"docs\" endpoint=\"list_bookings\"", "request_id="],
            &["upstream=\"git\" endpoint=\"list_bookings\"", "request_id="],
        ],
    );
}

#[tokio::test]
async fn a_reply_that_is_larger_than_its_payload_has_no_reduction() {
    let path = |path: &str| Request { path: Some(path.into()), ..Request::default() };
    let calls = vec![(1, path("/0/status")), (2_000, Request::default())];
    let log = logged(1 << 20, LimitOverrides::default(), async |clerk| {
        for (count, request) in calls {
            clerk.fresh(bookings(count), request).await;
        }
    });
    let log = log.await;
    let has_reduction: Vec<bool> = log.lines().map(|line| line.contains("reduction=")).collect();
    assert_eq!(has_reduction, [false, true], "{log}");
}
