//! Requests to record: a day at a few endpoints, in which something happens, and a few whose figures are known.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_core::error_code::ErrorCode;
use portion_core::event::{
    AlertChanged, ConfigApplied, ConfigChange, EndpointKind, Event, ExperimentArm, Observer as _, Outcome,
    PayloadForm, RequestServed, ServedError, ShadowResult, TraceContext,
};
use portion_core::render::StageName;
use portion_telemetry::recorder::{Recorder, Settings};

/// Microseconds.
pub(crate) const MINUTE: u64 = 60_000_000;
pub(crate) const DAY: u64 = 24 * 60 * MINUTE;
/// Endpoint of the alert.
const PROCESS: u64 = 0x0aa1;
/// Long enough for any machine: it is not waited for.
const LONG: Duration = Duration::from_mins(1);

/// Microseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Writes them down as Portion does.
pub(crate) fn record(file: &std::path::Path, events: impl IntoIterator<Item = Event>) {
    let recorder = Recorder::start(Settings { keep_for: Duration::MAX, ..Settings::new(file) });
    for event in events {
        while recorder.snapshot().queued > 4_000 {
            std::thread::yield_now();
        }
        recorder.observe(event);
    }
    assert!(recorder.flush(LONG), "{:?}", recorder.snapshot());
    assert_eq!(recorder.snapshot().dropped, 0);
}

pub(crate) fn served(served: RequestServed) -> Event {
    Event::RequestServed(Arc::new(served))
}

/// Marsaglia's xorshift: the same numbers each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, max: u64) -> u64 {
        (self.next() * max as f64) as u64
    }

    /// Around one, more often below it.
    fn skewed(&mut self) -> f64 {
        (-(1.0 - self.next()).ln()).clamp(0.05, 6.0)
    }
}

/// An endpoint of the sample.
struct Kind {
    name: &'static str,
    upstream: Option<&'static str>,
    what: EndpointKind,
    outcome: Outcome,
    form: PayloadForm,
    tokens: f64,
    latency: f64,
    share: f64,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "list_bookings",
        upstream: Some("stays"),
        what: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        form: PayloadForm::List,
        tokens: 1_900.0,
        latency: 90.0,
        share: 0.34,
    },
    Kind {
        name: "get_booking",
        upstream: Some("stays"),
        what: EndpointKind::Tool,
        outcome: Outcome::Untouched,
        form: PayloadForm::Object,
        tokens: 420.0,
        latency: 35.0,
        share: 0.26,
    },
    Kind {
        name: "search_issues",
        upstream: Some("tracker"),
        what: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        form: PayloadForm::List,
        tokens: 1_500.0,
        latency: 210.0,
        share: 0.16,
    },
    Kind {
        name: "read_log",
        upstream: Some("tracker"),
        what: EndpointKind::Tool,
        outcome: Outcome::Chunked,
        form: PayloadForm::Text,
        tokens: 1_700.0,
        latency: 60.0,
        share: 0.1,
    },
    Kind {
        name: "get_property",
        upstream: Some("stays"),
        what: EndpointKind::Tool,
        outcome: Outcome::Summarized,
        form: PayloadForm::Object,
        tokens: 1_200.0,
        latency: 48.0,
        share: 0.09,
    },
    Kind {
        name: "file:///docs/handbook.md",
        upstream: Some("docs"),
        what: EndpointKind::Resource,
        outcome: Outcome::Chunked,
        form: PayloadForm::Text,
        tokens: 1_600.0,
        latency: 12.0,
        share: 0.05,
    },
];

/// A day that ends at `end`: busier at its end, with a change of the configuration five hours before, and for half an
/// hour, three hours before, lists that are far too large, and cursors that lead nowhere.
pub(crate) fn day(end: u64, requests: u64) -> Vec<Event> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let begin = end - DAY;
    let mut events = vec![
        configured(begin + 2 * 60 * MINUTE, 11, &[("snapshotTtl", "\"10m\"", "\"5m\"")]),
        configured(
            end - 5 * 60 * MINUTE,
            12,
            &[("endpoints.list_*.pageSize", "50", "20"), ("summarizeAbove", "2000", "1500")],
        ),
        alerted(end - 176 * MINUTE, true, 0.124),
        alerted(end - 141 * MINUTE, false, 0.031),
    ];
    let mut number = 0;
    for at in 0..requests {
        let along = (at as f64 + random.next()) / requests as f64;
        let moment = begin + (along.powf(0.8) * (DAY - MINUTE) as f64) as u64;
        let ago = (end - moment) / MINUTE;
        let spike = (150..180).contains(&ago);
        let mut draw = random.next();
        let kind = KINDS
            .iter()
            .find(|kind| {
                draw -= kind.share;
                draw < 0.0
            })
            .unwrap_or(&KINDS[0]);
        let session = 0xa11c_e000 + at / 40 + random.below(2);
        events.extend(call(&mut random, &mut number, kind, moment, session, spike, ago < 300));
    }
    events
}

/// A call, and what is asked of its result afterwards.
fn call(
    random: &mut Random,
    number: &mut u64,
    kind: &Kind,
    at: u64,
    session: u64,
    spike: bool,
    new: bool,
) -> Vec<Event> {
    // Most of it is small, and a little is very large.
    let likely = if spike && kind.form == PayloadForm::List { 0.4 } else { 0.035 };
    let grown = if random.next() < likely && kind.tokens > 1_000.0 { 70.0 } else { 1.0 };
    let original = (kind.tokens * grown * (0.3 + random.skewed().min(1.7))) as u64 + 40;
    let budget = 4_000;
    let small = original < 500 || (kind.outcome == Outcome::Untouched && original < budget);
    let max = if new { 1_300.0 } else { 2_100.0 };
    let served_tokens =
        if small { original } else { original.min((max * (0.7 + 0.6 * random.next())) as u64) };
    let outcome = if small { Outcome::Untouched } else { kind.outcome };
    let latency = Duration::from_micros((kind.latency * (0.5 + random.skewed()) * 1e3) as u64);
    let overhead = Duration::from_micros(250 + (original as f64 * 0.04 * (0.6 + random.next())) as u64);
    let latency = latency + overhead;
    let is_list = kind.form == PayloadForm::List;
    let exact = random.next() < 0.12;
    let first = RequestServed {
        at,
        upstream: kind.upstream.map(Arc::from),
        endpoint: Arc::from(kind.name),
        kind: kind.what,
        outcome,
        arguments: if is_list { vec!["status".into(), "from".into()] } else { vec!["id".into()] },
        counter: "claude",
        estimated_tokens: Some(served_tokens),
        actual_tokens: exact.then(|| (served_tokens as f64 / (0.92 + 0.22 * random.next())) as u64),
        original_tokens: Some(original),
        budget: Some(budget),
        response_bytes: served_tokens * 4,
        original_bytes: original * 4,
        form: Some(kind.form),
        items: is_list.then_some(if small { original / 60 } else { 20 }),
        total_items: is_list.then_some(original / 60),
        latency,
        overhead,
        stages: if small || !is_list { vec![] } else { vec![StageName::Dense, StageName::Condense] },
        session,
        config: if new { 12 } else { 11 },
        origin: (!small).then_some(at ^ 0x5555),
        ..RequestServed::default()
    };
    let mut events = vec![first.clone()];
    let follow_ups = if small { 0 } else { random.below(4) };
    for step in 0..follow_ups {
        let took = random.below(1_800);
        let expired = spike && random.next() < 0.55;
        let refused = !expired && random.next() < 0.006;
        let (outcome, error) = match (expired, refused) {
            (true, _) => (Outcome::Expired, Some(ServedError::Own(ErrorCode::CursorExpired))),
            (_, true) => (Outcome::Refused, Some(ServedError::Own(ErrorCode::FieldUnknown))),
            _ if step == 2 => (Outcome::Queried, None),
            _ if step == 1 => (Outcome::Projected, None),
            _ => (kind.outcome, None),
        };
        events.push(RequestServed {
            at: at + (step + 1) * 9_000_000,
            outcome,
            error,
            follow_up: true,
            arguments: vec![
                "cursor".into(),
                if outcome == Outcome::Queried { "sql" } else { "fields" }.into(),
            ],
            actual_tokens: None,
            original_tokens: None,
            estimated_tokens: Some(if error.is_some() { 70 } else { 300 + random.below(1_500) }),
            response_bytes: 1_200,
            items: (is_list && error.is_none()).then_some(20),
            latency: Duration::from_micros(500 + took),
            overhead: Duration::from_micros(400 + took),
            stages: vec![],
            ..first.clone()
        });
    }
    if random.next() < 0.006 {
        events[0] = RequestServed {
            outcome: Outcome::Untouched,
            error: Some(ServedError::Upstream),
            original_tokens: Some(60),
            estimated_tokens: Some(60),
            stages: vec![],
            ..first
        };
    }
    let numbered = events.into_iter().map(|one| {
        *number += 1;
        served(RequestServed { request: u128::from(PROCESS) << 64 | u128::from(*number), ..one })
    });
    numbered.collect()
}

fn configured(at: u64, version: u64, changes: &[(&str, &str, &str)]) -> Event {
    let changes = changes.iter().map(|(key, old, new)| ConfigChange {
        key: (*key).to_owned(),
        old: Some((*old).to_owned()),
        new: Some((*new).to_owned()),
    });
    let source = "/home/me/portion.yaml".to_owned();
    Event::ConfigApplied(Arc::new(ConfigApplied { at, version, source, changes: changes.collect() }))
}

/// An alert, raised or over.
pub(crate) fn alerted(at: u64, raised: bool, share: f64) -> Event {
    Event::AlertChanged(Arc::new(AlertChanged {
        at,
        alert_name: "oversized".into(),
        is_raised: raised,
        share,
        threshold: 0.05,
        requests: 210,
        matching_requests: (share * 210.0) as u64,
        window: Duration::from_mins(5),
        process: PROCESS,
    }))
}

/// Few requests, ten minutes before `end`, whose figures can be worked out by hand: 4 first calls of 10,000 tokens each,
/// 2 of them above what a reply could cost then, one follow-up that succeeds and one that finds its result gone.
pub(crate) fn few(end: u64) -> Vec<Event> {
    let at = end - 10 * MINUTE;
    let first = |number: u64, budget| RequestServed {
        request: u128::from(number),
        at: at + number,
        endpoint: Arc::from("list_bookings"),
        kind: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        arguments: vec!["status".into()],
        origin: Some(7),
        counter: "claude",
        trace: Some(TraceContext { id: 0xabc, parent: 1, span: 2, sampled: true }),
        estimated_tokens: Some(2_000),
        actual_tokens: Some(if number == 4 { 1_000 } else { 2_000 }),
        original_tokens: Some(10_000),
        budget: Some(budget),
        response_bytes: 8_000,
        original_bytes: 40_000,
        form: Some(PayloadForm::List),
        items: Some(20),
        total_items: Some(100),
        latency: Duration::from_millis(40),
        overhead: Duration::from_millis(number),
        stages: vec![StageName::Dense, StageName::Condense],
        session: 0xbeef,
        config: 3,
        ..RequestServed::default()
    };
    let follow = |number: u64, outcome, error| RequestServed {
        outcome,
        error,
        follow_up: true,
        actual_tokens: None,
        original_tokens: None,
        estimated_tokens: Some(500),
        stages: vec![],
        ..first(number, 4_000)
    };
    let alone = |request: RequestServed| RequestServed {
        origin: None,
        endpoint: Arc::from("get_booking"),
        ..request
    };
    [
        first(1, 4_000),
        follow(2, Outcome::Paginated, None),
        follow(3, Outcome::Expired, Some(ServedError::Own(ErrorCode::CursorExpired))),
        first(4, 4_000),
        alone(first(5, 12_000)),
        alone(first(6, 12_000)),
    ]
    .map(served)
    .into_iter()
    .chain([configured(at - MINUTE, 3, &[("hardCap", "12000", "8000")])])
    .collect()
}

/// Follow-ups of endpoints with names of every length: of 300 characters, of two, of none.
pub(crate) fn named(end: u64) -> Vec<Event> {
    let names = [format!("long_{}", "name".repeat(74)), "ls".to_owned(), String::new()];
    let request = |(at, name): (usize, &String)| {
        served(RequestServed {
            request: 0xd000 + at as u128,
            at: end - 3 * MINUTE + at as u64,
            endpoint: Arc::from(name.as_str()),
            kind: EndpointKind::Tool,
            outcome: Outcome::Expired,
            error: Some(ServedError::Own(ErrorCode::CursorExpired)),
            follow_up: true,
            session: 0xd0,
            ..RequestServed::default()
        })
    };
    names.iter().enumerate().map(request).collect()
}

/// Sessions of an experiment, so that each arm has enough of them: shaped replies cost a fifth.
pub(crate) fn experiment(end: u64) -> Vec<Event> {
    let request = |number: u64| {
        let shaped = number.is_multiple_of(2);
        let tokens = if shaped { 2_000 + number } else { 10_000 + number };
        served(RequestServed {
            request: u128::from(0xe000 + number),
            at: end - 20 * MINUTE + number,
            endpoint: Arc::from("search_issues"),
            kind: EndpointKind::Tool,
            outcome: if shaped { Outcome::Paginated } else { Outcome::Unshaped },
            estimated_tokens: Some(tokens),
            original_tokens: Some(10_000),
            arm: Some(if shaped { ExperimentArm::Shaped } else { ExperimentArm::Unshaped }),
            latency: Duration::from_millis(10),
            session: number,
            config: 3,
            ..RequestServed::default()
        })
    };
    let tried = served(RequestServed {
        request: 0xf000,
        at: end - 15 * MINUTE,
        endpoint: Arc::from("read_log"),
        kind: EndpointKind::Tool,
        outcome: Outcome::Unshaped,
        estimated_tokens: Some(9_000),
        original_tokens: Some(9_000),
        shadow: Some(ShadowResult {
            outcome: Outcome::Chunked,
            tokens: 1_900,
            bytes: 7_000,
            overhead: Duration::from_millis(2),
        }),
        ..RequestServed::default()
    });
    (0..60).map(request).chain([tried]).collect()
}
