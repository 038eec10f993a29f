//! Formats of records.

use std::sync::Arc;

use portion_core::event::{ExperimentArm, Outcome, RequestServed};
use portion_core::policy::Policy;
use portion_core::render::StageName;
use portion_telemetry::read::{Endpoint, Filter};
use portion_telemetry::show::{Format, comparisons, endpoints, forecasts, requests};
use portion_telemetry::what_if::{Limits, forecast};

use crate::sample::{Place, page};

fn place() -> Place {
    let place = Place::new();
    let named =
        RequestServed { upstream: Some(Arc::from("hotel")), endpoint: Arc::from("say \"x\", y"), ..page(1) };
    place.record([page(0), named]);
    place
}

#[test]
fn records() {
    let found = place().reader().requests(&Filter::default()).expect("it can be read");
    let table = requests(&found, Format::Table);
    let expect = "\
time                  endpoint          outcome    error  follow-up    came  served  items  latency  overhead  session           counter
2025-10-09 08:53:21Z  hotel/say \"x\", y  paginated  –                 10,000   1,000     50  21.0 ms   0.90 ms  0000000000000001  o200k
2025-10-09 08:53:20Z  list_bookings     paginated  –                 10,000   1,000     50  20.0 ms   0.90 ms  0000000000000000  o200k
";
    assert_eq!(table, expect);
    let json: serde_json::Value = serde_json::from_str(&requests(&found, Format::Json)).expect("it is JSON");
    // What the contract promises, by name.
    for name in [
        "requestId",
        "endpoint",
        "timestamp",
        "outcome",
        "estimatedTokens",
        "actualTokens",
        "originalTokens",
        "responseBytes",
        "originalBytes",
        "itemCount",
        "latencyMs",
        "overheadMs",
        "paginationUsed",
        "summarizationUsed",
        "chunkingUsed",
        "queryUsed",
        "optimizationMetadata",
        "tokensPerItem",
        "experimentArm",
        "session",
    ] {
        assert!(json[0].get(name).is_some(), "{name}");
    }
    assert_eq!(json[1]["requestId"], "0".repeat(32));
    assert_eq!(json[1]["timestamp"], "2025-10-09T08:53:20.000000Z");
    assert_eq!((&json[1]["tokensPerItem"], &json[1]["latencyMs"]), (&20.0.into(), &20.0.into()));
    assert_eq!(json[0]["optimizationMetadata"], serde_json::json!(["dense", "condense"]));
    let csv = requests(&found, Format::Csv);
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert!(
        lines[0].starts_with("requestId,timestamp,upstream,kind,endpoint,outcome,error,followUp,arguments,")
    );
    assert!(
        lines[1].contains(",hotel,tool,\"say \"\"x\"\", y\",paginated,,false,limit,10000,1000,"),
        "{}",
        lines[1]
    );
    assert_eq!(lines.len(), 3);
}

#[test]
fn what_the_byte_limit_left_is_counted_by_what_it_is() {
    let place = Place::new();
    let capped = |number, stages, capped_outcome| RequestServed {
        outcome: Outcome::Capped,
        stages,
        capped_outcome,
        ..page(number)
    };
    place.record([
        page(0),
        capped(1, vec![StageName::Dense], Some(Outcome::Paginated)),
        capped(2, vec![], Some(Outcome::Chunked)),
        capped(3, vec![], None),
    ]);
    let found = place.reader().requests(&Filter::default()).expect("it can be read");
    let json: serde_json::Value = serde_json::from_str(&requests(&found, Format::Json)).expect("it is JSON");
    let used = |number: usize| {
        ["pagination", "summarization", "chunking", "query"]
            .map(|what| json[3 - number][format!("{what}Used")] == true)
    };
    assert_eq!(used(0), [true, false, false, false]);
    assert_eq!(used(1), [true, false, false, false]);
    assert_eq!(used(2), [false, false, true, false]);
    assert_eq!(used(3), [false; 4]);
}

#[test]
fn an_endpoint_names_each_counter_of_its_figures() {
    let place = Place::new();
    place.record([page(0), RequestServed { counter: "claude", ..page(1) }, page(2)]);
    let found = place.reader().endpoints(&Filter::default()).expect("it can be read");
    assert_eq!(found[0].counter, "claude, o200k");
}

#[test]
fn figures_of_endpoints() {
    let found = place().reader().endpoints(&Filter::default()).expect("it can be read");
    let expect = "\
endpoint          requests  counter    came  served  kept out  oversized  follow-ups  errors  expired  refused      p50      p95      p99
list_bookings            1  o200k    10,000   1,000    90.0 %    100.0 %        0.00       0        0        0  20.0 ms  20.0 ms  20.0 ms
hotel/say \"x\", y         1  o200k    10,000   1,000    90.0 %    100.0 %        0.00       0        0        0  21.0 ms  21.0 ms  21.0 ms
";
    assert_eq!(endpoints(&found, Format::Table), expect);
    let json: serde_json::Value = serde_json::from_str(&endpoints(&found, Format::Json)).expect("it is JSON");
    assert!(Outcome::ALL.iter().all(|outcome| json[0][outcome.name()].is_u64()), "each outcome has a figure");
}

#[test]
fn arms() {
    let place = Place::new();
    place.record((0..100).map(|number| RequestServed {
        arm: Some(if number % 2 == 0 { ExperimentArm::Shaped } else { ExperimentArm::Unshaped }),
        estimated_tokens: Some(if number % 2 == 0 { 1_000 + number } else { 9_000 + number }),
        session: number,
        ..page(number)
    }));
    let found = place.reader().experiment(&Filter::default()).expect("it can be read");
    let table = comparisons(&found[1..], Format::Table);
    let expect = "\
endpoint       design  measure                          n                     shaped   n                   unshaped               difference  shaped is
list_bookings  split   tokens a reply                  50       1,049 [1,041, 1,057]  50       9,050 [9,042, 9,058]  -8,001 [-8,013, -7,989]  lower
";
    let lines: String = table.split_inclusive('\n').take(2).collect();
    assert_eq!(lines, expect);
    let json: serde_json::Value =
        serde_json::from_str(&comparisons(&found, Format::Json)).expect("it is JSON");
    assert_eq!((&json[0]["endpoint"], &json[0]["verdict"]), (&"all".into(), &"lower".into()));
    assert_eq!(json[0]["difference"], -8_001.0);
}

#[test]
fn other_limits() {
    let found = place().reader().requests(&Filter::default()).expect("it can be read");
    let limits = |default_page_size| Limits {
        shaped: true,
        policy: Policy { default_page_size, ..Policy::default() },
    };
    let after = |endpoint: &Endpoint| limits(if endpoint.upstream.is_some() { 200 } else { 50 });
    let found = forecast(&found, |_| limits(50), after);
    assert_eq!(found.iter().map(|one| (one.changed(), one.agreed)).collect::<Vec<_>>(), [(1, 1), (0, 1)]);
    let expect = "\
endpoint          requests  changed  most of them               tokens  after  as served  unknown
hotel/say \"x\", y         1        1  paginated, different size   1,000  4,000    100.0 %        0
list_bookings            1        0  –                           1,000  1,000    100.0 %        0
";
    let table = forecasts(&found, Format::Table);
    assert!(table.starts_with(expect), "{table}");
}
