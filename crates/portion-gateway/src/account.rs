//! What is told of each reply, to the log and to whoever records: one [`Served`] a request, whatever became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use portion_core::cursor::SnapshotId;
use portion_core::event::{Event, Observer, Outcome, Served, Shadow};
use portion_core::render::Portion;
use portion_core::snapshot::{Form, Part, Snapshot};
use portion_core::view::Request;

use crate::call::{Caller, Endpoint, EndpointKind, Fault};
use crate::decision;
use crate::settings::Clock;

/// Keeps account of what is served.
pub(crate) struct Accounts {
    observer: Arc<dyn Observer>,
    clock: Clock,
    /// What tells the requests of this process from others.
    process: u64,
    requests: AtomicU64,
}

/// A request whose reply is being made.
#[derive(Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) endpoint: Option<&'a Endpoint>,
    /// Whether the upstream is not asked.
    pub(crate) follow_up: bool,
    /// The snapshot of the payload that it goes back to, where one was kept.
    pub(crate) origin: Option<SnapshotId>,
    /// When what we do for it began.
    pub(crate) begun: Instant,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Result {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<&'static str>,
    pub(crate) tokens: Option<usize>,
    pub(crate) bytes: usize,
    pub(crate) original_bytes: usize,
    pub(crate) items: Option<usize>,
    pub(crate) payload: Kind,
    pub(crate) stages: Vec<&'static str>,
    pub(crate) shadow: Option<Shadow>,
}

/// What a payload is, by the first part of it that can be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    form: Option<&'static str>,
    items: Option<usize>,
}

impl Kind {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        match snapshot.parts().iter().find_map(Part::subject).map(|subject| &subject.form) {
            Some(Form::List(list)) => Self { form: Some("list"), items: Some(list.len()) },
            Some(Form::Object(_)) => Self { form: Some("object"), items: None },
            Some(Form::Text(_)) => Self { form: Some("text"), items: None },
            None => Self::default(),
        }
    }
}

impl Result {
    /// A payload of so many bytes passes as it came.
    pub(crate) fn passed(outcome: Outcome, bytes: usize, tokens: Option<usize>) -> Self {
        Self { outcome, tokens, bytes, original_bytes: bytes, ..Self::default() }
    }

    /// A portion of a payload is served, which was asked for so. `capped`: by bytes alone.
    pub(crate) fn of(portion: &Portion, request: &Request, snapshot: &Snapshot, capped: bool) -> Self {
        Self {
            payload: Kind::of(snapshot),
            outcome: if capped { Outcome::Capped } else { outcome(portion.kind(), request) },
            tokens: Some(portion.tokens()),
            bytes: bytes(portion),
            original_bytes: snapshot.payload_bytes(),
            items: portion.served(),
            stages: portion.stages().to_vec(),
            ..Self::default()
        }
    }

    /// A fault is served in place of anything else.
    pub(crate) fn refused(fault: &Fault, tokens: usize) -> Self {
        let outcome = if fault.code == "cursor_expired" { Outcome::Expired } else { Outcome::Refused };
        let bytes = fault.to_json().len();
        Self { outcome, error: Some(fault.code), tokens: Some(tokens), bytes, ..Self::default() }
    }
}

impl Accounts {
    pub(crate) fn new(observer: Arc<dyn Observer>, clock: Clock) -> Self {
        let mut process = [0; 8];
        // Without randomness, requests of several processes may be taken for one another in what is recorded.
        let _ = getrandom::fill(&mut process);
        Self { observer, clock, process: u64::from_ne_bytes(process), requests: AtomicU64::new(0) }
    }

    /// How long ago that was.
    pub(crate) fn elapsed(&self, since: Instant) -> Duration {
        (self.clock)().saturating_duration_since(since)
    }

    /// Tells what became of a request.
    pub(crate) fn tell(&self, account: Account<'_>, result: Result) {
        let (latency, overhead) = (self.elapsed(account.caller.since), self.elapsed(account.begun));
        self.tell_then(account, result, latency, overhead);
    }

    /// Tells what became of a request that took so long.
    pub(crate) fn tell_then(
        &self,
        account: Account<'_>,
        result: Result,
        latency: Duration,
        overhead: Duration,
    ) {
        let Account { caller, endpoint, follow_up, origin, .. } = account;
        let Result { outcome, error, tokens, bytes, original_bytes, items, payload, stages, shadow } = result;
        if let Some(tokens) = tokens {
            caller.session.serve(tokens);
        }
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let served = Served {
            request: u128::from(self.process) << 64 | u128::from(request),
            at: micros(SystemTime::now()).saturating_sub(latency.as_micros() as u64),
            upstream: caller.upstream.clone(),
            endpoint: endpoint.map_or("", |endpoint| &endpoint.name).into(),
            kind: endpoint.map_or("tool", |endpoint| endpoint.kind.name()),
            outcome,
            error,
            follow_up,
            arguments: caller.arguments.clone(),
            origin: origin.map(u64::from_be_bytes),
            trace: caller.trace,
            counter: caller.terms.counter.name(),
            estimated_tokens: tokens.map(|tokens| tokens as u64),
            actual_tokens: None,
            original_tokens: tokens.and_then(|tokens| original_tokens(tokens, bytes, original_bytes)),
            response_bytes: bytes as u64,
            original_bytes: original_bytes as u64,
            items: items.or(payload.items.filter(|_| outcome.is_payload())).map(|items| items as u64),
            budget: Some(caller.terms.policy.token_budget_threshold as u64),
            form: payload.form,
            total_items: payload.items.map(|items| items as u64),
            latency,
            overhead,
            stages,
            arm: caller.treatment.arm,
            shadow,
            session: caller.session.key(),
            config: caller.rule.version(),
        };
        decision::served(&served);
        self.observer.hear(Event::Served(Arc::new(served)));
    }
}

/// What a reply is called in records.
pub(crate) fn outcome(kind: &str, request: &Request) -> Outcome {
    match kind {
        "query" => Outcome::Queried,
        "raw" => Outcome::Raw,
        "page" => Outcome::Paginated,
        "chunk" | "range" => Outcome::Chunked,
        _ if request.selects() => Outcome::Projected,
        "summary" => Outcome::Summarized,
        _ => Outcome::Untouched,
    }
}

/// Bytes of what a portion shows, its notice included.
pub(crate) fn bytes(portion: &Portion) -> usize {
    let pieces = portion.pieces().iter().map(|piece| piece.body.as_str().len());
    pieces.sum::<usize>() + portion.structured().map_or(0, str::len) + portion.notice().len()
}

/// What the payload would have cost, if it is like what was served of it.
fn original_tokens(tokens: usize, bytes: usize, original_bytes: usize) -> Option<u64> {
    (bytes > 0).then(|| (tokens as f64 * original_bytes as f64 / bytes as f64).round() as u64)
}

fn micros(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_micros() as u64
}

impl EndpointKind {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
        }
    }
}
