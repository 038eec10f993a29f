//! The reader against `serde_json`: the same texts are JSON, and their values stand in the same places.

use proptest::prelude::*;
use serde_json::value::RawValue;

use portion_core::scan::{Kind, Reader, ScanError, decoded};
use portion_core::span::Span;

use crate::json::{json, near_json};
use crate::scan;

fn raw(text: &str) -> serde_json::Result<&RawValue> {
    serde_json::from_str(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn the_same_texts_are_json(text in near_json()) {
        // Passing a value, neither looks at which surrogates go together.
        prop_assert_eq!(scan(&text).is_ok(), raw(&text).is_ok(), "{}", text);
    }

    #[test]
    fn values_stand_in_the_same_places(text in json(), lead in "[ \n\t\r]{0,10}", trail in "[ \n]{0,10}") {
        let text = format!("{lead}{text}{trail}");
        let span = scan(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(span.of(&text), raw(&text).map_or("", RawValue::get));
        let ours = children(&text).unwrap_or_default();
        let theirs = theirs(&text);
        prop_assert_eq!(ours.len(), theirs.len());
        for ((key, value), (their_key, their_value)) in ours.into_iter().zip(theirs) {
            prop_assert_eq!(key.map(|key| decoded(key.of(&text))), their_key);
            prop_assert_eq!(value.of(&text), their_value);
        }
    }

    /// Reading on from an item or a key is reading from the start.
    #[test]
    fn a_reader_resumes_at_every_item(text in json()) {
        let all = children(&text).unwrap_or_default();
        let object = Kind::of(&text) == Kind::Object;
        for (i, (key, value)) in all.iter().enumerate() {
            let mut reader = Reader::resume(&text, key.unwrap_or(*value).start as usize);
            prop_assert_eq!(rest(&mut reader, object), Ok(all[i..].to_vec()));
        }
    }
}

type Child = (Option<Span>, Span);

/// Keys and values of a container.
fn children(text: &str) -> Result<Vec<Child>, ScanError> {
    let mut reader = Reader::new(text);
    let object = match reader.peek()? {
        Kind::Object => reader.enter_object().map(|()| true)?,
        Kind::Array => reader.enter_array().map(|()| false)?,
        _ => return Ok(Vec::new()),
    };
    let children = rest(&mut reader, object)?;
    reader.end()?;
    Ok(children)
}

fn rest(reader: &mut Reader<'_>, object: bool) -> Result<Vec<Child>, ScanError> {
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

/// The same by `serde_json`.
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
