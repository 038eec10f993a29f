//! Alerts: raised by the call that makes it so, never before, and over only well below that.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use portion_core::event::{AlertChanged, Event, Observer, RequestServed};
use portion_telemetry::alert::{Alarm, AlertLevel, AlertState, CountedCalls, MIN_CALLS, Rule, Watch};
use proptest::prelude::*;

use crate::sample::{LONG, Place, page};

const SLOT: Duration = Duration::from_secs(10);

/// A call, so long after the one before, and whether it is oversized.
type Come = (Duration, bool);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Calls in phases, each with a share of a thousand of its own that is oversized.
fn any_calls() -> impl Strategy<Value = Vec<Come>> {
    let pause = prop_oneof![9 => 0..3_000_u64, 1 => 0..200_000_u64].prop_map(Duration::from_millis);
    let phase = (0..300_u32, prop::collection::vec((pause, 0..1_000_u32), 1..200));
    let phases = prop::collection::vec(phase, 1..4);
    phases.prop_map(|phases| {
        let calls = phases
            .into_iter()
            .flat_map(|(share, calls)| calls.into_iter().map(move |(pause, dice)| (pause, dice < share)));
        calls.collect()
    })
}

/// The calls of the last thirty slots, counted anew.
fn recount(calls: &[Come], now: Duration) -> (u64, u64) {
    let slot = |time: Duration| (time.as_nanos() / SLOT.as_nanos()) as u64;
    let recent = calls.iter().filter(|(time, _)| slot(*time) + 30 > slot(now));
    let count = |all: (u64, u64), call: &Come| (all.0 + 1, all.1 + u64::from(call.1));
    recent.fold((0, 0), count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn it_is_what_a_recount_says(calls in any_calls()) {
        let mut watch = Watch::new(Rule::default());
        let (mut now, mut come, mut raised) = (Duration::ZERO, Vec::new(), false);
        let endpoint = Arc::from("list_bookings");
        for (pause, oversized) in calls {
            now += pause;
            // First time goes by, then a call comes: each may turn it, and only where a recount says so.
            for call in [None, Some((now, oversized))] {
                let transition = match call {
                    None => watch.tick(now),
                    Some(_) => watch.count(now, oversized.then_some(&endpoint)),
                };
                come.extend(call);
                let (requests, counted) = recount(&come, now);
                let next = expect(raised, requests, counted);
                prop_assert_eq!(transition.is_some(), next != raised);
                raised = next;
                let state = watch.state();
                prop_assert_eq!(
                    (state.raised, state.requests, state.oversized),
                    (raised, requests, counted)
                );
                let entry: u64 = state.endpoints.iter().map(|(_, count)| count).sum();
                prop_assert_eq!(entry, counted);
            }
        }
    }
}

/// Returns true if the alert is raised next, in whole numbers: above 5 % of 20 or more, until it is at 4 % or below.
fn expect(raised: bool, requests: u64, oversized: u64) -> bool {
    if raised {
        100 * oversized > 4 * requests
    } else {
        requests >= MIN_CALLS && 100 * oversized > 5 * requests
    }
}

/// The default rule, for all calls.
fn every() -> Rule {
    Rule { counts: CountedCalls::Every, ..Rule::default() }
}

/// So many calls within a moment, the oversized ones last.
fn after(small: u64, oversized: u64) -> AlertState {
    let mut watch = Watch::new(Rule::default());
    let endpoint = Arc::from("list_bookings");
    (0..small).for_each(|_| drop(watch.count(at(1), None)));
    (0..oversized).for_each(|_| drop(watch.count(at(2), Some(&endpoint))));
    watch.state()
}

#[test]
fn five_per_cent_is_not_above_five_per_cent() {
    let check = |small, oversized, raised| {
        assert_eq!(after(small, oversized).raised, raised, "{oversized} beside {small}");
    };
    check(94, 6, true);
    check(95, 5, false);
    check(0, 19, false);
    check(0, 20, true);
    check(19, 1, false);
    check(18, 2, true);
    check(950, 50, false);
    check(949, 51, true);
}

#[test]
fn half_of_the_threshold_is_near() {
    let check =
        |small, oversized, level| assert_eq!(after(small, oversized).level, level, "{small}, {oversized}");
    check(39, 1, AlertLevel::Normal);
    check(38, 1, AlertLevel::Near);
    check(95, 5, AlertLevel::Near);
    check(94, 6, AlertLevel::Raised);
    check(0, 19, AlertLevel::Normal);
}

#[test]
fn by_default_only_what_is_asked_again_counts() {
    let alarm = Alarm::start(Some(Rule::default()), |_| {});
    let state = || alarm.state().map(|(state, _)| (state.requests, state.oversized, state.raised));
    let call = |session| RequestServed { session, arguments: Vec::new(), ..page(0) };
    (0..30).for_each(|session| alarm.observe(Event::RequestServed(Arc::new(call(session)))));
    assert_eq!(state(), Some((30, 0, false)), "the first large list of each session");
    (0..2).for_each(|session| alarm.observe(Event::RequestServed(Arc::new(call(session)))));
    assert_eq!(state(), Some((32, 2, true)), "two sessions ask again");
}

#[test]
fn it_is_over_at_four_fifths_or_when_nothing_comes() {
    let mut watch = Watch::new(Rule::default());
    let endpoint = Arc::from("list_bookings");
    (0..94).for_each(|_| assert_eq!(watch.count(at(0), None), None));
    let transition: Vec<u64> = (1..=6).filter(|_| watch.count(at(0), Some(&endpoint)).is_some()).collect();
    assert_eq!(transition, [5], "by the very call: 5 of 99");
    (0..49).for_each(|_| assert_eq!(watch.count(at(100), None), None, "6 of 149 are more than 4 %"));
    let over = watch.count(at(100), None).expect("6 of 150 are 4 %");
    assert!(!over.raised);
    assert_eq!(watch.count(at(200), Some(&endpoint)), None, "7 of 151 are between 4 and 5 %");
    assert_eq!(watch.count(at(200), Some(&endpoint)).map(|again| again.raised), Some(true), "8 of 152");
}

#[test]
fn it_is_over_when_its_cause_is_too_old() {
    let mut watch = Watch::new(Rule::default());
    let endpoint = Arc::from("list_bookings");
    (0..20).for_each(|_| drop(watch.count(at(3), Some(&endpoint))));
    assert!(watch.state().raised);
    assert_eq!(watch.tick(at(299)), None);
    let over = watch.tick(at(300)).expect("nothing came for five minutes");
    assert_eq!((over.raised, over.requests, over.share()), (false, 0, None));
    assert_eq!(watch.tick(at(100_000)), None);
}

#[test]
fn an_alarm_tells_each_change_once_and_whoever_asks_how_it_stands() {
    let (told, changes) = channel();
    let alarm = Alarm::start(Some(every()), move |change| drop(told.send(change.clone())));
    let small = RequestServed { original_tokens: Some(10), ..page(0) };
    let calls = (0..94).map(|_| small.clone()).chain((0..8).map(page));
    let process = 7;
    for call in calls {
        alarm.observe(Event::RequestServed(Arc::new(RequestServed { request: process << 64, ..call })));
    }
    let change = changes.recv_timeout(LONG).expect("5 of 99");
    assert_eq!(
        (change.alerted.requests, change.alerted.matching_requests, change.alerted.is_raised),
        (99, 5, true)
    );
    assert_eq!((change.alerted.threshold, change.alerted.process), (0.05, 7));
    assert_eq!(change.since, change.alerted.at);
    let sentence = change.state.sentence();
    for part in ["5.1 % of 99 calls in 5m", "list_bookings (5)", "portion stats --since 5m"] {
        assert!(sentence.contains(part), "{part} in {sentence}");
    }
    let (state, since) = alarm.state().expect("somebody wants to know");
    assert_eq!((state.requests, state.oversized, since), (102, 8, Some(change.since)));
    alarm.set_rule(None);
    let over = changes.recv_timeout(LONG).expect("nobody watches any more");
    assert_eq!((over.alerted.is_raised, over.since), (false, change.since));
    assert_eq!(alarm.state(), None);
    drop(alarm);
    assert!(changes.recv_timeout(LONG).is_err(), "nothing else");
}

#[test]
fn another_share_is_held_against_what_was_counted() {
    let (told, changes) = channel();
    let rule = |percent| Some(Rule { counts: CountedCalls::Every, percent, window: Duration::from_hours(1) });
    let alarm = Alarm::start(rule(60.0), move |change| {
        let _ = told.send((change.alerted.is_raised, change.state.rule.percent, change.state.requests));
    });
    for tokens in [1_000, 10_000].into_iter().flat_map(|tokens| [tokens; 20]) {
        let served = RequestServed { original_tokens: Some(tokens), ..page(0) };
        alarm.observe(Event::RequestServed(Arc::new(served)));
    }
    for (percent, raised) in
        [(60.0, false), (5.0, true), (55.0, true), (90.0, false), (55.0, false), (5.0, true)]
    {
        let stood = alarm.state().is_some_and(|(state, _)| state.raised);
        alarm.set_rule(rule(percent));
        assert_eq!(alarm.state().map(|(state, _)| state.raised), Some(raised), "{percent}");
        if stood != raised {
            assert_eq!(changes.recv_timeout(LONG), Ok((raised, percent, 40)));
        }
    }
    alarm.set_rule(Some(Rule { percent: 5.0, window: Duration::from_mins(1), ..every() }));
    assert_eq!(changes.recv_timeout(LONG), Ok((false, 5.0, 40)), "another window counts anew");
    assert_eq!(alarm.state().map(|(state, _)| state.requests), Some(0));
}

#[test]
fn an_alert_is_over_where_nothing_more_comes() {
    let (told, changes) = channel();
    let rule = Rule { window: Duration::from_millis(300), ..every() };
    let alarm = Alarm::start(Some(rule), move |change| {
        let _ = told.send(change.alerted.is_raised);
    });
    // As many as it takes, however slow this machine is.
    while !alarm.state().is_some_and(|(state, _)| state.raised) && changes.try_recv() != Ok(true) {
        (0..40).for_each(|_| alarm.observe(Event::RequestServed(Arc::new(page(0)))));
    }
    while changes.recv_timeout(LONG).expect("it is over") {}
}

/// Which alerts stand, and when they were raised.
#[test]
fn an_alert_stands_until_its_process_takes_it_back_or_has_gone() {
    let minute = |minutes: u64| 1_760_000_000_000_000 + minutes * 60_000_000;
    let alerted = |(minutes, process, raised)| {
        Event::AlertChanged(Arc::new(AlertChanged {
            at: minute(minutes),
            alert_name: "oversized".into(),
            is_raised: raised,
            share: 0.1,
            threshold: 0.05,
            requests: 100,
            matching_requests: 10,
            window: Duration::from_mins(5),
            process,
        }))
    };
    // The process numbered 1 goes on recording until minute 20.
    let served = RequestServed { request: 1 << 64, at: minute(20), ..page(0) };
    let check = |alerts: &[(u64, u64, bool)], now, expect: &[u64]| {
        let place = Place::new();
        let recorder = place.recorder();
        alerts.iter().copied().map(alerted).for_each(|event| recorder.observe(event));
        recorder.observe(Event::RequestServed(Arc::new(served.clone())));
        assert!(recorder.flush(LONG));
        let state = place.reader().active_alerts(minute(now)).expect("it can be read");
        let expect: Vec<u64> = expect.iter().copied().map(minute).collect();
        assert_eq!(state.iter().map(|alert| alert.at).collect::<Vec<_>>(), expect, "{alerts:?} at {now}");
    };
    check(&[], 1, &[]);
    check(&[(1, 1, true), (2, 1, false)], 3, &[]);
    check(&[(1, 1, true), (2, 1, false), (3, 1, true)], 4, &[3]);
    check(&[(1, 1, true), (2, 2, true), (3, 1, false)], 4, &[2]);
    check(&[(1, 1, true), (2, 2, true)], 5, &[2, 1]);
    check(&[(1, 1, true), (2, 2, true)], 22, &[1]);
    check(&[(1, 1, true)], 26, &[]);
}
