//! Measures the cost of the configuration per request: the rule of its endpoint, and the shaping of its session.
//!
//! `cargo bench -p portion-gateway --bench rules`

#[path = "../../portion-core/benches/figures/table.rs"]
mod table;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::policy::{ClientLimits, LimitOverrides};
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::client::{CLIENTS, ClientProfile};
use portion_policy::endpoint::{
    EndpointConfig, EndpointKind, EndpointTarget, Experiment, PolicySource, Rollout,
};
use table::Table;

/// Endpoints with rules of their own.
const ENDPOINTS: usize = 100;
/// Consecutive look-ups of each endpoint per run.
const ROUNDS: usize = 1_000;
/// Number of runs; the median is reported.
const RUNS: usize = 21;

/// A page size of its own for each endpoint, from the number at the end of its name.
struct Hundred(EndpointConfig);

impl PolicySource for Hundred {
    fn version(&self) -> u64 {
        1
    }

    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig {
        let number = target.and_then(|target| target.name.rsplit('_').next()?.parse::<usize>().ok());
        let limits =
            LimitOverrides { default_page_size: number.map(|number| 1 + number), ..self.0.limits.clone() };
        EndpointConfig { limits, ..self.0.clone() }
    }
}

fn main() {
    let mut table = Table::default();
    let rollout = |percent| Rollout { percent, salt: "list_*".into() };
    let plain = EndpointConfig::default();
    let rolled_out = EndpointConfig { rollout: rollout(25.0), ..EndpointConfig::default() };
    let split = EndpointConfig { experiment: Experiment::Split(rollout(50.0)), ..EndpointConfig::default() };
    let both = EndpointConfig { rollout: rollout(25.0), ..split.clone() };
    parts(&mut table, &plain);
    for (what, written) in [
        ("a request's share, for everybody", plain),
        ("a request's share, rollout 25", rolled_out),
        ("a request's share, split 50", split),
        ("a request's share, both", both),
    ] {
        let gateway = gateway(written);
        let client = CLIENTS.first();
        table.add(what, "1 µs", timed(|session, name| share(&gateway, client, session, name)));
    }
    table.print();
}

/// Measures the steps of the look-up separately.
fn parts(table: &mut Table, written: &EndpointConfig) {
    let gateway = gateway(written.clone());
    let rules = gateway.rules();
    let rule = rules.rule_for(target("list_7"));
    let general = rules.default_rule();
    table.add("the rules in force", "", timed(|_, _| drop(black_box(gateway.rules()))));
    table.add(
        "the rule of an endpoint, of 100",
        "",
        timed(|_, name| drop(black_box(rules.rule_for(target(name))))),
    );
    table.add(
        "the terms of a client",
        "",
        timed(|_, _| drop(black_box(Arc::clone(rule.policy_for_client(CLIENTS.last()))))),
    );
    table.add(
        "the treatment of a session, for everybody",
        "",
        timed(|session, _| {
            black_box(general.shaping_mode(session));
        }),
    );
    let policy = &rule.policy_for_client(None).policy;
    table.add(
        "within a session's budget, where there is one",
        "",
        timed(|_, _| {
            let narrowed = black_box(policy).narrowed_to(black_box(20_000));
            if narrowed != *policy {
                black_box(Arc::new(rule.policy_for_client(None).with_policy(narrowed)));
            }
        }),
    );
    // Computed once per version, by the first request of the endpoint.
    let names = names();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let rules = rules_of(written.clone());
            let start = Instant::now();
            names.iter().for_each(|name| drop(black_box(rules.rule_for(target(name)))));
            start.elapsed()
        })
        .collect();
    table.add("a rule when it is first asked for", "", each(&mut times, ENDPOINTS));
}

/// Does all look-ups in the configuration that precede a reply.
fn share(gateway: &Gateway, client: Option<&'static ClientProfile>, session: &ClientSession, name: &str) {
    let rules = gateway.rules();
    let rule = rules.rule_for(target(name));
    let terms = Arc::clone(rule.policy_for_client(client));
    black_box((rule.shaping_mode(session), terms));
}

/// Measures the time per call, over all endpoints in turn.
fn timed(what: impl Fn(&ClientSession, &str)) -> String {
    let session = ClientSession::with_id(Scope::from_principal("somebody"), "1");
    let names = names();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                names.iter().for_each(|name| what(black_box(&session), black_box(name)));
            }
            start.elapsed()
        })
        .collect();
    each(&mut times, ENDPOINTS * ROUNDS)
}

fn each(times: &mut [Duration], count: usize) -> String {
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    format!("{:.0} ns", median.as_secs_f64() * 1e9 / count as f64)
}

fn gateway(written: EndpointConfig) -> Gateway {
    let limits = StoreLimits { memory_bytes: 1 << 20, ttl: Duration::from_mins(1) };
    Gateway::new(GatewayParts::new(rules_of(written), Arc::new(MemoryStore::new(limits)), [0; 32]))
}

fn rules_of(written: EndpointConfig) -> EndpointRules {
    EndpointRules::new(Arc::new(Hundred(written)), ClientLimits::UNKNOWN)
}

fn names() -> Vec<String> {
    (0..ENDPOINTS).map(|number| format!("list_of_bookings_{number}")).collect()
}

fn target(name: &str) -> EndpointTarget<'_> {
    EndpointTarget { upstream: None, kind: EndpointKind::Tool, name }
}
