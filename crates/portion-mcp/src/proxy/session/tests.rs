//! Tests of the sessions that a proxy keeps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use parking_lot::Mutex;
use portion_core::policy::ClientLimits;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, Principal, PrincipalResolver};
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::endpoint::{EndpointConfig, ListingOptions};

use super::{
    DORMANT_AFTER, MAX_SESSIONS, ProxySession, SWEEP_INTERVAL, SessionCache, SessionState,
    UNANSWERED_POSTS_TTL,
};
use crate::frame::Frame;
use crate::mcp::{McpProcessor, McpProcessorFactory};
use crate::message_processor::MessageProcessor as _;

/// A cache, and the clock that it reads.
struct Scene {
    cache: SessionCache,
    factory: McpProcessorFactory,
    now: Arc<Mutex<Instant>>,
}

impl Scene {
    fn new() -> Self {
        let now = Arc::new(Mutex::new(Instant::now()));
        let clock = Arc::clone(&now);
        let rules = EndpointRules::new(Arc::new(EndpointConfig::default()), ClientLimits::UNKNOWN);
        let store = Arc::new(MemoryStore::new(StoreLimits::default()));
        let clock = Arc::new(move || *clock.lock());
        let parts = GatewayParts { clock, ..GatewayParts::new(rules, store, [7; 32]) };
        let factory =
            McpProcessorFactory::new(Arc::new(Gateway::new(parts)), ListingOptions::default(), 1 << 20);
        Self { cache: SessionCache::default(), factory, now }
    }

    fn wait(&self, time: Duration) {
        *self.now.lock() += time;
    }

    /// Begins a session with the name of a client and a list of tools.
    fn begin(&self, id: &str) {
        let session = ProxySession::without_id(&principal(""), &self.factory);
        let processor = session.post_processor();
        process(&processor, INITIALIZE, r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}"#);
        self.cache.insert_started(&principal(id), Some(id), &processor, self.factory.gateway.now());
        process(&self.get(id).post_processor(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, TOOLS);
    }

    fn get(&self, id: &str) -> Arc<ProxySession> {
        self.cache.get_or_insert(&principal(id), &self.factory)
    }

    /// Lets a request arrive after this time. Returns the number of dormant sessions.
    fn dormant_after(&self, time: Duration) -> usize {
        self.wait(time);
        self.get("other");
        let is_dormant = |state: &SessionState| matches!(state, SessionState::Dormant(_));
        self.cache.0.lock().by_key.values().filter(|session| is_dormant(&session.state)).count()
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"claude-code","version":"1"}}}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}]}}"#;

fn process(processor: &McpProcessor, request: &str, response: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(
        processor.process_client_message(processor.parse_client_frame(Frame::Message(request.into()))),
    );
    runtime.block_on(processor.process_server_frame(Frame::Message(response.into())));
}

fn principal(session: &str) -> Principal {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer t"));
    if !session.is_empty() {
        let id = HeaderValue::from_str(session).expect("an id");
        headers.insert(HeaderName::from_static("mcp-session-id"), id);
    }
    PrincipalResolver::new([0; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec()).identify("/mcp", None, &headers)
}

#[test]
fn abandoned_sessions_become_dormant_and_lose_nothing() {
    let scene = Scene::new();
    (0..50).for_each(|n| scene.begin(&format!("s{n}")));
    let session = scene.get("s7").processor.to_dormant().session;
    assert_eq!(scene.dormant_after(SWEEP_INTERVAL), 0);
    assert_eq!(scene.dormant_after(DORMANT_AFTER), 50);
    let woken = scene.get("s7");
    let known = woken.processor.to_dormant();
    assert!(Arc::ptr_eq(&known.session, &session), "it counts the tokens that were served");
    assert!(known.client.is_some_and(|client| client.preset == "claude-code"));
    assert!(known.allows_reuse);
    assert_eq!(woken.processor.header_params("t").len(), 1, "the tools are known");
    let (held, _) = woken.reserve_ids(["1"].into_iter());
    let (_, taken) = woken.reserve_ids(["1"].into_iter());
    assert!(taken.contains("1"), "ids are unique in it");
    drop(held);
    assert_eq!(scene.dormant_after(SWEEP_INTERVAL), 49, "it is in use");
    drop(woken);
    assert_eq!(scene.dormant_after(DORMANT_AFTER), 50);
}

#[test]
fn a_session_with_a_request_stays_active() {
    let scene = Scene::new();
    scene.begin("s");
    let stream = scene.get("s");
    assert_eq!(scene.dormant_after(DORMANT_AFTER), 0, "a stream is open");
    let post = Arc::new(stream.post_processor());
    drop(stream);
    assert_eq!(scene.dormant_after(DORMANT_AFTER), 0, "a post is processed");
    scene.get("s").keep_unanswered(post);
    assert_eq!(scene.dormant_after(DORMANT_AFTER), 0, "a post may be resumed");
    assert_eq!(scene.dormant_after(UNANSWERED_POSTS_TTL), 1);
}

#[test]
fn a_verified_caller_uses_its_own_sessions_only() {
    let (scene, resolver) = (Scene::new(), PrincipalResolver::new([7; 32], Vec::new()));
    let of = |name: &str, id: &'static str| {
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static("mcp-session-id"), HeaderValue::from_static(id))]);
        resolver.identify_verified(&["token", name], "/mcp", None, &headers)
    };
    let processor = ProxySession::without_id(&of("ada", ""), &scene.factory).post_processor();
    scene.cache.insert_started(&of("ada", ""), Some("1"), &processor, scene.factory.gateway.now());
    let check = |name: &str, id: &'static str, expect: bool| {
        assert_eq!(scene.cache.is_own(&of(name, id)), expect, "{name} {id}");
    };
    check("ada", "1", true);
    check("bob", "1", false);
    check("ada", "2", false);
    check("bob", "", true);
    scene.cache.remove(&of("bob", "1"));
    check("ada", "1", true);
    scene.cache.remove(&of("ada", "1"));
    check("ada", "1", false);
    assert!(scene.cache.is_own(&principal("unknown")), "servers refuse sessions of callers that they see");
}

#[test]
fn a_caller_with_many_sessions_evicts_its_own_only() {
    let (scene, resolver) = (Scene::new(), PrincipalResolver::new([7; 32], Vec::new()));
    let of = |name: &str, query: &str, id: &str| {
        let value = HeaderValue::from_str(id).expect("an id");
        let headers = HeaderMap::from_iter([(HeaderName::from_static("mcp-session-id"), value)]);
        resolver.identify_verified(&["token", name], "/mcp", Some(query), &headers)
    };
    let processor = ProxySession::without_id(&of("ada", "", ""), &scene.factory).post_processor();
    let begin = |caller: &Principal| {
        let id = caller.session_id();
        scene.cache.insert_started(caller, id, &processor, scene.factory.gateway.now());
    };
    let ids: Vec<String> = (0..2 * MAX_SESSIONS).map(|n| n.to_string()).collect();
    ids.iter().take(9).for_each(|id| begin(&of("ada", "", id)));
    // Another query makes another principal, but not another caller.
    ids.iter().for_each(|id| begin(&of("mallory", id, id)));
    let own = |name: &str, query: &str, id: &str| scene.cache.is_own(&of(name, query, id));
    assert!(ids.iter().take(9).all(|id| own("ada", "", id)));
    let kept = ids.iter().filter(|id| own("mallory", id, id)).count();
    assert!((MAX_SESSIONS / 2 - 9..=MAX_SESSIONS - 9).contains(&kept), "{kept}");
    assert!(ids.iter().rev().take(kept).all(|id| own("mallory", id, id)), "the older ones are evicted");
}

#[test]
fn sessions_of_many_callers_are_evicted_by_their_last_use() {
    let (scene, resolver) = (Scene::new(), PrincipalResolver::new([7; 32], Vec::new()));
    let headers =
        HeaderMap::from_iter([(HeaderName::from_static("mcp-session-id"), HeaderValue::from_static("s"))]);
    let of = |name: usize| resolver.identify_verified(&[&name.to_string()], "/mcp", None, &headers);
    let processor = ProxySession::without_id(&of(0), &scene.factory).post_processor();
    for n in 0..=MAX_SESSIONS {
        scene.cache.insert_started(&of(n), Some("s"), &processor, scene.factory.gateway.now());
    }
    let kept = (0..=MAX_SESSIONS).filter(|n| scene.cache.is_own(&of(*n)));
    assert!(kept.eq(MAX_SESSIONS / 8..=MAX_SESSIONS));
}
