//! What is told of each reply, to the log and to whoever records: one [`Served`] a request, whatever became of it.
//!
//! Of some it is told when they are on their way, for something is to be found out first: the times are those of the request.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use portion_core::cursor::SnapshotId;
use portion_core::event::{Event, Observer, Outcome, Served, Shadow};
use portion_core::render::Portion;
use portion_core::snapshot::{Form, Part, Snapshot};
use portion_core::view::Request;

use crate::accuracy::Figures;
use crate::accuracy::ledger::{Ledger, Subject};
use crate::accuracy::recount::{By, Recount, Shown};
use crate::beside::{Beside, Purpose};
use crate::call::{Caller, Endpoint, EndpointKind, Fault};
use crate::decision;
use crate::settings::Clock;

/// What an error is called that the upstream served.
const UPSTREAM: &str = "upstream";
/// Bytes of a reply's texts up to which it is always counted once more: some 40 µs.
const CHEAP: usize = 2 << 10;
/// Bytes up to which it is, if it is drawn.
const DEAR: usize = 256 << 10;
/// How many replies in a hundred are drawn, where nobody says.
const DRAWN: f64 = 1.0;

/// Keeps account of what is served.
pub(crate) struct Accounts {
    observer: Arc<dyn Observer>,
    pub(crate) beside: Beside,
    pub(crate) ledger: Arc<Ledger>,
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
    /// Whether what came of the upstream is an error.
    pub(crate) failed: bool,
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
        let (mut outcome, mut stages) = (outcome(portion.kind(), request), portion.stages().to_vec());
        if capped {
            // It is a page, a summary or a chunk all the same, and counted as one.
            stages.extend((!outcome.is_payload()).then_some(outcome.name()));
            outcome = Outcome::Capped;
        }
        Self {
            payload: Kind::of(snapshot),
            outcome,
            tokens: Some(portion.tokens()),
            bytes: bytes(portion),
            original_bytes: snapshot.payload_bytes(),
            items: portion.served(),
            stages,
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
        let (process, requests) = (u64::from_ne_bytes(process), AtomicU64::new(0));
        Self { observer, beside: Beside::default(), ledger: Arc::default(), clock, process, requests }
    }

    /// Waits for what is still to be told, at most so long; whether all of it was.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        self.beside.settle(limit)
    }

    /// How near counts have come of late.
    pub(crate) fn accuracy(&self) -> Figures {
        self.ledger.figures()
    }

    /// How long ago that was.
    pub(crate) fn elapsed(&self, since: Instant) -> Duration {
        (self.clock)().saturating_duration_since(since)
    }

    /// Whoever asks for an endpoint, within the byte limit where its counts are too low for now.
    pub(crate) fn bounded(&self, caller: Caller, endpoint: Option<&Endpoint>) -> Caller {
        let subject = || {
            let (kind, name) = named(endpoint);
            Subject::new(caller.upstream.clone(), kind, name.into(), caller.terms.counter)
        };
        if self.ledger.is_too_low(subject) { caller.capped() } else { caller }
    }

    /// Tells what became of a request.
    pub(crate) fn tell(&self, account: Account<'_>, result: Result) {
        let served = self.recorded(account, result);
        self.hear(served);
    }

    /// Tells what became of a request that was answered with what is shown: of some, what it really costs.
    pub(crate) fn tell_of(&self, account: Account<'_>, result: Result, shown: Shown<'_>) {
        let mut served = self.recorded(account, result);
        let Shown { texts, snapshot, audit, by } = shown;
        let terms = &account.caller.terms;
        if let Some(sample) = audit {
            self.ledger.note(&Subject::of(&served, terms.counter), sample, terms.policy.full_below);
            let others = served.estimated_tokens.filter(|_| by == By::Counter);
            let others = others.map(|estimated| estimated.saturating_sub(sample.estimated as u64));
            served.actual_tokens = others.map(|others| others + sample.actual as u64);
        }
        let counted = served.actual_tokens.is_none() && self.is_drawn(account, &served, texts.bytes());
        let sized = by == By::Nobody || !(served.follow_up || served.outcome.is_payload());
        if !counted && !sized {
            return self.hear(served);
        }
        let bytes = if counted { texts.bytes() } else { 0 };
        let texts = counted.then(|| texts.into_owned());
        let (terms, snapshot) = (Arc::clone(terms), sized.then(|| Arc::clone(snapshot)));
        let recount = Recount { served, terms, by, texts, snapshot };
        let (observer, ledger) = (Arc::clone(&self.observer), Arc::clone(&self.ledger));
        self.beside.work(Purpose::Counting, bytes, move |is_thorough| {
            tell(&*observer, recount.done(&ledger, is_thorough));
        });
    }

    /// Tells what became of a request, when that is known.
    pub(crate) fn hear(&self, served: Served) {
        tell(&*self.observer, served);
    }

    /// Whether a reply, which shows so many bytes of text, is to be counted once more: where that is cheap, where counts of
    /// its endpoint are too low, and a sample of the others.
    pub(crate) fn is_drawn(&self, account: Account<'_>, served: &Served, bytes: usize) -> bool {
        let Caller { terms, rule, .. } = account.caller;
        if terms.reference.is_none() || bytes == 0 || bytes > DEAR {
            return false;
        }
        let percent = rule.written().accuracy_sample.unwrap_or(DRAWN);
        let number = served.request as u64;
        let by_lot =
            percent > 0.0 && (bytes <= CHEAP || lot(self.process.wrapping_add(number)) * 100.0 < percent);
        by_lot || self.ledger.is_too_low(|| Subject::of(served, terms.counter))
    }

    /// The record of a request that has just been answered, told to its session.
    fn recorded(&self, account: Account<'_>, result: Result) -> Served {
        if let Some(tokens) = result.tokens {
            account.caller.session.serve(tokens);
        }
        self.record(account, result)
    }

    /// The record of a request that has just been answered.
    pub(crate) fn record(&self, account: Account<'_>, result: Result) -> Served {
        let Account { caller, endpoint, follow_up, failed, origin, begun } = account;
        let (latency, overhead) = (self.elapsed(caller.since), self.elapsed(begun));
        let Result { outcome, error, tokens, bytes, original_bytes, items, payload, stages, shadow } = result;
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let (kind, name) = named(endpoint);
        Served {
            request: u128::from(self.process) << 64 | u128::from(request),
            at: micros(SystemTime::now()).saturating_sub(latency.as_micros() as u64),
            upstream: caller.upstream.clone(),
            endpoint: name.into(),
            kind,
            outcome,
            // Where what we serve in its place is one of ours, that is what was served.
            error: error.or(failed.then_some(UPSTREAM)),
            follow_up,
            arguments: caller.arguments.clone(),
            origin: origin.map(u64::from_be_bytes),
            trace: caller.trace,
            counter: caller.terms.counter.name(),
            estimated_tokens: tokens.map(|tokens| tokens as u64),
            actual_tokens: None,
            // What a follow-up goes back to was counted when it came.
            original_tokens: tokens
                .filter(|_| !follow_up)
                .and_then(|tokens| original_tokens(tokens, bytes, original_bytes)),
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
        }
    }
}

/// Tells the log and whoever records, who so tell the same.
fn tell(observer: &dyn Observer, served: Served) {
    decision::served(&served);
    observer.hear(Event::Served(Arc::new(served)));
}

/// What an endpoint is and is called in records.
fn named(endpoint: Option<&Endpoint>) -> (&'static str, Cow<'_, str>) {
    (endpoint.map_or("tool", |endpoint| endpoint.kind.name()), Endpoint::told(endpoint))
}

/// A number from 0 to below 1 for each request: of any that follow each other, about the same share is below a bound.
///
/// Multiplicative hashing by the golden ratio: Knuth, The Art of Computer Programming 3, 6.4.
fn lot(number: u64) -> f64 {
    // The upper 53 bits are those that a float holds.
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64
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

/// What the payload would have cost, if it is like what was served of it: where there is no time to find out.
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

#[cfg(test)]
mod tests {
    use super::lot;

    #[test]
    fn a_sample_is_spread_evenly_wherever_it_begins() {
        for begin in [0, 1, 1_000_003, u64::MAX - 5_000] {
            let drawn = |percent: f64, of: u64| {
                (0..of).filter(|n| lot(begin.wrapping_add(*n)) * 100.0 < percent).count() as f64
            };
            assert!((drawn(1.0, 10_000) - 100.0).abs() <= 3.0, "{}", drawn(1.0, 10_000));
            assert!((drawn(30.0, 100) - 30.0).abs() <= 3.0, "{}", drawn(30.0, 100));
            assert_eq!((drawn(0.0, 10_000), drawn(100.0, 10_000)), (0.0, 10_000.0));
        }
    }
}
