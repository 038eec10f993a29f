//! A gateway under test, with its store, clock and observer.
#![allow(dead_code, reason = "each suite takes what it needs")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::event::{Event, Observer, RequestServed};
use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::render::Portion;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply, ReuseKey, SnapshotQuery};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{CachedStore, MemoryStore, StoreLimits, StoreStats};
use portion_policy::endpoint::Endpoint;
use portion_tokens::TokenCounter;

use super::{follow_up, query};

/// Counts a token for every four bytes.
pub(crate) struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        text.floor_char_boundary(limit * 4)
    }
}

/// A counter that panics.
pub(crate) struct Broken;

impl TokenCounter for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn count(&self, _: &str) -> usize {
        panic!("the counter is broken")
    }

    fn prefix_within(&self, _: &str, _: usize) -> usize {
        panic!("the counter is broken")
    }
}

/// A gateway with its store, clock and records.
pub(crate) struct Trial {
    pub(crate) gateway: Gateway,
    pub(crate) store: CachedStore,
    now: Arc<Mutex<Instant>>,
    observer: Arc<RecordingObserver>,
}

/// Collects records.
#[derive(Default)]
pub(crate) struct RecordingObserver(pub(crate) Mutex<Vec<RequestServed>>);

impl Observer for RecordingObserver {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event {
            self.0.lock().expect("nobody panics with it").push(RequestServed::clone(&served));
        }
    }
}

const SECRET: [u8; 32] = [7; 32];

impl Trial {
    pub(crate) fn new() -> Self {
        Self::of(&Quarters, Arc::new(MemoryStore::default()))
    }

    pub(crate) fn of(counter: &'static dyn TokenCounter, store: impl Into<CachedStore>) -> Self {
        Self::on(EffectivePolicy::new(Policy::default(), counter, None), store)
    }

    /// Creates a gateway whose store holds this number of bytes.
    pub(crate) fn within(memory: usize) -> Self {
        Self::of(
            &Quarters,
            Arc::new(MemoryStore::new(StoreLimits { memory_bytes: memory, ..StoreLimits::default() })),
        )
    }

    /// Creates a gateway with this policy.
    pub(crate) fn on(terms: EffectivePolicy, store: impl Into<CachedStore>) -> Self {
        let store = store.into();
        let now = Arc::new(Mutex::new(Instant::now()));
        let time = Arc::clone(&now);
        let rules = EndpointRules::fixed(terms);
        let observer = Arc::new(RecordingObserver::default());
        let parts = GatewayParts {
            clock: Arc::new(move || *time.lock().expect("nobody panics with it")),
            observer: Arc::clone(&observer) as Arc<dyn Observer>,
            ..GatewayParts::new(rules, store.clone(), SECRET)
        };
        Self { gateway: Gateway::new(parts), store, now, observer }
    }

    pub(crate) fn pass(&self, by: Duration) {
        *self.now.lock().expect("nobody panics with it") += by;
    }

    pub(crate) fn caller(&self, scope: Scope) -> Caller {
        let rule = Arc::clone(self.gateway.rules().default_rule());
        Caller {
            received_at: self.gateway.now(),
            owns_scope: true,
            ..Caller::new(scope, ClientSession::with_id(scope, ""), rule)
        }
    }

    /// Returns the records since the last call, in the order of the requests.
    pub(crate) fn records(&self) -> Vec<RequestServed> {
        assert!(self.gateway.flush(Duration::from_mins(1)), "something is still to be told");
        let mut records = std::mem::take(&mut *self.observer.0.lock().expect("nobody panics with it"));
        records.sort_by_key(|served| served.request);
        records
    }

    pub(crate) fn stats(&self) -> StoreStats {
        let now = *self.now.lock().expect("nobody panics with it");
        self.store.stats(now)
    }

    pub(crate) async fn fresh(&self, endpoint: Endpoint, payload: Payload, request: Request) -> Reply {
        let reuse = Some(ReuseKey::new(&endpoint, "{}"));
        let (caller, endpoint) = (self.caller(ada()), Some(endpoint));
        self.gateway.answer(Call { caller, endpoint, payload, request, reuse }).await
    }

    pub(crate) async fn follow(&self, cursor: impl ToString) -> Reply {
        self.follow_as(ada(), Request { cursor: Some(cursor.to_string()), ..Request::default() }).await
    }

    pub(crate) async fn follow_as(&self, scope: Scope, request: Request) -> Reply {
        follow_up(&self.gateway, self.caller(scope), None, request).await
    }

    /// Sends a query on the content of a cursor, by a caller with a query tool.
    pub(crate) async fn ask(&self, cursor: impl ToString, ask: SnapshotQuery) -> Reply {
        self.ask_for(Request { cursor: Some(cursor.to_string()), ..Request::default() }, ask).await
    }

    pub(crate) async fn ask_for(&self, request: Request, ask: SnapshotQuery) -> Reply {
        self.ask_as(ada(), request, ask).await
    }

    pub(crate) async fn ask_as(&self, scope: Scope, request: Request, ask: SnapshotQuery) -> Reply {
        query(&self.gateway, self.caller(scope), request, ask).await
    }

    pub(crate) async fn recall(&self, scope: Scope, endpoint: &Endpoint, request: Request) -> Option<Reply> {
        let reuse = ReuseKey::new(endpoint, "{}");
        self.gateway.answer_from_reuse(&self.caller(scope), endpoint, &reuse, &request).await
    }
}

pub(crate) fn ada() -> Scope {
    Scope::from_principal("ada")
}

pub(crate) fn portion(reply: Reply) -> Portion {
    match reply {
        Reply::Portion(portion) => portion,
        other => panic!("expected a portion: {other:?}"),
    }
}

pub(crate) fn fault(reply: Reply) -> Fault {
    match reply {
        Reply::Fault(fault) => fault,
        other => panic!("expected a fault: {other:?}"),
    }
}

pub(crate) fn notice(portion: &Portion) -> serde_json::Value {
    serde_json::from_str(portion.notice()).expect("a notice is JSON")
}

pub(crate) fn next_cursor(portion: &Portion) -> Option<String> {
    notice(portion)["nextCursor"].as_str().map(str::to_owned)
}

pub(crate) fn shown(portion: &Portion) -> String {
    portion.pieces().iter().map(|piece| piece.body.as_str()).collect()
}
