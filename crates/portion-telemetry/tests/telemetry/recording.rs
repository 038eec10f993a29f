//! Recorded events are read back unchanged.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use portion_core::event::{
    ConfigApplied, ConfigChange, ConfigRejected, EndpointKind, Event, ExperimentArm, Observer, Outcome,
    PayloadForm, RequestServed, ServedError, ShadowResult, TraceContext,
};
use portion_core::render::StageName;
use portion_telemetry::read::{self, Endpoint, Filter, Record};
use proptest::prelude::*;

use crate::sample::{LONG, Place, hear, page};

/// Returns the expected record of a request.
fn expected(served: &RequestServed) -> Record {
    let text = |name: Option<&'static str>| name.map(str::to_owned);
    Record {
        request: served.request,
        at: served.at,
        endpoint: Endpoint {
            upstream: served.upstream.as_deref().map(str::to_owned),
            kind: served.kind.name().to_owned(),
            name: served.endpoint.to_string(),
        },
        outcome: served.outcome.name().to_owned(),
        error: text(served.error.map(ServedError::name)),
        follow_up: served.follow_up,
        arguments: served.arguments.clone(),
        estimated_tokens: served.estimated_tokens,
        actual_tokens: served.actual_tokens,
        original_tokens: served.original_tokens,
        budget: served.budget,
        response_bytes: served.response_bytes,
        original_bytes: served.original_bytes,
        form: text(served.form.map(PayloadForm::name)),
        items: served.items,
        total_items: served.total_items,
        latency: served.latency,
        overhead: served.overhead,
        stages: served.stage_names().into_iter().map(str::to_owned).collect(),
        arm: served.arm.map(|arm| arm.name().to_owned()),
        shadow: served.shadow.as_ref().map(|shadow| read::ShadowResult {
            outcome: shadow.outcome.name().to_owned(),
            tokens: shadow.tokens,
            bytes: shadow.bytes,
            overhead: shadow.overhead,
        }),
        session: served.session,
        client: served.client.as_deref().map(str::to_owned),
        config: served.config,
        tokens_per_item: match (served.estimated_tokens, served.items) {
            (Some(tokens), Some(items)) if items > 0 => Some(tokens as f64 / items as f64),
            _ => None,
        },
        origin: served.origin,
        counter: served.counter.to_owned(),
        trace: served.trace.map(|trace| read::TraceContext {
            id: trace.id,
            parent: trace.parent,
            span: trace.span,
        }),
    }
}

fn any_time() -> impl Strategy<Value = Duration> {
    (0..10_000_000_u64).prop_map(Duration::from_micros)
}

fn any_served() -> impl Strategy<Value = RequestServed> {
    let sizes = prop::option::of(0..1_000_000_u64);
    let names = prop::option::of("[a-z/]{1,12}");
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    let shadow = (outcome.clone(), any::<u32>(), any::<u32>(), any_time()).prop_map(
        |(outcome, tokens, bytes, overhead)| ShadowResult {
            outcome,
            tokens: tokens.into(),
            bytes: bytes.into(),
            overhead,
        },
    );
    let who = (any::<u128>(), names, "\\PC{0,40}", outcome, any::<bool>(), any::<u64>());
    let figures = (sizes.clone(), sizes.clone(), sizes.clone(), sizes.clone(), sizes.clone(), sizes);
    let rest = (
        prop::collection::vec("\\PC{0,20}", 0..4),
        any_time(),
        any_time(),
        prop::option::of(prop::sample::select(ExperimentArm::ALL.to_vec())),
        prop::option::of(shadow),
        prop::option::of(prop::sample::select(ServedError::all().collect::<Vec<_>>())),
    );
    (who, figures, rest).prop_map(|(who, figures, rest)| RequestServed {
        request: who.0,
        upstream: who.1.map(Arc::from),
        endpoint: Arc::from(who.2),
        kind: EndpointKind::Tool,
        outcome: who.3,
        follow_up: who.4,
        session: who.5,
        estimated_tokens: figures.0,
        actual_tokens: figures.1,
        original_tokens: figures.2,
        budget: figures.3,
        items: figures.4,
        total_items: figures.5,
        arguments: rest.0,
        latency: rest.1,
        overhead: rest.2,
        arm: rest.3,
        shadow: rest.4,
        error: rest.5,
        stages: vec![StageName::Elide],
        form: Some(PayloadForm::List),
        origin: figures.0,
        counter: "o200k",
        trace: figures.1.map(|half| TraceContext {
            id: u128::from(half) << 80 | 5,
            parent: half << 40,
            span: !half,
            sampled: true,
        }),
        ..page(0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_member_is_kept(requests in prop::collection::vec(any_served(), 1..60)) {
        let numbered: Vec<RequestServed> = (0..).zip(requests).map(|(at, served)| RequestServed { at, ..served }).collect();
        let place = Place::new();
        place.record(numbered.clone());
        let found = place.reader().requests(&Filter::default()).expect("it can be read");
        let expect: Vec<Record> = numbered.iter().rev().map(expected).collect();
        prop_assert_eq!(found, expect);
    }
}

/// Scenario V5.1.
#[test]
fn v5_1_each_of_a_hundred_requests_is_recorded() {
    let place = Place::new();
    place.record((0..100).map(page));
    let found = place.reader().requests(&Filter::default()).expect("it can be read");
    assert_eq!(found.len(), 100);
    for (record, number) in found.iter().zip((0..100).rev()) {
        assert_eq!(record, &expected(&page(number)));
        assert_eq!(
            (record.estimated_tokens, record.response_bytes, record.items),
            (Some(1_000), 4_000, Some(50))
        );
        assert_eq!(record.latency, Duration::from_millis(20 + number % 7));
    }
}

#[test]
fn what_waits_at_the_end_is_written() {
    let place = Place::new();
    let recorder = place.recorder();
    (0..2_000).for_each(|number| hear(&recorder, page(number)));
    drop(recorder);
    assert_eq!(place.reader().requests(&Filter::default()).expect("it can be read").len(), 2_000);
}

#[test]
fn several_recorders_share_a_file() {
    let place = Place::new();
    thread::scope(|scope| {
        for recorder in 0..4 {
            let place = &place;
            scope.spawn(move || {
                let one = place.recorder();
                (0..500).for_each(|number| hear(&one, page(recorder * 500 + number)));
                // Another one may hold the file for longer than is waited for.
                assert!((0..20).any(|_| one.flush(LONG)), "{:?}", one.snapshot());
                assert_eq!(one.snapshot().written, 500);
            });
        }
    });
    let mut found: Vec<u128> = Vec::new();
    place.reader().each(&Filter::default(), |record| found.push(record.request)).expect("it can be read");
    found.sort_unstable();
    assert!(found.into_iter().eq(0..2_000));
}

#[test]
fn filters_say_what_is_meant() {
    let place = Place::new();
    let named = |number, upstream: Option<&str>, endpoint: &str, outcome| RequestServed {
        upstream: upstream.map(Arc::from),
        endpoint: Arc::from(endpoint),
        outcome,
        ..page(number)
    };
    place.record([
        named(0, None, "list_bookings", Outcome::Paginated),
        named(1, Some("hotel"), "list_rooms", Outcome::Summarized),
        named(2, Some("hotel"), "get_room", Outcome::Untouched),
        RequestServed {
            arm: Some(ExperimentArm::Shaped),
            ..named(3, None, "file:///var/log/a.log", Outcome::Chunked)
        },
    ]);
    let reader = place.reader();
    let check = |filter: Filter, expect: &[u128]| {
        let found = reader.requests(&filter).expect("it can be read");
        let found: Vec<u128> = found.iter().map(|record| record.request).collect();
        assert_eq!(found, expect, "{filter:?}");
    };
    let all = Filter::default;
    let like = |glob: &str| Filter { endpoint: Some(glob.to_owned()), ..all() };
    check(all(), &[3, 2, 1, 0]);
    check(Filter { limit: Some(2), ..all() }, &[3, 2]);
    check(Filter { since: Some(page(2).at), ..all() }, &[3, 2]);
    check(Filter { until: Some(page(2).at), ..all() }, &[1, 0]);
    check(Filter { outcome: Some(Outcome::Chunked), ..all() }, &[3]);
    check(Filter { arm: Some(ExperimentArm::Shaped), ..all() }, &[3]);
    check(Filter { session: Some(0), ..all() }, &[3, 0]);
    check(like("list_*"), &[1, 0]);
    check(like("hotel/*"), &[2, 1]);
    check(like("get_room"), &[2]);
    check(like("file://*"), &[3]);
    check(like("'; DROP TABLE requests; --"), &[]);
    check(Filter { since: Some(page(1).at), outcome: Some(Outcome::Untouched), ..like("*room*") }, &[2]);
}

#[test]
fn what_was_configured_is_read_as_it_was_told() {
    let place = Place::new();
    let change = |key: &str, old: Option<&str>, new: Option<&str>| ConfigChange {
        key: key.to_owned(),
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    let first = ConfigApplied { at: 1, version: 1, source: "portion.yaml".to_owned(), changes: vec![] };
    let changes =
        vec![change("hardCap", Some("12000"), Some("8000")), change("redact", None, Some("[\"email\"]"))];
    let second = ConfigApplied { at: 2, version: 2, changes, ..first.clone() };
    let errors = vec!["3:7: unknown key".to_owned(), "4:1: out of range".to_owned()];
    let refused = ConfigRejected { at: 3, source: "portion.yaml".to_owned(), errors };
    let recorder = place.recorder();
    for configured in [&first, &second] {
        recorder.observe(Event::ConfigApplied(Arc::new(configured.clone())));
    }
    recorder.observe(Event::ConfigRejected(Arc::new(refused.clone())));
    assert!(recorder.flush(LONG));
    let (reader, all) = (place.reader(), Filter::default());
    assert_eq!(reader.configurations(&all).expect("it can be read"), [second.clone(), first]);
    assert_eq!(
        reader.configurations(&Filter { since: Some(2), ..all.clone() }).expect("it can be read"),
        [second]
    );
    assert_eq!(reader.misconfigurations(&all).expect("it can be read"), [refused]);
}

#[test]
fn a_change_of_a_file_is_noted_once_however_many_obey_it() {
    const SECOND: u64 = 1_000_000;
    let place = Place::new();
    let recorder = place.recorder();
    let configured = |at, version, source: &str| {
        let source = source.to_owned();
        Event::ConfigApplied(Arc::new(ConfigApplied { at: at * SECOND, version, source, changes: vec![] }))
    };
    for (at, version, source) in [
        (100, 2, "portion.yaml"),
        (101, 2, "portion.yaml"),
        (101, 2, "other.yaml"),
        (102, 3, "portion.yaml"),
        (103, 3, "portion.yaml"),
        // Back to what it was, and from another beginning: these are changes.
        (104, 2, "portion.yaml"),
        (200, 2, "portion.yaml"),
    ] {
        recorder.observe(configured(at, version, source));
    }
    assert!(recorder.flush(LONG));
    let noted = place.reader().configurations(&Filter::default()).expect("it can be read");
    let noted: Vec<_> = noted.iter().rev().map(|it| (it.at / SECOND, it.version, &*it.source)).collect();
    let file = "portion.yaml";
    assert_eq!(
        noted,
        [(100, 2, file), (101, 2, "other.yaml"), (102, 3, file), (104, 2, file), (200, 2, file)]
    );
}

#[test]
fn names_are_kept_up_to_a_length() {
    let place = Place::new();
    let (uri, argument) = ("ü".repeat(600), "a".repeat(70));
    place.record([RequestServed { endpoint: Arc::from(uri), arguments: vec![argument; 40], ..page(0) }]);
    let found = place.reader().requests(&Filter::default()).expect("it can be read");
    assert_eq!(found[0].endpoint.name, "ü".repeat(512));
    assert_eq!(found[0].arguments, vec!["a".repeat(64); 32]);
}

#[test]
fn what_was_not_counted_costs_four_bytes_a_token() {
    let place = Place::new();
    let uncounted = |number, outcome| RequestServed {
        outcome,
        estimated_tokens: None,
        original_tokens: None,
        response_bytes: 1_200,
        ..page(number)
    };
    place.record([uncounted(0, Outcome::Untouched), uncounted(1, Outcome::Paginated)]);
    let found = place.reader().requests(&Filter::default()).expect("it can be read");
    let costs: Vec<_> =
        found.iter().map(|record| (record.served_tokens(), record.payload_tokens())).collect();
    assert_eq!(costs, [(None, None), (Some(300), Some(300))]);
    let found = place.reader().endpoints(&Filter::default()).expect("it can be read");
    let figures = &found[0].stats;
    assert_eq!((figures.sized, figures.original_tokens, figures.served_tokens), (1, 300, 300));
}

#[test]
fn endpoints_have_figures() {
    let place = Place::new();
    let follow_up = RequestServed { follow_up: true, original_tokens: None, ..page(1) };
    let small = RequestServed {
        endpoint: Arc::from("get_room"),
        outcome: Outcome::Untouched,
        estimated_tokens: None,
        original_tokens: Some(300),
        error: Some(ServedError::Upstream),
        ..page(2)
    };
    place.record([page(0), follow_up, small]);
    let found = place.reader().endpoints(&Filter::default()).expect("it can be read");
    let [bookings, room] = &found[..] else { panic!("two of them: {found:?}") };
    assert_eq!((bookings.stats.requests, bookings.stats.follow_ups, bookings.stats.errors), (2, 1, 0));
    assert_eq!((bookings.stats.original_tokens, bookings.stats.served_tokens), (10_000, 2_000));
    assert_eq!((bookings.stats.reduction(), bookings.stats.oversized_share()), (Some(0.8), Some(1.0)));
    assert_eq!(bookings.stats.latency.p50, Duration::from_millis(20));
    assert_eq!(bookings.stats.outcomes.get("paginated"), Some(&2));
    assert_eq!(
        (room.stats.errors, room.stats.reduction(), room.stats.oversized_share()),
        (1, Some(0.0), Some(0.0))
    );
    let one = Filter { limit: Some(1), ..Filter::default() };
    assert_eq!(place.reader().endpoints(&one).expect("it can be read"), found[..1]);
}
