//! Compares the reader with `serde_json`: it accepts the same texts, and finds values at the same offsets.

use portion_json::scan::{ExpectedKey, JsonKind, JsonReader, ScanError, unescape};
use portion_json::span::Span;
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::json::{json, near_json};
use crate::scan;

fn raw(text: &str) -> serde_json::Result<&RawValue> {
    serde_json::from_str(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_same_texts_are_accepted(text in near_json()) {
        // When skipping a value, neither checks surrogate pairs.
        prop_assert_eq!(scan(&text).is_ok(), raw(&text).is_ok(), "{}", text);
    }

    #[test]
    fn values_have_the_same_offsets(text in json(), lead in "[ \n\t\r]{0,10}", trail in "[ \n]{0,10}") {
        let text = format!("{lead}{text}{trail}");
        let span = scan(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(span.slice(&text), raw(&text).map_or("", RawValue::get));
        let ours = children(&text).unwrap_or_default();
        let theirs = theirs(&text);
        prop_assert_eq!(ours.len(), theirs.len());
        for ((key, value), (their_key, their_value)) in ours.into_iter().zip(theirs) {
            prop_assert_eq!(key.map(|key| unescape(key.slice(&text))), their_key);
            prop_assert_eq!(value.slice(&text), their_value);
        }
    }

    /// Resuming at an item or a key gives the same result as reading from the start.
    #[test]
    fn a_reader_resumes_at_every_item(text in json()) {
        let all = children(&text).unwrap_or_default();
        let object = JsonKind::of_value(&text) == JsonKind::Object;
        for (i, (key, value)) in all.iter().enumerate() {
            let mut reader = JsonReader::resume(&text, key.unwrap_or(*value).start as usize);
            prop_assert_eq!(rest(&mut reader, object), Ok(all[i..].to_vec()));
        }
    }
}

/// Integers that are read by the fast path have their written value.
#[test]
fn short_integers_are_read_as_written() {
    let check = |text: &str, expect: Option<i64>| {
        let mut reader = JsonReader::new(text);
        assert_eq!(reader.try_read_integer(), expect, "{text}");
        let passed = expect.map_or(0, |number| number.to_string().len());
        assert_eq!(reader.at(), passed, "{text}");
    };
    for number in [0, 1, 7, 9, 10, 42, 99, 100, 999, 1_000, 12_345, 100_000, 987_654, 9_999_999_i64] {
        for after in [",         ", "}         ", "]         ", " ,        ", "\n        "] {
            check(&format!("{number}{after}"), Some(number));
            if number > 0 {
                check(&format!("-{number}{after}"), Some(-number));
            }
        }
        for after in [".5        ", "e3        ", "E3        ", "x         ", "\"         ", ""] {
            check(&format!("{number}{after}"), None);
        }
    }
    for other in [
        "01,        ",
        "-,         ",
        "12345678,  ",
        "--1,       ",
        ",          ",
        "true,      ",
        "é1,        ",
    ] {
        check(other, None);
    }
}

/// An expected key is skipped, with any white space around it, and no other key is.
#[test]
fn expected_keys_are_skipped() {
    let check = |text: &str, key: &str, expect: bool| {
        let mut reader = JsonReader::new(text);
        reader.enter_object().expect("an object");
        let before = reader.at();
        assert_eq!(reader.try_skip_key(&ExpectedKey::new(key)), expect, "{text} {key}");
        let mut plain = JsonReader::new(text);
        plain.enter_object().expect("an object");
        if expect {
            plain.next_key().expect("a key");
            assert_eq!(reader.at(), plain.at(), "{text} {key}");
            reader.skip().expect("a value");
            assert!(!reader.try_skip_key(&ExpectedKey::new(key)), "{text} {key}");
        } else {
            assert_eq!(reader.at(), before, "{text} {key}");
        }
    };
    for key in [
        "\"\"",
        "\"a\"",
        "\"a name\"",
        "\"thirteen.long\"",
        "\"fourteen..long\"",
        "\"a name of more than sixteen bytes\"",
    ] {
        for text in [
            format!("{{{key}:1}}"),
            format!("{{ \n{key}:1, \"other\":2}}"),
            format!("{{{key}:1,\"other\":\"more of it\"}}"),
        ] {
            check(&text, key, true);
            check(&text, "\"b\"", false);
            check(&text, &format!("{}b\"", &key[..key.len() - 1]), false);
        }
        check(&format!("{{{key} :1}}"), key, false);
        check(&format!("{{,{key}:1}}"), key, false);
    }
}

type Child = (Option<Span>, Span);

/// Returns the keys and values of a container.
fn children(text: &str) -> Result<Vec<Child>, ScanError> {
    let mut reader = JsonReader::new(text);
    let object = match reader.peek()? {
        JsonKind::Object => reader.enter_object().map(|()| true)?,
        JsonKind::Array => reader.enter_array().map(|()| false)?,
        _ => return Ok(Vec::new()),
    };
    let children = rest(&mut reader, object)?;
    reader.expect_end()?;
    Ok(children)
}

fn rest(reader: &mut JsonReader<'_>, object: bool) -> Result<Vec<Child>, ScanError> {
    let mut children = Vec::new();
    if object {
        while let Some(key) = reader.next_key()? {
            children.push((Some(key), reader.skip()?));
        }
    } else {
        while reader.next_item()? {
            children.push((None, reader.skip()?));
        }
    }
    Ok(children)
}

/// Returns the same by `serde_json`.
fn theirs(text: &str) -> Vec<(Option<String>, &str)> {
    struct Members<'a>(Vec<(Option<String>, &'a str)>);
    impl<'de> serde::Deserialize<'de> for Members<'de> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct All;
            impl<'de> serde::de::Visitor<'de> for All {
                type Value = Members<'de>;

                fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Members<'de>, A::Error> {
                    let mut all = Vec::new();
                    while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                        all.push((Some(key), value.get()));
                    }
                    Ok(Members(all))
                }
            }
            deserializer.deserialize_map(All)
        }
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return items.into_iter().map(|item| (None, item.get())).collect();
    }
    serde_json::from_str::<Members>(text).map_or_else(|_| Vec::new(), |members| members.0)
}
