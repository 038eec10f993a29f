//! Tests of the records of requests: failed ones name their endpoint if it is known, and capped ones their
//! outcome.

use std::sync::Arc;
use std::time::Duration;

use portion_core::event::{EndpointKind, Outcome, RequestServed, ServedError};
use portion_core::view::Request;
use portion_gateway::call::{Fault, SnapshotQuery};
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::endpoint::Endpoint;

use crate::samples::trial::{Broken, Quarters, Trial, ada, next_cursor, notice, portion};
use crate::samples::{bookings, create_order, follow_up, list_bookings, text};

const TTL: Duration = Duration::from_mins(10);

fn at(cursor: &str) -> Request {
    Request { cursor: Some(cursor.into()), ..Request::default() }
}

fn find(pattern: &str) -> SnapshotQuery {
    SnapshotQuery::Find { pattern: pattern.into(), context: None, fields: None, keys: false }
}

/// Stores a list, and returns its cursor and origin.
async fn stored_list(trial: &Trial) -> (String, u64) {
    let first = portion(trial.fresh(create_order(), bookings(2_000), Request::default()).await);
    let cursor = notice(&first)["meta"]["cursor"].as_str().expect("a cursor").to_owned();
    (cursor, trial.records()[0].origin.expect("it is kept"))
}

/// Checks the record of a failed follow-up: endpoint, origin and error.
fn check(served: &RequestServed, endpoint: &str, origin: Option<u64>, error: &str) {
    let record = (
        &*served.endpoint,
        served.kind,
        served.origin,
        served.error.map(ServedError::name),
        served.follow_up,
    );
    assert_eq!(record, (endpoint, EndpointKind::Tool, origin, Some(error), true));
}

#[tokio::test]
async fn a_late_cursor_is_recorded_with_its_source() {
    let trial = Trial::new();
    let (cursor, origin) = stored_list(&trial).await;
    let answer = portion(trial.ask(&cursor, find("Guest 1")).await);
    let question = notice(&answer)["meta"]["cursor"].as_str().expect("it is kept").to_owned();
    trial.records();
    trial.pass(TTL);
    for (cursor, is_question) in [(&cursor, false), (&cursor, true), (&question, false)] {
        if is_question {
            trial.ask(cursor, find("Guest 2")).await;
        } else {
            trial.follow(cursor).await;
        }
        let [record] = &trial.records()[..] else { panic!("one a request") };
        check(record, "create_order", Some(origin), "cursor_expired");
        assert_eq!(record.outcome, Outcome::Expired);
    }
    // By the tool itself, which may differ from the snapshot's endpoint.
    follow_up(&trial.gateway, trial.caller(ada()), Some(list_bookings()), at(&cursor)).await;
    check(&trial.records()[0], "create_order", Some(origin), "cursor_expired");
}

#[tokio::test]
async fn the_cursor_names_the_origin_of_a_forgotten_snapshot() {
    let trial = Trial::new();
    let (cursor, origin) = stored_list(&trial).await;
    // Another process with the same key, or the same process much later.
    let another = Trial::of(&Quarters, Arc::new(MemoryStore::new(StoreLimits::default())));
    another.follow(&cursor).await;
    check(&another.records()[0], "", Some(origin), "cursor_expired");
    another.follow("A".repeat(48)).await;
    check(&another.records()[0], "", None, "cursor_invalid");
}

#[tokio::test]
async fn an_invalid_follow_up_is_recorded_with_its_origin() {
    let trial = Trial::new();
    let (cursor, origin) = stored_list(&trial).await;
    let field = Request { fields: Some("nowhere".into()), ..at(&cursor) };
    trial.follow_as(ada(), field).await;
    check(&trial.records()[0], "create_order", Some(origin), "field_unknown");
    let sql =
        SnapshotQuery::Sql { sql: "SELECT nowhere FROM items".into(), params: Vec::new(), with: Vec::new() };
    trial.ask(&cursor, sql).await;
    check(&trial.records()[0], "create_order", Some(origin), "query_invalid");
    let wrong = || Fault::from(portion_core::view::ViewError::UnknownArgument("filter".into()));
    let refuse = async |endpoint: Option<Endpoint>, cursor: Option<&str>| {
        let (caller, cursor) = (trial.caller(ada()), cursor.map(str::to_owned));
        trial.gateway.open_cursor(caller, endpoint, cursor).await.refuse(wrong());
        trial.records().remove(0)
    };
    check(&refuse(None, Some(&cursor)).await, "create_order", Some(origin), "argument_unknown");
    check(&refuse(None, None).await, "", None, "argument_unknown");
    check(&refuse(Some(list_bookings()), Some("mangled")).await, "list_bookings", None, "argument_unknown");
    trial.pass(TTL);
    check(&refuse(None, Some(&cursor)).await, "create_order", Some(origin), "argument_unknown");
}

#[tokio::test]
async fn capped_replies_are_still_recorded_as_page_chunk_or_answer() {
    let trial = Trial::of(&Broken, Arc::new(MemoryStore::default()));
    let check_capped = |outcome: &str| {
        let [record] = &trial.records()[..] else { panic!("one a request") };
        let capped = record.capped_outcome.map(Outcome::name);
        assert_eq!((record.outcome, capped), (Outcome::Capped, Some(outcome)), "{record:?}");
    };
    let list = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    check_capped("paginated");
    trial.follow(next_cursor(&list).expect("more")).await;
    check_capped("paginated");
    trial.ask(next_cursor(&list).expect("more"), find("Guest")).await;
    check_capped("queried");
    trial.fresh(create_order(), text("a line of prose\n".repeat(5_000)), Request::default()).await;
    check_capped("chunked");
}

#[tokio::test]
async fn a_long_name_is_recorded_in_part() {
    let trial = Trial::new();
    let endpoint = Endpoint { name: "x".repeat(1 << 16), ..list_bookings() };
    let first = portion(trial.fresh(endpoint.clone(), bookings(2_000), Request::default()).await);
    trial.follow(next_cursor(&first).expect("more")).await;
    trial.gateway.report_upstream_failure(&trial.caller(ada()), &endpoint, 0);
    trial.pass(TTL);
    trial.follow(next_cursor(&first).expect("more")).await;
    let records = trial.records();
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|served| served.endpoint.len() == 256 && served.endpoint.ends_with('…')));
}

#[tokio::test]
async fn a_payload_is_counted_on_arrival_and_not_again() {
    let trial = Trial::new();
    let list = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&list).expect("more");
    trial.follow(&cursor).await;
    trial.ask(&cursor, find("Guest")).await;
    trial.follow_as(ada(), Request { fields: Some("nowhere".into()), ..at(&cursor) }).await;
    let weighed: Vec<bool> = trial.records().iter().map(|served| served.original_tokens.is_some()).collect();
    assert_eq!(weighed, [true, false, false, false]);
}
