//! Visits the strings of validated JSON: names of members, and values.

use std::borrow::Cow;

use memchr::memmem;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape, unescape_into};
use portion_json::span::Span;

use super::walk::Splice;

/// Longest key, as written, whose name is compared: all names of interest are shorter.
const MAX_NAME_BYTES: usize = 256;

/// Place of a string in JSON.
pub(super) enum StringPlace<'a> {
    /// It is the name of a member.
    Name,
    /// It is a value; the name of the enclosing member, empty above [`MAX_NAME_BYTES`].
    Value(&'a str),
}

/// Visits each string of valid JSON: the names of members, and values.
pub(super) fn visit_strings(json: &str, mut visit: impl FnMut(StringPlace<'_>, Span)) {
    let mut reader = JsonReader::new(json);
    // For each open container: true if it is an object, and the key of its current member, as written. Not the key itself:
    // arrays take over that of the member they are in, and a long one would be copied at every level.
    let mut open: Vec<(bool, Span)> = Vec::new();
    let name = |key: Option<&(bool, Span)>| match key {
        Some((_, key)) if key.len() <= MAX_NAME_BYTES => unescape(key.slice(json)),
        _ => String::new(),
    };
    let mut is_value = true;
    loop {
        if is_value {
            let Ok(kind) = reader.peek() else { return };
            let entered = match kind {
                JsonKind::Object => reader.enter_object(),
                JsonKind::Array => reader.enter_array(),
                _ => match reader.skip() {
                    Ok(value) => {
                        if kind == JsonKind::String {
                            visit(StringPlace::Value(&name(open.last())), value);
                        }
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
            };
            if entered.is_err() {
                return;
            }
            if kind.is_container() {
                let key = open.last().map_or(Span::default(), |(_, key)| *key);
                open.push((kind == JsonKind::Object, key));
            }
        }
        is_value = match open.last_mut() {
            None => return,
            Some((true, within)) => match reader.next_key() {
                Ok(Some(key)) => {
                    *within = key;
                    visit(StringPlace::Name, key);
                    true
                }
                Ok(None) => false,
                Err(_) => return,
            },
            Some((false, _)) => match reader.next_item() {
                Ok(more) => more,
                Err(_) => return,
            },
        };
        if !is_value {
            open.pop();
        }
    }
}

/// Replaces lone surrogates, which JSON can hold and text cannot, by U+FFFD.
pub(super) fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let may_have_one =
        [b"\\ud".as_slice(), b"\\uD"].iter().any(|escape| memmem::find(json.as_bytes(), escape).is_some());
    if !may_have_one {
        return json.into();
    }
    let (mut splice, mut text) = (Splice::new(json), String::new());
    visit_strings(json, |_, value| {
        text.clear();
        if unescape_into(value.slice(json), &mut text) > 0 {
            splice.replace(value, quote(&text));
        }
    });
    if splice.is_empty() { json.into() } else { splice.apply().into() }
}

#[cfg(test)]
mod tests {
    use super::{StringPlace, replace_lone_surrogates, visit_strings};

    #[test]
    fn strings_have_the_key_of_the_member_around_them() {
        let check = |json: &str, expect: &[(&str, &str)]| {
            let mut seen = Vec::new();
            visit_strings(json, |place, value| {
                if let StringPlace::Value(key) = place {
                    seen.push((key.to_owned(), value.slice(json).to_owned()));
                }
            });
            let seen: Vec<_> = seen.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(seen, expect, "{json}");
        };
        check(
            r#"["a",{"k":"b","l":["c",["d",{"m":1,"n":["e"]},"f"]],"o":2},"g"]"#,
            &[
                ("", "\"a\""),
                ("k", "\"b\""),
                ("l", "\"c\""),
                ("l", "\"d\""),
                ("n", "\"e\""),
                ("l", "\"f\""),
                ("", "\"g\""),
            ],
        );
        check(r#"{"\u0074ext":"a"}"#, &[("text", "\"a\"")]);
        let long = "k".repeat(300);
        check(&format!(r#"{{"{long}":"a"}}"#), &[("", "\"a\"")]);
    }

    /// A copy of the key at each level would take 2 GB.
    #[test]
    fn a_long_key_around_deep_arrays_takes_no_memory() {
        let (key, levels) = ("k".repeat(100_000), 20_000);
        let json = format!(r#"{{"{key}":{}"a"{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let mut count = 0;
        visit_strings(&json, |place, _| count += usize::from(matches!(place, StringPlace::Value(_))));
        assert_eq!(count, 1);
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let check = |json: &str, expect: &str| assert_eq!(replace_lone_surrogates(json), expect);
        for json in [r#"{"a":"\u00e9 \ud83d\ude00","b":"\\ud800"}"#, "[]"] {
            check(json, json);
        }
        check(
            r#"{"\ud800":["\ud83d\ude00","\uDC00 \u0041"]}"#,
            "{\"\u{fffd}\":[\"\\ud83d\\ude00\",\"\u{fffd} A\"]}",
        );
    }
}
