//! Queries of pages return the recorded requests.

use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::event::{
    ConfigApplied, EndpointKind, Event, Observer as _, Outcome, RequestServed, ServedError,
};
use portion_telemetry::read::{Endpoint, Filter, Notable};

use crate::sample::{LONG, Place, page};

#[test]
fn namesakes_are_told_apart() {
    let place = Place::new();
    let named = |number, upstream: Option<&str>, kind, name: &str| RequestServed {
        upstream: upstream.map(Arc::from),
        kind,
        endpoint: Arc::from(name),
        ..page(number)
    };
    place.record([
        named(0, None, EndpointKind::Tool, "list"),
        named(1, None, EndpointKind::Prompt, "list"),
        named(2, Some("z"), EndpointKind::Tool, "list"),
        named(3, None, EndpointKind::Tool, "z/list"),
        named(4, None, EndpointKind::Tool, "l*"),
    ]);
    let reader = place.reader();
    for (upstream, kind, name, expect) in [
        (None, EndpointKind::Tool, "list", Some(0)),
        (None, EndpointKind::Prompt, "list", Some(1)),
        (Some("z"), EndpointKind::Tool, "list", Some(2)),
        (None, EndpointKind::Tool, "z/list", Some(3)),
        (None, EndpointKind::Tool, "l*", Some(4)),
        (None, EndpointKind::Resource, "list", None),
    ] {
        let of =
            Endpoint { upstream: upstream.map(str::to_owned), kind: kind.name().into(), name: name.into() };
        let filter = Filter { of: Some(of), ..Filter::default() };
        let found = reader.requests(&filter).expect("it can be read");
        let found: Vec<u128> = found.iter().map(|record| record.request).collect();
        assert_eq!(found, Vec::from_iter(expect), "{filter:?}");
        let total = reader.total(&filter).expect("it can be read");
        assert_eq!(total.requests, u64::from(expect.is_some()), "{filter:?}");
    }
}

#[test]
fn what_stands_out_is_counted_of_the_newest() {
    let place = Place::new();
    let whole = |number, tokens| RequestServed {
        outcome: Outcome::Unshaped,
        original_tokens: Some(tokens),
        ..page(number)
    };
    place.record([page(0), whole(1, 10_000), whole(2, 10_000), whole(3, 100)]);
    let check = |filter: Filter, expect| {
        let count = place.reader().count_notable(&filter, Notable::Oversized);
        assert_eq!(count.expect("it can be read"), expect, "{filter:?}");
    };
    let unshaped = Filter { outcome: Some(Outcome::Unshaped), ..Filter::default() };
    check(Filter::default(), (4, 3));
    check(Filter { limit: Some(2), ..unshaped.clone() }, (2, 1));
    check(unshaped, (3, 2));
    check(Filter { until: Some(0), ..Filter::default() }, (0, 0));
}

#[test]
fn a_version_is_the_last_one_before_a_moment() {
    let place = Place::new();
    let configured = |at, version, source: &str| ConfigApplied {
        at,
        version,
        source: source.to_owned(),
        changes: Vec::new(),
    };
    let recorder = place.recorder();
    for (at, version, source) in [(1, 2, "a"), (2, 3, "a"), (3, 2, "b"), (5, 2, "a"), (9, 2, "a")] {
        recorder.observe(Event::ConfigApplied(Arc::new(configured(at, version, source))));
    }
    assert!(recorder.flush(LONG));
    let check = |before, expect: &[(u64, &str)]| {
        let found = place.reader().configured(2, before).expect("it can be read");
        let expect: Vec<_> = expect.iter().map(|(at, source)| configured(*at, 2, source)).collect();
        assert_eq!(found, expect, "before {before}");
    };
    check(0, &[]);
    check(1, &[(1, "a")]);
    check(4, &[(3, "b"), (1, "a")]);
    check(8, &[(5, "a"), (3, "b")]);
}

#[test]
fn sessions_come_as_they_asked_last() {
    let place = Place::new();
    let of = |number, session: u64, name: &str| RequestServed {
        session,
        endpoint: Arc::from(name),
        ..page(number)
    };
    let expired = RequestServed {
        outcome: Outcome::Expired,
        error: Some(ServedError::Own(ErrorCode::CursorExpired)),
        ..of(3, 7, "list")
    };
    let many = (100..2_200).map(|number| of(number, u64::MAX, "get"));
    place.record([of(0, 7, "list"), of(1, 8, "list"), of(2, 7, "get"), expired].into_iter().chain(many));
    let reader = place.reader();
    let sessions = |filter: Filter, skip| reader.sessions(&filter, skip).expect("it can be read");
    let all = sessions(Filter::default(), 0);
    let told: Vec<_> = all.iter().map(|one| (one.session, one.first, one.last, one.requests)).collect();
    let at = |number| page(number).at;
    assert_eq!(told, [(u64::MAX, at(100), at(2_199), 2_100), (7, at(0), at(3), 3), (8, at(1), at(1), 1)]);
    // Statistics cover the newest 1,000 requests.
    assert_eq!(all[0].traffic[0].stats.requests, 1_000);
    let [list, get] = &all[1].traffic[..] else { panic!("two endpoints: {:?}", all[1].traffic) };
    assert_eq!((list.endpoint.name.as_str(), list.stats.errors), ("list", 1));
    assert_eq!((list.stats.of(Outcome::Expired), get.stats.served_tokens), (1, 1_000));
    assert_eq!(sessions(Filter { limit: Some(1), ..Filter::default() }, 1), all[1..2]);
    let early = sessions(Filter { since: Some(at(1)), until: Some(at(3)), ..Filter::default() }, 0);
    let told: Vec<_> = early.iter().map(|one| (one.session, one.requests)).collect();
    assert_eq!(told, [(7, 1), (8, 1)]);
    assert_eq!(early[0].traffic[0].endpoint.name, "get");
}
