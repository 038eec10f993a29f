//! Projection: the selected fields, as the upstream wrote them.

use portion_json::projection::{FieldSelection, OmittedFields};

/// Projects a record and checks the result and the omitted fields.
fn check(record: &str, fields: &str, expect: &str, left_out: &[&str]) {
    let (mut out, mut left) = (String::new(), OmittedFields::new());
    FieldSelection::parse(fields).project(record, &mut out, &mut left);
    assert_eq!(out, expect, "{fields} of {record}");
    assert_eq!(left.iter().map(String::as_str).collect::<Vec<_>>(), left_out, "{fields} of {record}");
}

#[test]
fn fields_keep_their_bytes_and_their_order() {
    check(r#"{"b": 1.00, "a": 12345678901234567890}"#, "a,b", r#"{"b":1.00,"a":12345678901234567890}"#, &[]);
    check(r#"{"a":1e400,"b":"\ud800"}"#, "b", r#"{"b":"\ud800"}"#, &["a"]);
    check(r#"{"a":1,"b":2,"a":3}"#, "a", r#"{"a":1,"a":3}"#, &["b"]);
    check(r#"{"\u0061":1}"#, "a", r#"{"\u0061":1}"#, &[]);
}

#[test]
fn paths_select_nested_fields() {
    let record = r#"{"id":1,"price":{"total":5,"tax":{"rate":2}},"x":{}}"#;
    check(record, "price.total", r#"{"price":{"total":5}}"#, &["id", "price.tax", "x"]);
    check(record, "/price/tax/rate", r#"{"price":{"tax":{"rate":2}}}"#, &["id", "price.total", "x"]);
    check(record, "price, price.total", r#"{"price":{"total":5,"tax":{"rate":2}}}"#, &["id", "x"]);
    check(record, "price.none", "{}", &["id", "price.tax", "price.total", "x"]);
    check(record, "id.deeper", "{}", &["id", "price", "x"]);
    check(r#"{"a.b":1,"a":{"b":2}}"#, "a.b", r#"{"a.b":1,"a":{"b":2}}"#, &[]);
    check(r#"{"a-b":1,"a":{"b":2},"a.c":3}"#, "a.b", r#"{"a":{"b":2}}"#, &["a-b", "a.c"]);
}

#[test]
fn arrays_are_projected_item_by_item() {
    check(r#"{"l":[{"p":1,"q":2},{"p":3}]}"#, "l.p", r#"{"l":[{"p":1},{"p":3}]}"#, &["l.q"]);
    check(r#"{"l":[{"p":1},7,null,{"q":2}]}"#, "l.p", r#"{"l":[{"p":1},7,null,{"q":2}]}"#, &["l.q"]);
    check(r#"{"l":[{"q":1}]}"#, "l.p", "{}", &["l.q"]);
}

#[test]
fn other_values_are_unchanged() {
    check("7", "a", "7", &[]);
    check("[1, 2]", "a", "[1,2]", &[]);
    check("{}", "a", "{}", &[]);
}

#[test]
fn deep_records_are_projected() {
    let deep = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let path = vec!["a"; 200].join(".");
    let (mut out, mut left) = (String::new(), OmittedFields::new());
    FieldSelection::parse(&path).project(&deep, &mut out, &mut left);
    assert!(out.len() < deep.len());
    check(&deep, "b", "{}", &["a"]);
}
