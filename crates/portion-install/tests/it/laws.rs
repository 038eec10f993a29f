//! Uninstalling restores the bytes of any file, and installing changes nothing but the servers.

use portion_install::format::Format;
use portion_install::{Outcome, uninstall};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{STDIO, edited};

/// Whitespace and comments between tokens of JSON.
fn gap() -> impl Strategy<Value = String> {
    let pieces = ["", "", " ", "\n", "\r\n    ", "\t", " // c\n", "/* \"command\": \"x\" */", "\n  "];
    proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned)
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "npx",
            "-y",
            "--",
            "wrap",
            "--server",
            "portion",
            "a b",
            "\\",
            "\"",
            "é\u{1F600}",
            ""
        ])
        .prop_map(str::to_owned),
        "[ -~]{1,8}",
    ]
}

/// A value as JSON, with gaps between its tokens.
fn spaced(value: &Value, gaps: &mut dyn FnMut() -> String, trailing: bool) -> String {
    let list = |items: Vec<String>, open: char, close: char, gaps: &mut dyn FnMut() -> String| {
        let mut text = format!("{open}{}", gaps());
        let is_empty = items.is_empty();
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                text = format!("{text}{},{}", gaps(), gaps());
            }
            text.push_str(&item);
        }
        let comma = if trailing && !is_empty { "," } else { "" };
        format!("{text}{}{comma}{}{close}", gaps(), gaps())
    };
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| spaced(item, gaps, trailing)).collect();
            list(items, '[', ']', gaps)
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value), gaps: &mut dyn FnMut() -> String| {
                format!("{}{}:{}{}", json!(name), gaps(), gaps(), spaced(value, gaps, trailing))
            };
            let members = members.iter().map(|one| member(one, gaps)).collect();
            list(members, '{', '}', gaps)
        }
        other => other.to_string(),
    }
}

/// A server as JSON: with or without arguments, in any order. None starts Portion, which is left as it is.
fn server() -> impl Strategy<Value = Value> {
    let program = word().prop_filter("a program", |word| !word.trim().is_empty() && word != "portion");
    let args = proptest::collection::vec(word(), 0..4).prop_filter("a server", |args| {
        !["portion", "wrap"].iter().all(|word| args.iter().any(|arg| arg == word))
    });
    let args = proptest::option::of(args);
    (program, args, any::<bool>(), any::<bool>()).prop_map(|(program, args, args_first, has_env)| {
        let mut server = serde_json::Map::new();
        if let (Some(args), true) = (&args, args_first) {
            server.insert("args".into(), json!(args));
        }
        server.insert("command".into(), json!(program));
        if has_env {
            server.insert("env".into(), json!({"K": "v"}));
        }
        if let (Some(args), false) = (&args, args_first) {
            server.insert("args".into(), json!(args));
        }
        Value::Object(server)
    })
}

fn servers() -> impl Strategy<Value = Vec<(String, Value)>> {
    let name = word().prop_filter("a name", |word| !word.starts_with('-'));
    proptest::collection::vec((name, server()), 0..4)
}

proptest! {
    #[test]
    fn json_is_restored(servers in servers(), gaps in proptest::collection::vec(gap(), 64), trailing: bool, mark: bool) {
        let mut at = 0;
        let mut next = || { at += 1; gaps[at % gaps.len()].clone() };
        let servers: serde_json::Map<String, Value> = servers.into_iter().collect();
        let value = json!({"first": [1, {"mcpServers": {}}], "mcpServers": servers, "last": null});
        let text = format!("{}{}{}", if mark { "\u{feff}" } else { "" }, next(), spaced(&value, &mut next, trailing));
        check_law(&text, Format::MCP_SERVERS, servers.len())?;
    }

    #[test]
    fn toml_is_restored(servers in servers(), crlf: bool, inline: bool, literal: bool, end: bool) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let servers: serde_json::Map<String, Value> = servers.into_iter().collect();
        let string = |value: &Value| match value.as_str() {
            Some(text) if literal && !text.contains('\'') => format!("'{text}'"),
            _ => value.to_string(),
        };
        let value = |value: &Value| match value {
            Value::Array(items) => format!("[{}]", items.iter().map(string).collect::<Vec<_>>().join(" , ")),
            Value::Object(_) => "{ K = \"v\" }".into(),
            other => string(other),
        };
        let mut lines = vec!["# first".to_owned(), "model = 'x'".into()];
        for (name, server) in &servers {
            let members = server.as_object().into_iter().flatten().map(|(key, one)| format!("{key} = {}", value(one)));
            let members: Vec<String> = members.collect();
            let name = json!(name);
            if inline {
                lines.insert(2, format!("mcp_servers.{name} = {{ {} }} # c", members.join(", ")));
            } else {
                lines.push(format!("[mcp_servers.{name}] # table"));
                lines.extend(members.into_iter().map(|member| format!("  {member} # c")));
            }
        }
        let mut text = lines.join(newline);
        if end { text.push_str(newline); }
        check_law(&text, Format::CODEX, servers.len())?;
    }

    #[test]
    fn any_text_is_handled(text in "\\PC{0,40}", json in any::<bool>()) {
        let format = if json { Format::MCP_SERVERS } else { Format::CODEX };
        let _ = portion_install::install(&text, format, &STDIO, &|_| true);
        let _ = uninstall(&text, format, &|_| true);
    }
}

fn check_law(text: &str, format: Format, count: usize) -> Result<(), TestCaseError> {
    let installed = edited(text, format, &STDIO);
    prop_assert_eq!(installed.changes.len(), count);
    prop_assert!(
        installed.changes.iter().all(|change| change.outcome == Outcome::Wrapped),
        "{:?}",
        installed
    );
    let again = edited(&installed.text, format, &STDIO);
    prop_assert!(again.changes.iter().all(|change| change.outcome == Outcome::Unchanged), "{:?}", again);
    prop_assert_eq!(&again.text, &installed.text);
    let restored = uninstall(&installed.text, format, &|_| true).expect("valid");
    prop_assert_eq!(&restored.text, text);
    for (one, other) in installed.changes.iter().zip(&restored.changes) {
        prop_assert_eq!(&one.before, &other.after);
    }
    Ok(())
}
