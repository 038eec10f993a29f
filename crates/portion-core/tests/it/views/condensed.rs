//! Tests of the fields that a condensed first page keeps.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use serde_json::{Value, json};

/// Returns the content of the first reply, under the default policy.
fn first_content(text: String) -> Value {
    let blocks = vec![Block::new("/content/0/text", Content::Text(text))];
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let policy = Policy::default();
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
    let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
        panic!("it passes untouched")
    };
    serde_json::from_str(portion.pieces()[0].body.as_str()).expect("JSON")
}

/// Checks the names of the fields in the first record of the first page, under the default policy.
#[track_caller]
fn check(record: impl Fn(usize) -> Value, expect: &[&str]) {
    let records: Vec<Value> = (0..300).map(record).collect();
    let page = first_content(Value::from(records).to_string());
    let count = page.as_array().expect("a list").len();
    assert!(count >= 10, "{count} records");
    let names: Vec<&str> = page[0].as_object().expect("a record").keys().map(String::as_str).collect();
    assert_eq!(names, expect);
}

fn date(number: usize) -> String {
    format!("2026-{:02}-{:02}", number % 12 + 1, number % 27 + 1)
}

#[test]
fn payments_keep_their_date_and_amount() {
    let payment = |n: usize| {
        json!({
            "id": n, "date": date(n), "description": format!("payment {n} for a stay {}", "d".repeat(80)),
            "amount": n as f64 * 3.25, "currency": "EUR",
            "account": {"name": "A".repeat(30), "iban": "FR".repeat(12)}, "category": (["rent", "fee"][n % 2]),
            "memo": "m".repeat(120), "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        })
    };
    // Values that are the same in all records say nothing of one.
    check(payment, &["id", "date", "description", "amount", "category"]);
}

#[test]
fn bookings_keep_their_dates_and_price() {
    let booking = |n: usize| {
        json!({
            "id": 1000 + n, "reference": format!("R{n}"), "status": (["new", "modified", "cancelled"][n % 3]),
            "guestName": format!("Guest{n} Lovelace"), "guestFirstName": format!("Guest{n}"),
            "arrivalDate": date(n), "departureDate": date(n + 4), "totalPrice": n as f64 * 1.5, "currency": "EUR",
            "listingName": format!("House {}", n % 7), "nights": n % 9, "channelName": "airbnb",
            "notes": "long notes ".repeat(20), "createdOn": "2026-01-01T00:00:00Z", "phone": format!("+{n}"),
        })
    };
    let about = ["id", "reference", "status", "guestName", "arrivalDate", "departureDate", "totalPrice"];
    check(booking, &[&about[..], &["listingName", "nights", "phone"]].concat());
}

#[test]
fn any_field_may_be_named_of_an_empty_list() {
    for text in ["[]", r#"{"status":"ok","result":[],"count":0}"#, r#"{"items": [ ], "total": 0}"#] {
        let blocks = vec![Block::new("/content/0/text", Content::Text(text.to_owned()))];
        let snapshot = capture(Payload { blocks, ..Payload::default() });
        let request = Request { fields: Some("id,status.code".into()), ..Request::default() };
        assert!(resolve(&snapshot, None, &request, &Policy::default()).is_ok(), "{text}");
    }
    let blocks = vec![Block::new("/content/0/text", Content::Text(r#"{"name":"x","tags":[]}"#.to_owned()))];
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let request = Request { fields: Some("nme".into()), ..Request::default() };
    assert!(resolve(&snapshot, None, &request, &Policy::default()).is_err());
}

#[test]
fn a_sample_has_a_whole_record_even_if_that_exceeds_its_share() {
    let row = |n: usize| Value::from((0..40).map(|column| json!(n * 100 + column)).collect::<Vec<_>>());
    let rows: Vec<Value> = (0..120).map(row).collect();
    let columns: Vec<Value> = (0..40).map(|column| json!(format!("column{column}"))).collect();
    let text = json!({"columns": columns, "rows": rows}).to_string();
    let blocks = vec![Block::new("/content/0/text", Content::Text(text))];
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let policy = Policy::default().lean();
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
    let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
        panic!("it does not fit")
    };
    let page: Value = serde_json::from_str(portion.pieces()[0].body.as_str()).expect("JSON");
    assert!(page["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{page}");
}

#[test]
fn an_object_of_lists_shows_the_first_items_of_each() {
    let series = |from: f64| (0..400).map(|n| json!([n, from + f64::from(n)])).collect::<Vec<_>>();
    let shown =
        first_content(json!({"prices": series(0.5), "volumes": series(7.5), "days": 400}).to_string());
    for (name, from) in [("prices", 0.5), ("volumes", 7.5)] {
        let list = shown[name].as_array().expect("a list");
        let (mark, items) = list.split_last().expect("items");
        assert!(items.len() >= 3 && items[..3] == series(from)[..3], "{shown}");
        assert_eq!(*mark, format!("… [+{} items, path=/{name}]", 400 - items.len()));
    }
    let rows: Vec<Value> = (0..300).map(|n| json!({"region": "N", "amount": n})).collect();
    let report = json!({"results": [{"tables": [{"rows": rows}]}]});
    assert_eq!(first_content(report.to_string())["results"][0]["tables"][0]["rows"][0]["amount"], 0);
}
