//! Advice, from records to words.

use std::sync::Arc;

use portion_core::event::{Outcome, RequestServed};
use portion_core::policy::Policy;
use portion_telemetry::advise::PageSequences;
use portion_telemetry::read::{Endpoint, Filter};
use portion_telemetry::show::{self, Format};

use crate::sample::{Place, page};

/// A call that is answered by a page, and so many pages after it.
fn walk(origin: u64, endpoint: &str, follow_ups: u64, tokens: u64) -> Vec<RequestServed> {
    let page = |number: u64| RequestServed {
        endpoint: Arc::from(endpoint),
        origin: Some(origin),
        arguments: Vec::new(),
        follow_up: number > 0,
        estimated_tokens: Some(tokens),
        ..page(origin * 10 + number)
    };
    (0..=follow_ups).map(page).collect()
}

fn advised(requests: Vec<RequestServed>, format: Format) -> String {
    let place = Place::new();
    place.record(requests);
    let mut walks = PageSequences::default();
    place.reader().each(&Filter::default(), |record| walks.add(&record)).expect("it can be read");
    let policy = |_: &Endpoint| Policy {
        default_page_size: 50,
        max_page_size: 200,
        reply_target: 4_000,
        token_budget_threshold: 4_000,
        hard_cap: 12_000,
        ..Policy::default()
    };
    show::advice(&walks.advise(policy), format)
}

#[test]
fn endpoints_with_many_follow_ups_are_named_with_a_better_size() {
    let many = (0..30).flat_map(|origin| walk(origin, "list_bookings", 2, 1_000));
    let dear = (30..60).flat_map(|origin| walk(origin, "list_rooms", 1, 4_000));
    let few = (60..70).flat_map(|origin| walk(origin, "list_guests", 1, 1_000));
    let table = advised(many.chain(dear).chain(few).collect(), Format::Table);
    let expect = "\
endpoint       calls  follow-ups  read on  needed  tokens/item  page size  better  saves pages  tokens
list_bookings     30          60  100.0 %     150         20.0         50     150           60   9,600
list_rooms        30          30  100.0 %     100         80.0         50       –            –       –
list_guests       10          10  100.0 %     100         20.0         50       –            –       –

list_bookings: with a page size of 150, most calls need one reply

list_rooms: the token budget holds fewer than the 100 items that callers read; raise tokenBudgetThreshold \
and replyTarget to 8,000, or make items smaller: summaryFields, stripFields, profile: lean

list_guests: 10 calls; advice needs 20

endpoints:
  list_bookings:
    pageSize: 150
";
    assert!(table.starts_with(expect), "{table}");
}

#[test]
fn programs_read_the_same() {
    let requests = || (0..30).flat_map(|origin| walk(origin, "list_bookings", 2, 1_000)).collect();
    let json: serde_json::Value =
        serde_json::from_str(&advised(requests(), Format::Json)).expect("it is JSON");
    assert_eq!((&json[0]["verdict"], &json[0]["betterPageSize"]), (&"largerPage".into(), &150.into()));
    assert!(advised(requests(), Format::Csv).contains(",largerPage,150,,60,9600"));
}

#[test]
fn what_was_asked_for_or_is_no_page_tells_nothing() {
    let with = |change: fn(RequestServed) -> RequestServed| {
        let requests = (0..30).flat_map(|origin| walk(origin, "list_bookings", 2, 1_000));
        advised(requests.map(change).collect(), Format::Table)
    };
    let nothing = "no advice";
    assert!(with(|served| RequestServed { arguments: vec!["limit".to_owned()], ..served }).contains(nothing));
    assert!(with(|served| RequestServed { outcome: Outcome::Queried, ..served }).contains(nothing));
    assert!(with(|served| RequestServed { origin: None, ..served }).contains(nothing));
    let first = |served: RequestServed| RequestServed { follow_up: true, ..served };
    assert!(with(first).contains(nothing), "calls that came before are not seen as a whole");
}
