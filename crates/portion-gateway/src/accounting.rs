//! Reports each reply to the log and to the observer: one
//! [`RequestServed`](portion_core::event::RequestServed) per request, whatever its outcome.
//!
//! Some records are completed in the background after the reply was sent. Their times are those of the
//! request.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use portion_core::cursor::SnapshotId;
use portion_core::error_code::ErrorCode;
use portion_core::event::{
    EndpointKind, Event, Observer, Outcome, PayloadForm, RequestServed, ServedError, ShadowResult,
};
use portion_core::render::StageName;
use portion_core::render::{Portion, PortionKind};
use portion_core::snapshot::{Part, Snapshot, Structure};
use portion_core::view::Request;
use portion_policy::endpoint::Endpoint;

use crate::accuracy::recount::{CountableReply, EstimateSource, RecountJob};
use crate::accuracy::tracker::{AccuracyKey, AccuracyTracker};
use crate::call::{Caller, Fault};
use crate::decision_log;
use crate::deferred_worker::{DeferredWorker, JobPriority, QueueLimits};
use crate::gateway_parts::Clock;

/// Limits of pending recounts.
const QUEUE: QueueLimits = QueueLimits { jobs: 64, bytes: 64 << 20 };
/// Largest reply, in text bytes, that is always recounted: takes about 40 µs.
const ALWAYS_RECOUNT_MAX_BYTES: usize = 2 << 10;
/// Largest reply, in text bytes, that is recounted if it is sampled.
const RECOUNT_MAX_BYTES: usize = 256 << 10;
/// Default share of replies that are recounted, in percent.
const DEFAULT_SAMPLE_PERCENT: f64 = 1.0;

/// Builds the records of requests, and schedules recounts.
pub(crate) struct Accounting {
    observer: Arc<dyn Observer>,
    pub(crate) deferred_worker: DeferredWorker,
    pub(crate) accuracy_tracker: Arc<AccuracyTracker>,
    clock: Clock,
    /// Random tag that distinguishes the requests of this process from others.
    process_tag: u64,
    next_request: AtomicU64,
}

/// A request whose reply is being made.
#[derive(Clone, Copy)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) endpoint: Option<&'a Endpoint>,
    /// True if the request never reaches the upstream.
    pub(crate) is_follow_up: bool,
    /// True if the upstream returned an error.
    pub(crate) is_upstream_error: bool,
    /// Snapshot of the original payload, if one was stored.
    pub(crate) origin_snapshot: Option<SnapshotId>,
    /// Bytes of the result of this request that was queried.
    pub(crate) queried_bytes: usize,
    /// Time when the gateway's own work for the request began.
    pub(crate) started_at: Instant,
}

/// Outcome of a request.
#[derive(Debug, Default)]
pub(crate) struct ReplyOutcome {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<ServedError>,
    pub(crate) tokens: Option<usize>,
    pub(crate) response_bytes: usize,
    pub(crate) original_bytes: usize,
    pub(crate) item_count: Option<usize>,
    pub(crate) payload_shape: PayloadShape,
    pub(crate) stages: Vec<StageName>,
    pub(crate) capped_outcome: Option<Outcome>,
    pub(crate) shadow: Option<ShadowResult>,
}

/// Shape of a payload, by its first readable part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PayloadShape {
    form: Option<PayloadForm>,
    item_count: Option<usize>,
}

impl PayloadShape {
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> Self {
        match snapshot.parts().iter().find_map(Part::indexed_text).map(|subject| &subject.structure) {
            Some(Structure::List(list)) => {
                Self { form: Some(PayloadForm::List), item_count: Some(list.len()) }
            }
            Some(Structure::Object(_)) => Self { form: Some(PayloadForm::Object), item_count: None },
            Some(Structure::Text(_)) => Self { form: Some(PayloadForm::Text), item_count: None },
            None => Self::default(),
        }
    }
}

impl ReplyOutcome {
    /// A payload of `bytes` bytes passed through unchanged.
    pub(crate) fn passed_through(outcome: Outcome, bytes: usize, tokens: Option<usize>) -> Self {
        Self { outcome, tokens, response_bytes: bytes, original_bytes: bytes, ..Self::default() }
    }

    /// A portion of a payload. `capped`: limited by bytes alone.
    pub(crate) fn from_portion(
        portion: &Portion,
        request: &Request,
        snapshot: &Snapshot,
        capped: bool,
    ) -> Self {
        let outcome = outcome_for(portion.kind(), request);
        Self {
            payload_shape: PayloadShape::from_snapshot(snapshot),
            outcome: if capped { Outcome::Capped } else { outcome },
            capped_outcome: Some(outcome).filter(|outcome| capped && !outcome.is_payload()),
            tokens: Some(portion.tokens()),
            response_bytes: shown_bytes(portion),
            original_bytes: snapshot.payload_bytes(),
            item_count: portion.served_count(),
            stages: portion.stages().to_vec(),
            ..Self::default()
        }
    }

    /// A fault in place of a reply.
    pub(crate) fn from_fault(fault: &Fault, tokens: usize) -> Self {
        let outcome =
            if fault.code == ErrorCode::CursorExpired { Outcome::Expired } else { Outcome::Refused };
        let bytes = fault.to_json().len();
        Self {
            outcome,
            error: Some(ServedError::Own(fault.code)),
            tokens: Some(tokens),
            response_bytes: bytes,
            ..Self::default()
        }
    }
}

impl Accounting {
    pub(crate) fn new(observer: Arc<dyn Observer>, clock: Clock) -> Self {
        // Without randomness, request ids of several processes may collide in the records.
        Self {
            observer,
            deferred_worker: DeferredWorker::new("portion-beside", QUEUE),
            accuracy_tracker: Arc::default(),
            clock,
            process_tag: getrandom::u64().unwrap_or_default(),
            next_request: AtomicU64::new(0),
        }
    }

    /// Returns the time since `since`.
    pub(crate) fn elapsed_since(&self, since: Instant) -> Duration {
        (self.clock)().saturating_duration_since(since)
    }

    /// Applies the byte limit to the caller while the counts of the endpoint are too low.
    pub(crate) fn cap_if_inaccurate(&self, caller: Caller, endpoint: Option<&Endpoint>) -> Caller {
        let subject = || {
            let (kind, name) = endpoint_kind_and_name(endpoint);
            AccuracyKey::new(caller.upstream.clone(), kind, name.into(), caller.effective_policy.counter)
        };
        if self.accuracy_tracker.is_too_low(subject) { caller.with_byte_cap() } else { caller }
    }

    /// Records the outcome of a request.
    pub(crate) fn report(&self, account: RequestInfo<'_>, result: ReplyOutcome) {
        let served = self.charge_and_build_record(account, result);
        self.emit(served);
    }

    /// Records the outcome of a rendered reply, and recounts it in the background if it is sampled.
    pub(crate) fn report_rendered(
        &self,
        account: RequestInfo<'_>,
        result: ReplyOutcome,
        shown: CountableReply<'_>,
    ) {
        let mut served = self.charge_and_build_record(account, result);
        let CountableReply { texts, snapshot, audit, estimate_source: by } = shown;
        let effective_policy = &account.caller.effective_policy;
        if let Some(sample) = audit {
            self.accuracy_tracker.record(
                &AccuracyKey::for_request(&served, effective_policy.counter),
                sample,
                effective_policy.policy.full_below,
            );
            let others = served.estimated_tokens.filter(|_| by == EstimateSource::Counter);
            if let Some(estimated) = others {
                // Content other than text costs the same with any counter.
                let counted = texts.charged_cost(effective_policy.counter);
                let others = estimated.saturating_sub(counted as u64);
                served.estimated_tokens = Some(others + sample.estimated as u64);
                served.actual_tokens = Some(others + sample.actual as u64);
            }
        }
        let counted = served.actual_tokens.is_none() && self.is_sampled(account, &served, texts.bytes());
        let sized = by == EstimateSource::Uncounted || !(served.follow_up || served.outcome.is_payload());
        if !counted && !sized {
            return self.emit(served);
        }
        let bytes = if counted { texts.bytes() } else { 0 };
        let texts = counted.then(|| texts.into_owned());
        let (effective_policy, snapshot) =
            (Arc::clone(effective_policy), sized.then(|| Arc::clone(snapshot)));
        let recount = RecountJob { served, effective_policy, estimate_source: by, texts, snapshot };
        let (observer, tracker) = (Arc::clone(&self.observer), Arc::clone(&self.accuracy_tracker));
        self.deferred_worker.submit(JobPriority::BestEffort, bytes, move |is_thorough| {
            emit_event(&*observer, recount.finish(&tracker, is_thorough));
        });
    }

    /// Emits a finished record.
    pub(crate) fn emit(&self, served: RequestServed) {
        emit_event(&*self.observer, served);
    }

    /// Returns true if a reply with so many text bytes is to be recounted: always if it is small or counts of
    /// its endpoint are too low, otherwise by sampling.
    pub(crate) fn is_sampled(&self, account: RequestInfo<'_>, served: &RequestServed, bytes: usize) -> bool {
        let Caller { effective_policy, rule, .. } = account.caller;
        if effective_policy.reference.is_none() || bytes == 0 || bytes > RECOUNT_MAX_BYTES {
            return false;
        }
        let percent = rule.config().accuracy_sample.unwrap_or(DEFAULT_SAMPLE_PERCENT);
        let number = served.request as u64;
        let by_lot = percent > 0.0
            && (bytes <= ALWAYS_RECOUNT_MAX_BYTES
                || uniform_hash(self.process_tag.wrapping_add(number)) * 100.0 < percent);
        by_lot
            || self.accuracy_tracker.is_too_low(|| AccuracyKey::for_request(served, effective_policy.counter))
    }

    /// Charges the session for a reply, and builds the record of its request.
    fn charge_and_build_record(&self, account: RequestInfo<'_>, result: ReplyOutcome) -> RequestServed {
        if let Some(tokens) = result.tokens {
            account.caller.session.charge(tokens);
        }
        self.build_record(account, result)
    }

    /// Builds the record of a request.
    pub(crate) fn build_record(&self, account: RequestInfo<'_>, result: ReplyOutcome) -> RequestServed {
        let RequestInfo { caller, endpoint, is_follow_up: follow_up, .. } = account;
        let (latency, overhead) =
            (self.elapsed_since(caller.received_at), self.elapsed_since(account.started_at));
        let ReplyOutcome { outcome, tokens, payload_shape: payload, .. } = result;
        let items = result.item_count.or(payload.item_count.filter(|_| outcome.is_payload()));
        let extrapolated =
            |tokens| extrapolate_original_tokens(tokens, result.response_bytes, result.original_bytes);
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (kind, name) = endpoint_kind_and_name(endpoint);
        RequestServed {
            request: u128::from(self.process_tag) << 64 | u128::from(request),
            at: unix_micros(SystemTime::now()).saturating_sub(latency.as_micros() as u64),
            upstream: caller.upstream.clone(),
            endpoint: name.into(),
            kind,
            outcome,
            // If a fault replaces the upstream's error, the record has the fault's code.
            error: result.error.or(account.is_upstream_error.then_some(ServedError::Upstream)),
            follow_up,
            arguments: caller.argument_names.clone(),
            origin: account
                .origin_snapshot
                .map(|id| id.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            trace: caller.trace,
            counter: caller.effective_policy.counter.name(),
            estimated_tokens: tokens.map(|tokens| tokens as u64),
            actual_tokens: None,
            // The payload of a follow-up was counted when it was captured.
            original_tokens: tokens.filter(|_| !follow_up).and_then(extrapolated),
            response_bytes: result.response_bytes as u64,
            original_bytes: result.original_bytes as u64,
            items: items.map(|items| items as u64),
            budget: Some(caller.effective_policy.policy.token_budget_threshold as u64),
            form: payload.form,
            total_items: payload.item_count.map(|items| items as u64),
            latency,
            overhead,
            stages: result.stages,
            capped_outcome: result.capped_outcome,
            arm: caller.shaping_mode.arm,
            shadow: result.shadow,
            session: caller.session.key,
            client: caller.session.client_name(),
            config: caller.rule.version(),
        }
    }
}

/// Emits a record to the log and to the observer.
fn emit_event(observer: &dyn Observer, served: RequestServed) {
    decision_log::log_served(&served);
    observer.observe(Event::RequestServed(Arc::new(served)));
}

/// Returns the kind and the name of an endpoint for records.
fn endpoint_kind_and_name(endpoint: Option<&Endpoint>) -> (EndpointKind, Cow<'_, str>) {
    (endpoint.map_or(EndpointKind::Tool, |endpoint| endpoint.kind), Endpoint::log_name(endpoint))
}

/// Hashes a number into [0, 1), such that consecutive numbers are spread evenly.
///
/// Multiplicative hashing by the golden ratio: Knuth, The Art of Computer Programming 3, 6.4.
fn uniform_hash(number: u64) -> f64 {
    // A float holds the upper 53 bits.
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns the outcome of a rendered reply, by the kind of its portion.
pub(crate) fn outcome_for(kind: PortionKind, request: &Request) -> Outcome {
    match kind {
        PortionKind::Query => Outcome::Queried,
        PortionKind::Raw => Outcome::Raw,
        PortionKind::Page => Outcome::Paginated,
        PortionKind::Chunk | PortionKind::Range => Outcome::Chunked,
        PortionKind::Summary | PortionKind::Whole if request.has_selection() => Outcome::Projected,
        PortionKind::Summary => Outcome::Summarized,
        PortionKind::Whole => Outcome::Untouched,
    }
}

/// Returns the bytes that a portion shows, its notice included.
pub(crate) fn shown_bytes(portion: &Portion) -> usize {
    let pieces = portion.pieces().iter().map(|piece| piece.body.as_str().len());
    pieces.sum::<usize>()
        + portion.structured().map_or(0, str::len)
        + portion.separate_notice().map_or(0, str::len)
}

/// Extrapolates the tokens of the payload from the part that was served, if there is no time to count. A refused
/// request has no payload.
fn extrapolate_original_tokens(tokens: usize, bytes: usize, original_bytes: usize) -> Option<u64> {
    (bytes > 0 && original_bytes > 0)
        .then(|| (tokens as f64 * original_bytes as f64 / bytes as f64).round() as u64)
}

fn unix_micros(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::uniform_hash;

    #[test]
    fn samples_are_spread_evenly_from_any_start() {
        for begin in [0, 1, 1_000_003, u64::MAX - 5_000] {
            let sampled_count = |percent: f64, of: u64| {
                (0..of).filter(|n| uniform_hash(begin.wrapping_add(*n)) * 100.0 < percent).count() as f64
            };
            assert!((sampled_count(1.0, 10_000) - 100.0).abs() <= 3.0, "{}", sampled_count(1.0, 10_000));
            assert!((sampled_count(30.0, 100) - 30.0).abs() <= 3.0, "{}", sampled_count(30.0, 100));
            assert_eq!((sampled_count(0.0, 10_000), sampled_count(100.0, 10_000)), (0.0, 10_000.0));
        }
    }
}
