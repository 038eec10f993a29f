//! Tests properties that hold for every list.

use portion_core::path::resolve_path;
use portion_core::snapshot::{IndexedText, Slice};
use portion_json::scan::{JsonKind, JsonReader};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::answer;

/// Any value, with keys that are unique regardless of case.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| json!(n)),
        (-1000..1000_i32, 1..99_i32).prop_map(|(a, b)| json!(f64::from(a) + f64::from(b) / 128.0)),
        "[a-zé\"\\\\\n 0-9🙂]{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array), object(inner),]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-dé \"]{1,2}", inner), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

/// A list, with or without white space.
fn list() -> impl Strategy<Value = String> {
    let items = prop::collection::vec(prop_oneof![4 => object(value()), 1 => value()], 0..12);
    (items, any::<bool>()).prop_map(|(items, spaced)| {
        let written =
            if spaced { serde_json::to_string_pretty(&items) } else { serde_json::to_string(&items) };
        written.expect("values are JSON")
    })
}

/// Returns the items of a list as written.
fn items(list: &str) -> Vec<&str> {
    let mut reader = JsonReader::new(list);
    let mut items = Vec::new();
    reader.enter_array().expect("a list");
    while reader.next_item() == Ok(true) {
        let span = reader.skip().expect("an item");
        items.push(reader.text(span));
    }
    items
}

fn rows(list: &str, sql: &str) -> Vec<Map<String, Value>> {
    let answer = answer(list, sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    serde_json::from_str(&answer.json).expect("an array of objects")
}

/// Returns a value as SQL returns it.
fn in_sql(value: &str) -> Value {
    match JsonKind::of_value(value) {
        JsonKind::Bool => json!(i32::from(value == "true")),
        _ => serde_json::from_str(value).expect("a value"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn records_keep_their_bytes(list in list()) {
        let items = items(&list);
        let answered = answer(&list, "SELECT item FROM items", &[]).expect("an answer");
        prop_assert_eq!(answered.json, format!("[{}]", items.join(",")));
        prop_assert_eq!(answered.row_count, items.len());
        let count = answer(&list, "SELECT count(*) AS n FROM items", &[]).expect("an answer");
        prop_assert_eq!(count.json, format!("[{{\"n\":{}}}]", items.len()));
    }

    #[test]
    fn columns_hold_the_values_at_their_paths(list in list()) {
        let records = items(&list);
        let named = rows(&list, "SELECT name FROM fields WHERE table_name = 'items'");
        for name in named.iter().filter_map(|row| row["name"].as_str()) {
            if matches!(name, "item" | "_index" | "value") {
                continue;
            }
            let quoted = name.replace('"', "\"\"");
            let column = rows(&list, &format!("SELECT \"{quoted}\" AS x FROM items ORDER BY _index"));
            let pointer = format!("/{}", name.replace('.', "/"));
            for (record, row) in records.iter().zip(&column) {
                let subject = IndexedText::from_payload(Slice::new((*record).to_owned()));
                let there = resolve_path(&subject, &pointer).ok().filter(|_| record.starts_with('{'));
                // An array has no fields: values inside it are not columns.
                let there = there.filter(|there| {
                    let steps: Vec<&str> = there.pointer.split('/').skip(1).collect();
                    steps.iter().all(|step| step.parse::<usize>().is_err())
                });
                let expect = there.map_or(Value::Null, |there| in_sql(there.span.slice(&subject.text)));
                // Booleans of a column without other numbers are shown as such.
                let found = row["x"].as_bool().map_or_else(|| row["x"].clone(), |it| json!(i32::from(it)));
                prop_assert_eq!(&found, &expect, "{} of {}", name, record);
            }
        }
    }

    #[test]
    fn a_join_equals_a_full_comparison(
        left in prop::collection::vec(key(), 1..20),
        right in prop::collection::vec(key(), 1..20),
    ) {
        let of = |keys: &[Value]| keys.iter().map(|key| json!({ "k": key })).collect::<Vec<_>>();
        let list = json!({ "left": of(&left), "right": of(&right) }).to_string();
        let found = |on: &str| {
            let join = format!("SELECT a._index AS i, b._index AS j FROM \"left\" a JOIN \"right\" b ON {on}");
            rows(&list, &format!("{join} ORDER BY 1, 2"))
        };
        // `IS` compares every pair, and considers NULL equal to NULL.
        prop_assert_eq!(found("a.k = b.k"), found("a.k IS b.k AND a.k IS NOT NULL"));
    }
}

/// A key that may equal another one in a different spelling.
fn key() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..6_i64).prop_map(|n| json!(n)),
        (0..6_i64).prop_map(|n| json!(n as f64)),
        (0..6_i64).prop_map(|n| json!(n.to_string())),
        (0..6_i64).prop_map(|n| json!(format!(" {n}.0"))),
        "[ab]{0,2}".prop_map(Value::String),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        Just(json!(9_007_199_254_740_993_i64)),
        Just(json!(9_007_199_254_740_992_i64)),
        Just(json!([1])),
    ]
}
