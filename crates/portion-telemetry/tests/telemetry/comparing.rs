//! Experiments, from records to verdicts.

use std::sync::Arc;
use std::time::Duration;

use portion_core::error_code::ErrorCode;
use portion_core::event::{ExperimentArm, Outcome, RequestServed, ServedError, ShadowResult};
use portion_telemetry::experiment::{Arms, Comparison, Design, Measure, Measured, Verdict};
use portion_telemetry::read::Filter;

use crate::sample::{Place, page};

fn compared(requests: Vec<RequestServed>) -> Vec<Comparison> {
    let place = Place::new();
    place.record(requests);
    place.reader().experiment(&Filter::default()).expect("it can be read")
}

fn measured(comparison: &Comparison, measure: Measure) -> &Measured {
    comparison.measures.iter().find(|measured| measured.measure == measure).expect("it is measured")
}

/// A session of two calls: shaped ones are small and need a follow-up each, the others are large and need none.
fn session(number: u64, arm: ExperimentArm) -> Vec<RequestServed> {
    let shaped = arm == ExperimentArm::Shaped;
    let call = |at: u64| RequestServed {
        at: number * 100 + at,
        session: number,
        arm: Some(arm),
        outcome: if shaped { Outcome::Paginated } else { Outcome::Unshaped },
        // Sessions differ.
        estimated_tokens: shaped.then_some(900 + number),
        original_tokens: Some(9_000 + number % 5),
        latency: Duration::from_millis(20 + number % 3),
        ..page(0)
    };
    let mut calls = vec![call(0), call(10)];
    if shaped {
        calls.extend([1, 11].map(|at| RequestServed { follow_up: true, ..call(at) }));
    }
    calls
}

#[test]
fn arms_are_compared_by_session() {
    let arm =
        |number: u64| if number.is_multiple_of(2) { ExperimentArm::Shaped } else { ExperimentArm::Unshaped };
    let found = compared((0..60).flat_map(|number| session(number, arm(number))).collect());
    let [all, bookings] = &found[..] else { panic!("all, and one endpoint: {found:?}") };
    assert_eq!((all.endpoint.as_ref(), all.design), (None, Design::Split));
    assert_eq!(bookings.endpoint.as_ref().map(ToString::to_string).as_deref(), Some("list_bookings"));
    assert_eq!((bookings.shaped.sessions, bookings.shaped.requests), (30, 120));
    assert_eq!((bookings.unshaped.sessions, bookings.unshaped.requests), (30, 60));
    assert_eq!(bookings.measures.len(), Measure::ALL.len());
    let check = |measure, shaped: f64, unshaped: f64, verdict| {
        let measured = measured(bookings, measure);
        let value =
            |estimate: Option<_>| estimate.map(|found: portion_telemetry::statistics::Estimate| found.value);
        assert_eq!(
            (value(measured.shaped), value(measured.unshaped)),
            (Some(shaped), Some(unshaped)),
            "{measure:?}"
        );
        assert_eq!(value(measured.difference), Some(shaped - unshaped), "{measure:?}");
        assert_eq!(measured.verdict, verdict, "{measure:?}");
    };
    check(Measure::Tokens, 929.0, 9_002.0, Verdict::Lower);
    check(Measure::TokensPerCall, 1_858.0, 9_002.0, Verdict::Lower);
    check(Measure::Latency, 21.0, 21.0, Verdict::NoDifference);
    check(Measure::FollowUps, 1.0, 0.0, Verdict::Higher);
    check(Measure::Errors, 0.0, 0.0, Verdict::NoDifference);
    check(Measure::Finished, 1.0, 1.0, Verdict::NoDifference);
}

#[test]
fn the_order_of_records_is_of_no_matter() {
    let place = Place::new();
    let arm =
        |number: u64| if number.is_multiple_of(2) { ExperimentArm::Shaped } else { ExperimentArm::Unshaped };
    place.record((0..60).flat_map(|number| session(number, arm(number))));
    let records = place.reader().requests(&Filter::default()).expect("it can be read");
    let (mut there, mut back) = (Arms::default(), Arms::default());
    records.iter().for_each(|record| there.add(record));
    records.iter().rev().for_each(|record| back.add(record));
    assert_eq!(there.compare(), back.compare());
    assert_eq!(there.compare(), place.reader().experiment(&Filter::default()).expect("it can be read"));
}

#[test]
fn many_requests_of_few_sessions_are_too_few() {
    let found = compared(
        (0..8)
            .flat_map(|number| {
                let arm = if number % 2 == 0 { ExperimentArm::Shaped } else { ExperimentArm::Unshaped };
                (0..100).flat_map(move |_| session(number, arm))
            })
            .collect(),
    );
    for measured in &found[0].measures {
        assert_eq!(measured.verdict, Verdict::TooFew, "{:?}", measured.measure);
    }
}

#[test]
fn sessions_that_end_in_an_error_or_lose_their_snapshot_are_not_finished() {
    let check = |last: RequestServed, expect: bool| {
        let requests = [session(0, ExperimentArm::Shaped), vec![last]].concat();
        let found = compared(requests);
        let finished = measured(&found[0], Measure::Finished).shaped.expect("there is a session");
        assert_eq!(finished.value > 0.5, expect);
    };
    let next = |at, error, outcome| RequestServed {
        at,
        error,
        outcome,
        follow_up: true,
        arm: Some(ExperimentArm::Shaped),
        session: 0,
        ..page(0)
    };
    check(next(50, None, Outcome::Paginated), true);
    check(next(50, Some(ServedError::Upstream), Outcome::Untouched), false);
    check(next(5, Some(ServedError::Own(ErrorCode::LimitInvalid)), Outcome::Refused), true);
    check(next(5, Some(ServedError::Own(ErrorCode::CursorInvalid)), Outcome::Refused), false);
    check(next(5, Some(ServedError::Own(ErrorCode::CursorExpired)), Outcome::Expired), false);
}

#[test]
fn a_shadow_is_compared_request_by_request() {
    let request = |number: u64, at: u64| RequestServed {
        at,
        session: number,
        outcome: Outcome::Unshaped,
        estimated_tokens: None,
        // Payloads differ by far more than what is compared.
        original_tokens: Some(10_000 * (number + 1)),
        response_bytes: 40_000 * (number + 1),
        shadow: Some(ShadowResult {
            outcome: Outcome::Paginated,
            tokens: 10_000 * (number + 1) - 90 - number % 3,
            bytes: 40_000 * (number + 1),
            overhead: Duration::from_micros(500),
        }),
        ..page(0)
    };
    let found = compared((0..25).flat_map(|number| [request(number, 1), request(number, 2)]).collect());
    let [_, bookings] = &found[..] else { panic!("all, and one endpoint: {found:?}") };
    assert_eq!(bookings.design, Design::Shadow);
    assert_eq!(
        (bookings.shaped, bookings.unshaped.sessions, bookings.unshaped.requests),
        (bookings.unshaped, 25, 50)
    );
    let check = |measure, low: f64, high: f64, verdict| {
        let measured = measured(bookings, measure);
        let difference = measured.difference.expect("there are pairs");
        assert!((low..=high).contains(&difference.value), "{difference:?}");
        assert_eq!(measured.verdict, verdict);
    };
    check(Measure::Tokens, -92.0, -90.0, Verdict::Lower);
    check(Measure::Bytes, 0.0, 0.0, Verdict::NoDifference);
    check(Measure::Overhead, 0.499, 0.501, Verdict::Higher);
    assert_eq!(bookings.measures.len(), 3, "what a caller would have done next is not known");
}

#[test]
fn what_is_no_experiment_is_not_compared() {
    let other = |number| RequestServed { endpoint: Arc::from("get_room"), ..page(number) };
    assert_eq!(compared((0..50).map(other).collect()), []);
}
