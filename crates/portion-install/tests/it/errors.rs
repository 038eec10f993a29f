//! Files that are not valid, and servers that cannot be wrapped.

use portion_install::format::Format;
use portion_install::{Outcome, install, uninstall};

use super::{STDIO, edited};

#[track_caller]
fn check_error(text: &str, format: Format, expect: &str) {
    let error = install(text, format, &STDIO, &|_| true).expect_err(text).to_string();
    assert!(error.contains(expect), "{text}: {error}");
}

#[test]
fn the_place_of_an_error_is_named() {
    check_error("{\n  \"a\": 1\n  \"b\": 2\n}", Format::MCP_SERVERS, "line 2, column 9: Expected comma");
    check_error("{", Format::MCP_SERVERS, "line 1, column 1: Unterminated object");
    check_error("\u{feff}{\"é\": x}", Format::MCP_SERVERS, "line 1, column 7");
    for text in ["[]", "null", "1", "\"{}\""] {
        check_error(text, Format::MCP_SERVERS, "line 1, column 1: expected an object");
    }
    check_error("a = 1\nb = = 2\n", Format::CODEX, "line 2");
    check_error("[mcp_servers.a]\n[mcp_servers.a]\n", Format::CODEX, "line 2");
    check_error(&"[".repeat(100_000), Format::MCP_SERVERS, "depth");
    check_error(&format!("a = {}", "[".repeat(100_000)), Format::CODEX, "line 1");
}

#[track_caller]
fn check_skipped(entry: &str, expect: &str) {
    let text = format!("{{\"mcpServers\": {{\"a\": {entry}}}}}");
    let edit = edited(&text, Format::MCP_SERVERS, &STDIO);
    assert_eq!(edit.text, text);
    let Outcome::Skipped(reason) = edit.changes[0].outcome else { panic!("{entry} is edited") };
    assert!(reason.contains(expect), "{entry}: {reason}");
}

#[test]
fn what_cannot_be_wrapped_is_left_with_a_reason() {
    check_skipped("1", "not an object");
    check_skipped("{}", "neither a command nor a URL");
    check_skipped(r#"{"env": {}}"#, "neither a command nor a URL");
    check_skipped(r#"{"command": ""}"#, "empty");
    check_skipped(r#"{"command": null}"#, "not a string");
    check_skipped(r#"{"command": "x", "args": "y"}"#, "not a list of strings");
    check_skipped(r#"{"command": "x", "args": ["y", 1]}"#, "not a list of strings");
    check_skipped(r#"{"command": []}"#, "empty");
    check_skipped(r#"{"url": "https://x"}"#, "--http");
    let text = r#"{"mcpServers": {"--": {"command": "x"}, "-a": {"url": "https://x"}, "a\u0000": {"command": "x"},
        "a\nb": {"command": "x"}}}"#;
    let edit = edited(text, Format::MCP_SERVERS, &super::HTTP);
    assert_eq!(edit.text, text, "no option takes such a name");
    let is_skipped = |outcome| matches!(outcome, Outcome::Skipped(reason) if reason.contains("its name "));
    assert!(edit.changes.len() == 4 && edit.changes.iter().all(|change| is_skipped(change.outcome)));
}

#[test]
fn files_without_servers_are_left() {
    for text in ["{}", r#"{"mcpServers": {}}"#, "// only this\n"] {
        let edit = edited(text, Format::MCP_SERVERS, &STDIO);
        assert_eq!((edit.text.as_str(), edit.changes.len()), (text, 0));
    }
    for text in ["", "[mcp_servers]\n"] {
        let edit = edited(text, Format::CODEX, &STDIO);
        assert_eq!((edit.text.as_str(), edit.changes.len()), (text, 0));
    }
}

#[test]
fn a_key_for_servers_without_an_object_is_named() {
    let check = |text: &str, format: Format, expect: &[(&str, usize)]| {
        for edit in [edited(text, format, &STDIO), uninstall(text, format, &|_| true).expect("valid")] {
            assert_eq!(edit.text, text);
            let changes = edit.changes.iter().map(|change| (change.name.as_str(), change.line));
            assert_eq!(changes.collect::<Vec<_>>(), expect, "{text}");
            let is_skipped =
                |outcome| matches!(outcome, Outcome::Skipped(reason) if reason.contains("with servers"));
            assert!(edit.changes.iter().all(|change| is_skipped(change.outcome)), "{text}");
        }
    };
    for value in ["null", "[]", "1", "\"\"", "[{\"command\": \"x\"}]"] {
        check(&format!("{{\n\"mcpServers\": {value}}}"), Format::MCP_SERVERS, &[("mcpServers", 2)]);
        check(
            &format!("{{\"mcp\": {{\"servers\": {value}}}}}"),
            Format::of_file("x".as_ref()),
            &[("servers", 1)],
        );
    }
    let text = "{\"projects\": {\"/w\": {\"mcpServers\": null}, \"/x\": null}}";
    check(text, Format::CLAUDE_CODE, &[("mcpServers", 1)]);
    check("mcp_servers = 1\n", Format::CODEX, &[("mcp_servers", 1)]);
    check("[[mcp_servers]]\n", Format::CODEX, &[("mcp_servers", 1)]);
}

#[test]
fn an_edit_that_would_change_something_else_is_not_made() {
    // `args` of the inline table would be a server of its own.
    let text = "mcp_servers = { a.command = \"x\", b = { command = \"y\" } }\n";
    let edit = edited(text, Format::CODEX, &STDIO);
    assert!(
        matches!(edit.changes[0].outcome, Outcome::Skipped(reason) if reason.contains("table of its own"))
    );
    assert_eq!(edit.changes[0].after, edit.changes[0].before);
    assert_eq!(edit.changes[1].outcome, Outcome::Wrapped);
    assert!(
        edit.text.starts_with("mcp_servers = { a.command = \"x\", b = { command = \"/opt/portion\", args = ")
    );
}
