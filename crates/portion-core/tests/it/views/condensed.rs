//! Tests of the fields that a condensed first page keeps.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use serde_json::{Value, json};

/// Checks the names of the fields in the first record of the first page, under the default policy.
#[track_caller]
fn check(record: impl Fn(usize) -> Value, expect: &[&str]) {
    let records: Vec<Value> = (0..300).map(record).collect();
    let text = Value::from(records).to_string();
    let blocks = vec![Block::new("/content/0/text", Content::Text(text))];
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let policy = Policy::default();
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
    let FirstReply::Portion(portion) = super::reply(&snapshot, &resolved, &policy) else {
        panic!("the list passes untouched")
    };
    let page: Vec<Value> = serde_json::from_str(portion.pieces()[0].body.as_str()).expect("a list");
    assert!(page.len() >= 10, "{} records", page.len());
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
