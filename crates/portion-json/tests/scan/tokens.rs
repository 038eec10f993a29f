//! Token-by-token operations on JSON: minifying and comparing.

use portion_json::scan::{is_equivalent_json, minify};
use proptest::prelude::*;
use serde_json::Value;

use crate::json::json;
use crate::scan;

fn minified(text: &str) -> String {
    let mut out = String::new();
    minify(text, &mut out);
    out
}

/// Returns the text without white space between its tokens, by the simplest method.
fn without_space(text: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keep = |c: &char| {
        match (inside, *c) {
            (false, ' ' | '\n' | '\r' | '\t') => return false,
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => inside = !inside,
            _ => {}
        }
        true
    };
    text.chars().filter(keep).collect()
}

#[test]
fn space_inside_strings_is_kept() {
    assert_eq!(minified(" { \"a b\" : [ 1 , \" \\\" \" ] } \n"), r#"{"a b":[1," \" "]}"#);
    assert_eq!(minified("\"  \\\\\" "), "\"  \\\\\"");
    assert_eq!(minified(""), "");
    assert_eq!(minified(" \n"), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn minifying_removes_only_space_between_tokens(text in json()) {
        let out = minified(&text);
        prop_assert_eq!(&out, &without_space(&text));
        prop_assert!(scan(&out).is_ok() && is_equivalent_json(&out, &text));
        prop_assert_eq!(minified(&out), out);
    }

    #[test]
    fn the_same_json_has_the_same_value(text in json(), other in json()) {
        if is_equivalent_json(&text, &other) {
            prop_assert_eq!(value(&text), value(&other));
        }
    }

    #[test]
    fn spelling_does_not_matter(text in json()) {
        prop_assert!(is_equivalent_json(&text, &text));
        let Ok(read) = serde_json::from_str::<Value>(&text) else {
            return Err(TestCaseError::reject("a lone surrogate"));
        };
        let pretty = serde_json::to_string_pretty(&read).unwrap_or_default();
        prop_assert!(is_equivalent_json(&read.to_string(), &pretty));
        let ascii: String = text.chars().map(|c| if c.is_ascii() { c.into() } else { escaped(c) }).collect();
        prop_assert!(is_equivalent_json(&text, &ascii));
    }

    #[test]
    fn different_values_are_not_equivalent(text in json(), other in json()) {
        let (ours, theirs) = (value(&text), value(&other));
        if ours != theirs {
            prop_assert!(!is_equivalent_json(&text, &other));
            let within = |text: &str| format!("[0,{{\"a\":{text}}}]");
            prop_assert!(!is_equivalent_json(&within(&text), &within(&other)));
        }
    }
}

/// Returns the value of a text by `serde_json`, with `1` and `1.0` as the same number.
fn value(text: &str) -> Option<Value> {
    fn plain(value: Value) -> Value {
        match value {
            Value::Number(number) => number.as_f64().into(),
            Value::Array(items) => items.into_iter().map(plain).collect(),
            Value::Object(members) => members.into_iter().map(|(key, value)| (key, plain(value))).collect(),
            other => other,
        }
    }
    serde_json::from_str(text).ok().map(plain)
}

fn escaped(c: char) -> String {
    let units: Vec<String> =
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    units.concat()
}
