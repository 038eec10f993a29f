//! Facts about random records agree with reading all of them.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ALL, facts};

/// Generates values of fields; `None` if a field is absent.
fn value() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(Value::Null)),
        2 => any::<bool>().prop_map(|b| Some(json!(b))),
        4 => (-300..300_i64).prop_map(|n| Some(json!(n))),
        3 => (-99_999..99_999_i64).prop_map(|n| Some(json!(n as f64 / 100.0))),
        4 => "[a-c\"é]{0,2}".prop_map(|s| Some(json!(s))),
        1 => (1..28_u32).prop_map(|d| Some(json!(format!("2024-03-{d:02}")))),
        1 => vec(0..3_i64, 0..3).prop_map(|v| Some(json!(v))),
    ]
}

/// Generates the values of one field over all records: mixed, or of one type.
fn column(records: usize) -> impl Strategy<Value = Vec<Option<Value>>> {
    let of_one_kind = prop_oneof![
        vec(prop_oneof![4 => (0..40_i64).prop_map(|n| Some(json!(n))), 1 => Just(None)], records),
        vec((-99_999..99_999_i64).prop_map(|n| Some(json!(n as f64 / 1000.0))), records),
        vec("[a-d]".prop_map(|s| Some(json!(s))), records),
        vec("[a-z]{9}".prop_map(|s| Some(json!(s))), records),
        vec(prop_oneof![any::<bool>().prop_map(|b| Some(json!(b))), Just(Some(Value::Null))], records),
    ];
    prop_oneof![1 => vec(value(), records), 3 => of_one_kind]
}

/// Generates columns of records, the third inside an object.
fn table() -> impl Strategy<Value = Vec<Vec<Option<Value>>>> {
    (20..90_usize).prop_flat_map(|records| vec(column(records), 3))
}

fn record(i: usize, columns: &[Vec<Option<Value>>]) -> Value {
    let mut record = Map::new();
    record.insert("id".into(), json!(i));
    let mut inner = Map::new();
    for (at, name) in ["total", "kind", "b"].into_iter().enumerate() {
        if let Some(value) = columns[at][i].clone() {
            if at == 2 { &mut inner } else { &mut record }.insert(name.into(), value);
        }
    }
    inner.insert("always".into(), json!(7));
    record.insert("a".into(), inner.into());
    Value::Object(record)
}

/// Returns a value as displayed, with numbers in one spelling.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "''".into(),
        Value::String(text) => text.clone(),
        other => spelled(&other.to_string()),
    }
}

fn spelled(value: &str) -> String {
    value.parse::<f64>().map_or_else(|_| value.to_owned(), |number| number.to_string())
}

/// Checks every claim that can be recognised in these words against the values.
fn hold(words: &str, column: &[Option<Value>]) -> Result<(), TestCaseError> {
    let here: Vec<&Value> = column.iter().flatten().filter(|value| !value.is_null()).collect();
    let absent = column.iter().filter(|value| value.is_none()).count();
    let nulls = column.len() - absent - here.len();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    here.iter().for_each(|value| *counts.entry(plain(value)).or_default() += 1);
    let numbers: Vec<f64> = here.iter().filter_map(|value| value.as_f64()).collect();
    let written = |number: f64| here.iter().any(|v| v.as_f64() == Some(number));
    let mut listed = 0;
    for claim in words.split(", ").flat_map(|claim| claim.split("; ")) {
        if let Some((value, count)) = claim.rsplit_once('=').filter(|_| !claim.contains("max at")) {
            let value = spelled(value.rsplit_once(": ").map_or(value, |(_, value)| value));
            prop_assert_eq!(counts.get(&value).map(ToString::to_string), Some(count.to_owned()), "{}", words);
            listed += 1;
        } else if let Some(sum) = claim.strip_prefix("sum ") {
            let sum: f64 = sum.parse().expect("a number");
            prop_assert!((sum - numbers.iter().sum::<f64>()).abs() < 1e-6, "{}", words);
        } else if let Some(range) = claim.strip_prefix("number ") {
            let (range, _) = range.split_once(" (").unwrap_or((range, ""));
            let (min, max) = range.split_once('…').expect("a range");
            let (min, max): (f64, f64) = (min.parse().expect("a number"), max.parse().expect("a number"));
            prop_assert!(written(min) && written(max), "{}", words);
            prop_assert!(numbers.iter().all(|n| (min..=max).contains(n)), "{}", words);
            prop_assert_eq!(numbers.len(), here.len());
            let holders: Vec<usize> = (0..column.len())
                .filter(|i| column[*i].as_ref().and_then(Value::as_f64) == Some(max))
                .collect();
            match holders.as_slice() {
                [one] => prop_assert!(claim.ends_with(&format!("(max at {one})")), "{}", words),
                _ => prop_assert!(!claim.contains("max"), "{}", words),
            }
        } else if claim == "all distinct" {
            prop_assert!(counts.iter().all(|(value, n)| *n == 1 || value.starts_with('[')), "{}", words);
        } else if let Some(distinct) = claim.strip_suffix(" distinct") {
            let scalars = counts.keys().filter(|value| !value.starts_with('[')).count();
            if let Some(more) = distinct.strip_prefix("over ") {
                prop_assert!(more.parse::<usize>().is_ok_and(|more| scalars > more), "{}", words);
            } else {
                prop_assert_eq!(distinct.parse::<usize>().ok(), Some(scalars), "{}", words);
            }
        } else if let Some(count) = claim.strip_suffix(" null") {
            prop_assert_eq!(count.parse::<usize>().ok(), Some(nulls), "{}", words);
        } else if let Some(count) = claim.strip_suffix(" absent") {
            prop_assert_eq!(count.parse::<usize>().ok(), Some(absent), "{}", words);
        } else if let Some(more) = claim.strip_prefix('+') {
            let more = more.trim_end_matches(" (1 each)").trim_end_matches(" more");
            prop_assert_eq!(more.parse::<usize>().ok(), Some(counts.len() - listed), "{}", words);
        }
    }
    if absent > 0 && !words.contains("absent") || nulls > 0 && !words.contains("null") {
        return Err(TestCaseError::fail(format!("gaps are not told: {words}")));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn facts_agree_with_reading_all_records(columns in table(), lines in any::<bool>()) {
        let records: Vec<String> = (0..columns[0].len()).map(|i| record(i, &columns).to_string()).collect();
        let text = if lines { records.join("\n") } else { format!("[{}]", records.join(", ")) };
        let described = facts(&text, ALL);
        prop_assert_eq!(described["id"].as_str(), Some("identifier, all distinct"));
        prop_assert_eq!(described["a.always"].as_str(), Some("always 7"));
        for (at, name) in ["total", "kind", "a.b"].into_iter().enumerate() {
            if let Some(words) = described.get(name).and_then(Value::as_str) {
                hold(words, &columns[at])?;
            }
        }
    }

    #[test]
    fn any_list_can_be_described(text in "[\\[{]([\\[\\]{},:0-9ae.+\" -]|\"[a-c]\"){0,60}[\\]}]") {
        if serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_array()) {
            facts(&text, ALL);
        }
    }
}
