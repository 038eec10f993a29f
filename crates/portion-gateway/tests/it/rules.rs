//! Tests of rules that change, differ between endpoints, or relay replies unshaped.

use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::event::{EndpointKind, ExperimentArm, Observer, Outcome, RequestServed, ServedError};
use portion_core::policy::{ClientLimits, LimitOverrides, RenderOptions, Techniques};
use portion_core::redact::RedactionRules;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Reply, ReuseKey, SnapshotQuery};
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::MemoryStore;
use portion_policy::endpoint::{Endpoint, EndpointConfig, EndpointTarget, Experiment, PolicySource};
use portion_tokens::Tokenizer;
use serde_json::{Value, json};

use crate::samples::trial::{RecordingObserver, ada, fault, next_cursor, notice, portion, shown};
use crate::samples::{bookings, create_order, follow_up, list_bookings, query, text};

/// A gateway with configurable rules, and its observer.
struct GatewayFixture {
    gateway: Gateway,
    observer: Arc<RecordingObserver>,
    session: Arc<ClientSession>,
}

impl GatewayFixture {
    fn under(policy_source: impl PolicySource + 'static) -> Self {
        let observer = Arc::new(RecordingObserver::default());
        let parts = GatewayParts {
            observer: Arc::clone(&observer) as Arc<dyn Observer>,
            ..GatewayParts::new(rules(policy_source), Arc::new(MemoryStore::default()), [7; 32])
        };
        Self { gateway: Gateway::new(parts), observer, session: ClientSession::with_id(ada(), "one") }
    }

    /// Returns a caller under the current rules.
    fn caller(&self, endpoint: Option<&Endpoint>) -> Caller {
        let rules = self.gateway.rules();
        let rule = match endpoint {
            Some(Endpoint { name, kind, .. }) => {
                rules.rule_for(EndpointTarget { upstream: None, kind: *kind, name })
            }
            None => Arc::clone(rules.default_rule()),
        };
        Caller::new(ada(), Arc::clone(&self.session), rule)
    }

    async fn fresh(&self, endpoint: Endpoint, payload: portion_core::payload::Payload) -> Reply {
        self.fresh_of(self.caller(Some(&endpoint)), endpoint, payload).await
    }

    async fn fresh_of(
        &self,
        caller: Caller,
        endpoint: Endpoint,
        payload: portion_core::payload::Payload,
    ) -> Reply {
        let reuse = Some(ReuseKey::new(&endpoint, "{}"));
        let (endpoint, request) = (Some(endpoint), Request::default());
        self.gateway.answer(Call { caller, endpoint, payload, request, reuse }).await
    }

    async fn follow(&self, cursor: Option<String>) -> Reply {
        let request = Request { cursor, ..Request::default() };
        follow_up(&self.gateway, self.caller(None), None, request).await
    }

    /// Waits for this number of records, and returns the last.
    async fn record(&self, requests: usize) -> RequestServed {
        loop {
            {
                let records = self.observer.0.lock().expect("nobody panics with it");
                if records.len() >= requests {
                    assert_eq!(records.len(), requests);
                    return records[requests - 1].clone();
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

fn rules(policy_source: impl PolicySource + 'static) -> EndpointRules {
    EndpointRules::new(Arc::new(policy_source), ClientLimits::UNKNOWN)
}

fn written(limits: LimitOverrides) -> EndpointConfig {
    EndpointConfig { limits, tokenizer: Tokenizer::Chars4, ..EndpointConfig::default() }
}

fn pages_of(size: usize) -> EndpointConfig {
    written(LimitOverrides { default_page_size: Some(size), ..LimitOverrides::default() })
}

fn without(techniques: Techniques) -> EndpointConfig {
    written(LimitOverrides {
        render_options: RenderOptions { techniques, ..RenderOptions::default() },
        ..LimitOverrides::default()
    })
}

fn served(reply: Reply) -> u64 {
    notice(&portion(reply))["meta"]["served"].as_u64().expect("a page")
}

/// V3.1: a change applies to later requests, but not to earlier ones and their follow-ups.
#[tokio::test]
async fn v3_1_changes_apply_to_later_requests() {
    let fixture = GatewayFixture::under(pages_of(20));
    let early = fixture.caller(Some(&list_bookings()));
    let before = portion(fixture.fresh(list_bookings(), bookings(500)).await);
    assert_eq!(notice(&before)["meta"]["served"], 20);

    fixture.gateway.replace_rules(rules(pages_of(30)));
    assert_eq!(served(fixture.fresh(list_bookings(), bookings(500)).await), 30);
    let in_flight = fixture.fresh_of(early, list_bookings(), bookings(500)).await;
    assert_eq!(served(in_flight), 20, "it was under way");
    let next = portion(fixture.follow(next_cursor(&before)).await);
    assert_eq!(notice(&next)["meta"]["served"], 20, "a snapshot keeps its configuration");
    assert_eq!(served(fixture.follow(next_cursor(&next)).await), 20);
}

/// A snapshot from before `redact` was enabled is served neither by cursor nor for an equal call.
#[tokio::test]
async fn snapshots_captured_under_another_redaction_are_not_served() {
    let redacting = |secrets: bool| EndpointConfig {
        redact: secrets.then(|| Arc::new(RedactionRules::default_secrets())),
        ..pages_of(20)
    };
    let fixture = GatewayFixture::under(redacting(false));
    let reuse = ReuseKey::new(&list_bookings(), "{}");
    let again = async || {
        let request = Request { offset: Some(40), ..Request::default() };
        let caller = fixture.caller(Some(&list_bookings()));
        fixture.gateway.answer_from_reuse(&caller, &list_bookings(), &reuse, &request).await
    };
    let (caller, endpoint) = (fixture.caller(Some(&list_bookings())), Some(list_bookings()));
    let (payload, request) = (bookings(500), Request::default());
    let call = Call { caller, endpoint, payload, request, reuse: Some(reuse) };
    let before = portion(fixture.gateway.answer(call).await);

    fixture.gateway.replace_rules(rules(redacting(false)));
    assert_eq!(served(fixture.follow(next_cursor(&before)).await), 20, "the redaction is the same");
    assert!(again().await.is_some());

    fixture.gateway.replace_rules(rules(redacting(true)));
    assert_eq!(fault(fixture.follow(next_cursor(&before)).await).code.name(), "cursor_expired");
    assert!(again().await.is_none(), "the upstream is asked anew");
}

/// An error answers only its own call: an equal call asks the server again.
#[tokio::test]
async fn errors_are_not_reused() {
    let fixture = GatewayFixture::under(pages_of(20));
    let reuse = ReuseKey::new(&list_bookings(), "{}");
    let call = async |is_error: bool| {
        let payload = portion_core::payload::Payload { is_error, ..bookings(500) };
        let (caller, endpoint) = (fixture.caller(Some(&list_bookings())), Some(list_bookings()));
        let request = Request::default();
        portion(fixture.gateway.answer(Call { caller, endpoint, payload, request, reuse: Some(reuse) }).await)
    };
    let again = async || {
        let request = Request { offset: Some(40), ..Request::default() };
        let caller = fixture.caller(Some(&list_bookings()));
        fixture.gateway.answer_from_reuse(&caller, &list_bookings(), &reuse, &request).await
    };
    let failed = call(true).await;
    assert!(again().await.is_none(), "it would read as a success");
    assert_eq!(served(fixture.follow(next_cursor(&failed)).await), 20, "its cursor reads on");
    call(false).await;
    assert!(again().await.is_some());
    call(true).await;
    assert!(again().await.is_none(), "nor is what was answered before it");
}

/// Pages for bookings, and nothing for other endpoints.
struct BookingsAlone;

impl PolicySource for BookingsAlone {
    fn version(&self) -> u64 {
        3
    }

    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig {
        let pagination = target.is_some_and(|target| target.name == "list_bookings");
        without(Techniques { pagination, ..Techniques::ALL })
    }
}

/// V3.2: follow-ups of an endpoint with its own rule use that rule, too.
#[tokio::test]
async fn v3_2_rules_apply_to_their_endpoint_only() {
    let fixture = GatewayFixture::under(BookingsAlone);
    let page = portion(fixture.fresh(list_bookings(), bookings(500)).await);
    assert_eq!(notice(&page)["totalCount"], 500);
    assert_eq!(fixture.record(1).await.config, 3);
}

#[tokio::test]
async fn endpoints_that_are_not_rolled_out_are_relayed() {
    let off = portion_policy::endpoint::Rollout { percent: 0.0, ..Default::default() };
    let fixture = GatewayFixture::under(EndpointConfig { rollout: off.clone(), ..pages_of(20) });
    let reply = fixture.fresh(list_bookings(), bookings(5_000)).await;
    assert!(matches!(reply, Reply::Untouched), "{reply:?}");
    let record = fixture.record(1).await;
    assert_eq!((record.outcome, record.arm, record.shadow), (Outcome::Unshaped, None, None));
    assert_eq!(record.response_bytes, record.original_bytes);
    let tokens = record.estimated_tokens.expect("an estimate") as f64;
    assert!((tokens / (record.original_bytes as f64 * 0.3) - 1.0).abs() < 0.05, "{tokens}");

    let bounded = EndpointConfig { rollout: off, unshaped_byte_limit: Some(10_000), ..pages_of(20) };
    fixture.gateway.replace_rules(rules(bounded));
    assert_eq!(served(fixture.fresh(list_bookings(), bookings(5_000)).await), 20, "a hard limit stays on");
}

#[tokio::test]
async fn relayed_replies_are_redacted() {
    let redact = Some(Arc::new(RedactionRules::default_secrets()));
    let fixture =
        GatewayFixture::under(EndpointConfig { experiment: Experiment::Shadow, redact, ..pages_of(20) });
    let secret = |n: usize| format!("{{\"id\":{n},\"password\":\"hunter{n}\"}}");
    let all = format!("[{}]", (0..3_000).map(secret).collect::<Vec<_>>().join(","));
    let reply = portion(fixture.fresh(list_bookings(), text(all)).await);
    let shown = shown(&reply);
    assert!(!shown.contains("hunter"), "{}", &shown[..300]);
    assert!(shown.contains("\"id\":0") && shown.contains("\"id\":2999"), "the rest is whole");
    // Without anything to redact, the reply is unchanged.
    assert!(matches!(fixture.fresh(list_bookings(), bookings(3_000)).await, Reply::Untouched));
}

#[tokio::test]
async fn a_shadow_experiment_records_the_simulated_reply() {
    let fixture = GatewayFixture::under(EndpointConfig { experiment: Experiment::Shadow, ..pages_of(20) });
    let reply = fixture.fresh(list_bookings(), bookings(5_000)).await;
    assert!(matches!(reply, Reply::Untouched), "{reply:?}");
    let record = fixture.record(1).await;
    let shadow = record.shadow.expect("it was tried");
    assert_eq!((record.outcome, record.arm), (Outcome::Unshaped, Some(ExperimentArm::Unshaped)));
    assert_eq!(shadow.outcome, Outcome::Paginated);
    assert!(shadow.tokens <= 4_000 && shadow.bytes < record.response_bytes / 50, "{shadow:?}");
    // Without the experiment, the simulated reply is served.
    fixture.gateway.replace_rules(rules(pages_of(20)));
    let shaped = portion(fixture.fresh(list_bookings(), bookings(5_000)).await);
    assert_eq!(shadow.tokens, shaped.tokens() as u64);
}

#[tokio::test]
async fn a_dry_run_shapes_nothing() {
    let fixture = GatewayFixture::under(EndpointConfig { dry_run: true, ..pages_of(20) });
    for payload in [bookings(5_000), bookings(3), text("word ".repeat(100_000))] {
        assert!(matches!(fixture.fresh(create_order(), payload).await, Reply::Untouched));
    }
    assert!(fixture.record(3).await.shadow.is_some());
}

#[tokio::test]
async fn a_dry_run_redacts_and_tells_nothing_else() {
    let redact = Some(Arc::new(RedactionRules::default_secrets()));
    let fixture = GatewayFixture::under(EndpointConfig { dry_run: true, redact, ..pages_of(20) });
    let rows: Vec<String> =
        (0..5_000).map(|id| format!("{{\"id\":{id},\"password\":\"hunter{id}\"}}")).collect();
    let reply = portion(fixture.fresh(list_bookings(), text(format!("[{}]", rows.join(",")))).await);
    let shown = format!("{:?}", reply.pieces());
    assert!(shown.contains("4999") && !shown.contains("hunter"), "all records are shown");
    let notice: Value = serde_json::from_str(reply.notice()).expect("JSON");
    assert_eq!(notice["meta"]["redacted"], json!(["password"]), "{notice}");
    for internal in ["cursor", "budgetUsed", "budgetRemaining", "estimatedTokens", "next"] {
        assert!(notice["meta"].get(internal).is_none(), "{internal}: {notice}");
    }
    assert_eq!(notice["meta"]["pageSize"], 5_000, "{notice}");
}

#[tokio::test]
async fn queries_can_be_disabled() {
    let fixture = GatewayFixture::under(without(Techniques { query: false, ..Techniques::ALL }));
    let page = portion(fixture.fresh(list_bookings(), bookings(500)).await);
    let request = Request { cursor: next_cursor(&page), ..Request::default() };
    let ask = SnapshotQuery::Sql { sql: "SELECT 1".into(), params: Vec::new(), with: Vec::new() };
    let reply = query(&fixture.gateway, fixture.caller(None), request, ask).await;
    let fault = fault(reply);
    assert_eq!(fault.code.name(), "query_invalid");
    assert!(fault.message.contains("list_bookings") && fault.advice.contains("portion_read"), "{fault:?}");
}

#[tokio::test]
async fn reuse_is_configurable() {
    let check = async |reuse: Option<bool>, endpoint: Endpoint, request: Request, expect: bool| {
        let fixture = GatewayFixture::under(EndpointConfig { reuse, ..pages_of(20) });
        fixture.fresh(endpoint.clone(), bookings(500)).await;
        let (caller, key) = (fixture.caller(Some(&endpoint)), ReuseKey::new(&endpoint, "{}"));
        let reply = fixture.gateway.answer_from_reuse(&caller, &endpoint, &key, &request).await;
        assert_eq!(reply.is_some(), expect, "{reuse:?} {endpoint:?} {request:?}");
    };
    let fields = || Request { fields: Some("id".into()), ..Request::default() };
    let second = || Request { page: Some(2), ..Request::default() };
    check(None, create_order(), fields(), false).await;
    check(None, list_bookings(), fields(), true).await;
    check(None, create_order(), second(), true).await;
    check(Some(true), create_order(), fields(), true).await;
    check(Some(false), list_bookings(), fields(), false).await;
    check(Some(false), list_bookings(), second(), false).await;
}

#[tokio::test]
async fn replies_get_smaller_as_the_session_fills() {
    let fixture = GatewayFixture::under(EndpointConfig {
        session_budget: Some(20_000),
        ..written(LimitOverrides::default())
    });
    let mut costs = Vec::new();
    for _ in 0..60 {
        costs.push(portion(fixture.fresh(list_bookings(), bookings(5_000)).await).tokens());
    }
    let max: usize = costs[..40].iter().sum();
    assert!(max <= 20_000 + 20 * 300, "{max} {costs:?}");
    assert!(costs.is_sorted_by(|before, after| after <= &(before + 100)), "{costs:?}");
    assert!(costs[0] > 900 && costs[0] <= 2_000 && costs[59] <= 300, "{costs:?}");
    assert_eq!(fixture.session.served_tokens(), costs.iter().sum::<usize>());
    // Another session has its full budget.
    let caller =
        Caller { session: ClientSession::with_id(ada(), "two"), ..fixture.caller(Some(&list_bookings())) };
    let other = fixture.fresh_of(caller, list_bookings(), bookings(5_000)).await;
    assert_eq!(portion(other).tokens(), costs[0]);
}

#[tokio::test]
async fn each_request_is_recorded_once() {
    let fixture = GatewayFixture::under(pages_of(20));
    let page = portion(fixture.fresh(list_bookings(), bookings(500)).await);
    let record = fixture.record(1).await;
    assert_eq!((record.outcome, record.items, record.follow_up), (Outcome::Paginated, Some(20), false));
    assert_eq!((&*record.endpoint, record.kind), ("list_bookings", EndpointKind::Tool));
    assert_eq!(record.estimated_tokens, Some(page.tokens() as u64));
    assert!(
        record.original_tokens > record.estimated_tokens && record.original_bytes > record.response_bytes
    );
    fixture.follow(next_cursor(&page)).await;
    let next = fixture.record(2).await;
    assert_eq!((next.outcome, next.follow_up, &*next.endpoint), (Outcome::Paginated, true, "list_bookings"));
    assert!(next.request != record.request && next.session == record.session);
    fixture.follow(Some("forged".into())).await;
    let refused = fixture.record(3).await;
    assert_eq!(
        (refused.outcome, refused.error),
        (Outcome::Refused, Some(ServedError::Own(ErrorCode::CursorInvalid)))
    );
    fixture.fresh(list_bookings(), bookings(3)).await;
    assert_eq!(fixture.record(4).await.outcome, Outcome::Untouched);
}
