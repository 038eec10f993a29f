//! Events are added up, under bounded labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use portion_core::error_code::ErrorCode;
use portion_core::event::{EndpointKind, Event, Observer, Outcome, RequestServed, ServedError};
use portion_telemetry::meter::{Family, MAX_NAMED, Meter, Value};
use portion_telemetry::names::{self, Metric};
use proptest::prelude::*;

use crate::sample::page;

fn heard(requests: impl IntoIterator<Item = RequestServed>) -> Meter {
    let meter = Meter::default();
    requests.into_iter().for_each(|request| meter.observe(Event::RequestServed(Arc::new(request))));
    meter
}

fn family(meter: &Meter, metric: &'static Metric) -> Family {
    let found = meter.families().into_iter().find(|family| family.metric == metric);
    found.expect("every name is there")
}

/// Returns the sum of all values of a name.
fn sum(meter: &Meter, metric: &'static Metric) -> i64 {
    let points = family(meter, metric).points;
    let values = points.iter().map(|point| match &point.value {
        Value::Count(count) => *count as i64,
        Value::Number(number) => *number as i64,
        Value::Histogram(histogram) => histogram.count() as i64,
    });
    values.sum()
}

fn any_request() -> impl Strategy<Value = RequestServed> {
    let sizes = (prop::option::of(0..50_000_u64), prop::option::of(0..50_000_u64), 0..100_000_u64);
    let error = prop::option::of(prop::sample::select(vec![
        ServedError::Upstream,
        ServedError::Own(ErrorCode::CursorExpired),
    ]));
    let what = (prop::sample::select(EndpointKind::ALL.to_vec()), 0..400_u32, any::<bool>());
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    (what, sizes, error, outcome).prop_map(|((kind, endpoint, follow_up), sizes, error, outcome)| {
        RequestServed {
            kind,
            endpoint: Arc::from(format!("endpoint_{endpoint}")),
            follow_up,
            outcome,
            error,
            estimated_tokens: sizes.0,
            original_tokens: sizes.1,
            actual_tokens: sizes.0.filter(|tokens| tokens % 3 == 0).map(|tokens| tokens + 10),
            response_bytes: sizes.2,
            ..page(0)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_labels_are_bounded(requests in prop::collection::vec(any_request(), 0..1_500)) {
        let meter = heard(requests.clone());
        let of = |holds: &dyn Fn(&&RequestServed) -> bool| requests.iter().filter(holds).count() as i64;
        prop_assert_eq!(sum(&meter, &names::REQUESTS), requests.len() as i64);
        prop_assert_eq!(sum(&meter, &names::OPERATION_DURATION), requests.len() as i64);
        prop_assert_eq!(sum(&meter, &names::OVERHEAD), requests.len() as i64);
        prop_assert_eq!(sum(&meter, &names::FOLLOW_UPS), of(&|served| served.follow_up));
        prop_assert_eq!(sum(&meter, &names::SIZED), of(&|served| served.is_oversized().is_some()));
        prop_assert_eq!(sum(&meter, &names::OVERSIZED), of(&|served| served.is_oversized() == Some(true)));
        prop_assert_eq!(sum(&meter, &names::ESTIMATE_ERROR), of(&|served| served.actual_tokens.is_some()));
        let totals = meter.totals();
        prop_assert_eq!(totals.requests(), requests.len() as u64);
        prop_assert_eq!(totals.bytes.1, requests.iter().map(|served| served.response_bytes).sum::<u64>());
        let kept_out = totals.tokens.0 as i64 - totals.tokens.1 as i64;
        prop_assert_eq!(sum(&meter, &names::TOKENS_KEPT_OUT), kept_out);
        let together = [
            (&names::ALL_REQUESTS, &names::REQUESTS),
            (&names::ALL_TOKENS, &names::TOKENS),
            (&names::ALL_SIZED, &names::SIZED),
            (&names::ALL_OVERSIZED, &names::OVERSIZED),
        ];
        for (all, by_endpoint) in together {
            prop_assert_eq!(sum(&meter, all), sum(&meter, by_endpoint), "{}", all.name);
        }
        let durations = family(&meter, &names::OPERATION_DURATION).points;
        let durations: BTreeSet<_> = durations.into_iter().map(|point| point.attributes).collect();
        let told: BTreeSet<_> = requests.iter().map(|served| meter.operation(served)).collect();
        prop_assert_eq!(told, durations);
        for family in meter.families() {
            let labels: BTreeSet<_> = family.points.iter().map(|point| &point.attributes).collect();
            prop_assert_eq!(labels.len(), family.points.len(), "{} has each label once", family.metric.name);
            for (name, _) in labels.into_iter().flatten() {
                prop_assert!(family.metric.attributes.contains(name), "{} of {}", name, family.metric.name);
            }
        }
    }
}

#[test]
fn the_first_endpoints_have_labels_of_their_own() {
    let called = |number: usize| RequestServed { endpoint: Arc::from(format!("tool_{number}")), ..page(0) };
    let meter = heard((0..MAX_NAMED + 50).map(called).chain([called(3)]));
    let labels = |meter: &Meter| -> Vec<(String, Value)> {
        let points = family(meter, &names::FOLLOW_UPS).points.into_iter();
        let sized = family(meter, &names::SIZED).points;
        points.zip(sized).map(|(point, sized)| (point.attributes[1].1.clone(), sized.value)).collect()
    };
    let all = labels(&meter);
    assert_eq!(all.len(), MAX_NAMED + 1);
    assert!(all.contains(&("other".to_owned(), Value::Count(50))));
    assert!(all.contains(&("tool_3".to_owned(), Value::Count(2))), "those that have one keep it");
    let read = |number: usize| RequestServed { kind: EndpointKind::Resource, ..called(number) };
    assert_eq!(labels(&heard((0..900).map(read))), [("*".to_owned(), Value::Count(900))]);
}

#[test]
fn what_is_of_all_endpoints_begins_at_zero() {
    let points = |metric| family(&Meter::default(), metric).points;
    let zeros = |metric| points(metric).iter().filter(|point| point.value == Value::Count(0)).count();
    assert_eq!([&names::ALL_SIZED, &names::ALL_OVERSIZED].map(zeros), [1, 1]);
    assert_eq!((zeros(&names::ALL_TOKENS), zeros(&names::ALL_REQUESTS)), (2, Outcome::ALL.len()));
    assert_eq!(points(&names::REQUESTS), [], "whose endpoints are not known");
}

#[test]
fn operations_are_told_apart_as_the_conventions_say() {
    let tool =
        RequestServed { upstream: Some(Arc::from("hotel")), error: Some(ServedError::Upstream), ..page(0) };
    let prompt = RequestServed {
        kind: EndpointKind::Prompt,
        endpoint: Arc::from("greet"),
        follow_up: true,
        ..page(0)
    };
    let resource = RequestServed {
        kind: EndpointKind::Resource,
        error: Some(ServedError::Own(ErrorCode::CursorExpired)),
        ..page(0)
    };
    let points = family(&heard([tool, prompt, resource]), &names::OPERATION_DURATION).points;
    let mut found: Vec<String> = points
        .iter()
        .map(|point| {
            let told: Vec<String> =
                point.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
            told.join(" ")
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "mcp.method.name=prompts/get gen_ai.prompt.name=greet follow_up=true",
            "mcp.method.name=resources/read follow_up=false error.type=cursor_expired",
            "mcp.method.name=tools/call gen_ai.tool.name=list_bookings upstream=hotel follow_up=false \
             error.type=tool_error",
        ]
    );
}

#[test]
fn what_is_kept_out_is_less_what_follow_ups_bring_back() {
    let follow_up = RequestServed { follow_up: true, estimated_tokens: Some(4_000), ..page(0) };
    let whole = RequestServed { outcome: Outcome::Untouched, original_tokens: Some(1_000), ..page(0) };
    let refused = RequestServed { outcome: Outcome::Refused, original_tokens: None, ..page(0) };
    let totals = heard([page(0), follow_up, whole, refused]).totals();
    assert_eq!(totals.tokens, (11_000, 6_000));
    assert_eq!((totals.sized, totals.oversized), (2, 1));
    assert_eq!(totals.adoption(), Some(2.0 / 3.0), "of what was answered, one passed whole");
    assert_eq!((totals.mean_tokens(), totals.follow_ups_per_first()), (Some(1_750.0), Some(1.0 / 3.0)));
    assert_eq!(totals.mean_bytes(), Some(4_000.0));
    assert_eq!(heard([]).totals().reduction(), None);
}
