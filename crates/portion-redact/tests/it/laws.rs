//! Properties of redaction for any payload: JSON stays JSON, no secret remains, everything else is unchanged.

use portion_redact::{REDACTED, RedactionRules};
use proptest::prelude::*;
use serde_json::Value;

const KEYS: &[&str] = &["id", "name", "password", "doorCode", "rows", "columns", "tokens", "a b", "api_key"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "SECRET[0-9]{4}".prop_map(Value::from),
        // Without the signs of templates and marks.
        "Zq7[^{}$<>()%#*\\[\\]]{0,16}".prop_map(Value::from),
        // No name of a key, which is harmless under that of another.
        prop::sample::select(&["id", "name", "password", "rows", "columns", "tokens", "a b"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let key = prop::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| without_headings(items).into()),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Removes first items that would be the headings of the arrays below: `["id", "password"]`.
fn without_headings(mut items: Vec<Value>) -> Vec<Value> {
    let is_heading = |item: &Value| {
        item.as_array().is_some_and(|cells| cells.len() > 1 && cells.iter().all(Value::is_string))
    };
    let headings = items.iter().take_while(|item| is_heading(item)).count();
    items.drain(..headings);
    items
}

/// Returns true if the first value is no container, or an array that begins so.
fn begins_with_scalar(items: &[Value]) -> bool {
    match items.first() {
        Some(Value::Array(items)) => begins_with_scalar(items),
        first => first.is_some_and(|first| !first.is_object()),
    }
}

/// Returns the expected result by a simpler method, without tables.
fn expected(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expected).collect(),
        Value::Object(members) => {
            let left = members.iter().filter_map(|(key, value)| {
                let secret = matches!(key.as_str(), "password" | "doorCode" | "api_key");
                let value = match value {
                    Value::String(text) if secret && !text.is_empty() => "[redacted]".into(),
                    // A number of one or two digits is a count.
                    Value::Number(number) if secret && number.to_string().len() > 2 => return None,
                    Value::Array(items) if secret && begins_with_scalar(items) => return None,
                    value => expected(value),
                };
                Some((key.clone(), value))
            });
            Value::Object(left.collect())
        }
        value => value.clone(),
    }
}

/// A document whose secret strings begin with `SECRET` and whose other strings begin with `plain`.
fn document() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        "plain[0-9]{4}".prop_map(Value::from),
        "plain\"[' é\\\\\\]}]{0,3}".prop_map(Value::from),
        any::<i16>().prop_map(Value::from)
    ];
    let secret = || "SECRET[0-9\"' \\\\\\]}é]{0,6}".prop_map(Value::from);
    let hidden = prop_oneof![
        secret(),
        prop::collection::vec(secret(), 1..4).prop_map(Value::from),
        prop::collection::vec(secret(), 1..3).prop_map(|all| serde_json::json!([all])),
        secret().prop_map(|secret| serde_json::json!({ "password": secret })),
    ];
    plain.prop_recursive(4, 40, 5, move |inner| {
        let open =
            (prop::sample::select(&["id", "name", "a b", "guest"]).prop_map(str::to_owned), inner.clone());
        let closed = (
            prop::sample::select(&["password", "secrets", "credentials", "api key"]).prop_map(str::to_owned),
            hidden.clone(),
        );
        let table = prop::collection::vec(secret(), 0..4).prop_map(|cells| {
            let rows: Vec<_> = cells
                .into_iter()
                .enumerate()
                .map(|(i, cell)| serde_json::json!([i, cell, "plain"]))
                .collect();
            serde_json::json!({ "columns": ["id", "pin", "name"], "rows": rows })
        });
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
            4 => prop::collection::vec(prop_oneof![open, closed], 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            1 => table,
        ]
    })
}

proptest! {
    #[test]
    fn cut_json_shows_no_secrets_and_all_else(value in document(), pretty in any::<bool>(), form in 0..5_u8) {
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let json = json.expect("JSON");
        for at in (0..=json.len()).filter(|at| json.is_char_boundary(*at)) {
            let prefix = &json[..at];
            let text = match form {
                0 => prefix.to_owned(),
                1 => format!("{prefix}\n... [truncated]"),
                2 => format!("Here it is: {prefix}"),
                3 => format!("{{\"a\":1}}\n{prefix}\n{{\"a\":1}}"),
                _ => serde_json::json!({ "data": prefix }).to_string(),
            };
            let left = RedactionRules::default_secrets().redact(&text).map_or(text.clone(), |(left, _)| left);
            prop_assert!(!left.contains("SECRET"), "{}\n{}", text, left);
            prop_assert_eq!(left.matches("plain").count(), text.matches("plain").count(), "{}\n{}", text, left);
        }
    }

    #[test]
    fn the_result_is_json_without_secrets(value in value(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("JSON").replace("\"rows\"", "\"rowz\"");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let left = RedactionRules::default_secrets().redact_json(&text).map_or(text.clone(), |(left, names)| {
            assert!(!names.is_empty() && left != text);
            left
        });
        prop_assert_eq!(serde_json::from_str::<Value>(&left).expect("JSON is left"), expected(&value));
        let again = RedactionRules::default_secrets().redact_json(&left).map_or(left.clone(), |(again, _)| again);
        prop_assert_eq!(again, left);
    }

    #[test]
    fn tables_stay_tables(cells in prop::collection::vec((prop::option::of(100_u16..), "[b-g]{0,4}"), 1..20)) {
        let rows: Vec<Value> = cells.iter().map(|(pin, name)| serde_json::json!([pin, name, name])).collect();
        let table = serde_json::json!({ "columns": ["pin", "name", "secret"], "rows": rows });
        let (text, _) = RedactionRules::default_secrets().redact_json(&table.to_string()).unwrap_or((table.to_string(), vec![]));
        let left: Value = serde_json::from_str(&text).expect("JSON is left");
        for (row, (_, name)) in left["rows"].as_array().expect("rows").iter().zip(&cells) {
            let secret = if name.is_empty() { "" } else { "[redacted]" };
            prop_assert_eq!(row, &serde_json::json!([null, name, secret]));
        }
    }

    #[test]
    fn hidden_columns_of_delimited_text_show_no_value(
        rows in prop::collection::vec(("[a-z \",\n]{0,6}", "[A-Z]{6,9}"), 1..12),
        delimiter in prop::sample::select(vec![",", "\t", ";"]),
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
        is_first in any::<bool>(),
    ) {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |a: &str, b: &str| if is_first { [b, a].join(delimiter) } else { [a, b].join(delimiter) };
        let mut text = line("note", "password") + line_end;
        for (note, secret) in &rows {
            text += &(line(&quoted(note), secret) + line_end);
        }
        let (shown, names) = RedactionRules::default_secrets().redact(&text).expect("it has secrets");
        prop_assert_eq!(names, ["password"]);
        prop_assert!(!shown.contains(char::is_uppercase), "{}", shown);
        prop_assert_eq!(shown.matches(REDACTED).count(), rows.len());
        // All else stays.
        prop_assert_eq!(shown.replace(REDACTED, ""), text.replace(char::is_uppercase, ""));
    }

    #[test]
    fn tags_anchors_and_aliases_in_yaml_show_no_value(
        secret in "[A-Z]{6,9}",
        properties in prop::sample::select(vec!["", "!!str ", "&pw ", "&pw !!str ", "!vault\t&pw  "]),
        quote in prop::sample::select(vec!["", "'", "\""]),
        layout in prop::sample::select(vec!["a: 1\nb:\n  @\n  c: 2\n", "- @\n  c: 2\n", "{a: 1, @, c: 2}\n"]),
        is_alias in any::<bool>(),
    ) {
        let value = format!("{properties}{quote}{secret}{quote}");
        let text = if is_alias && properties.contains('&') {
            layout.replace('@', "password: *pw") + &format!("other: {value}\n")
        } else {
            layout.replace('@', &format!("password: {value}"))
        };
        let (shown, names) = RedactionRules::default_secrets().redact(&text).expect("it has a secret");
        prop_assert_eq!(names, ["password"]);
        prop_assert!(!shown.contains(char::is_uppercase), "{}", shown);
        prop_assert!(shown.contains("c: 2"), "{}", shown);
    }

    #[test]
    fn any_text_is_accepted(text in any::<String>(), patterns in "[a-z.*,]{0,12}") {
        for redact in [RedactionRules::default_secrets(), RedactionRules::parse(&patterns).unwrap_or_default()] {
            let _ = (redact.redact(&text), redact.redact_json(&text), redact.redact_text(&text));
        }
    }

    #[test]
    fn other_bytes_are_unchanged(before in "[a-z \n\"{}:,=]{0,40}", after in "[a-z \n]{0,40}") {
        let text = format!("{before}\npassword=hunter2\n{after}");
        let (left, _) = RedactionRules::default_secrets().redact_text(&text).expect("a password");
        prop_assert!(left.contains("\npassword=[redacted]\n") && left.ends_with(&after) && !left.contains("hunter2"));
    }
}
