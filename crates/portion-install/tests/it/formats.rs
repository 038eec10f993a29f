//! The edit of each client's format, byte by byte.

use portion_install::document::servers;
use portion_install::format::Format;
use portion_install::invocation::WrapOption;
use portion_install::{Outcome, Target, install, uninstall};

use super::{PORTION, STDIO, check, edited};

/// Checks one server of `mcpServers`.
#[track_caller]
fn check_server(entry: &str, expect: &str) {
    let file = |entry: &str| format!("{{\"mcpServers\": {{\"a\": {entry}}}}}");
    check(&file(entry), Format::MCP_SERVERS, &STDIO, &file(expect));
}

#[test]
fn arguments_are_put_in_front() {
    check_server(
        r#"{"command": "npx", "args": ["-y", "x"]}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server", "a", "--", "npx", "-y", "x"]}"#,
    );
    check_server(
        r#"{"args":["x"],"env":{"K":"v"},"disabled":true,"type":"stdio","cwd":"/w","command":"node"}"#,
        r#"{"args":["wrap", "--server", "a", "--", "node", "x"],"env":{"K":"v"},"disabled":true,"type":"stdio","cwd":"/w","command":"/opt/portion"}"#,
    );
    check_server(
        r#"{"command": "npx", "args": []}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server", "a", "--", "npx"]}"#,
    );
    check_server(
        r#"{"command": "npx", "args": [ ]}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server", "a", "--", "npx" ]}"#,
    );
    check_server(
        r#"{"command":"npx"}"#,
        r#"{"command":"/opt/portion","args":["wrap", "--server=a", "--", "npx"]}"#,
    );
    check_server(
        r#"{"command": "npx", "env": {}}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server=a", "--", "npx"], "env": {}}"#,
    );
}

#[test]
fn strings_keep_their_spelling() {
    check_server(
        r#"{"command": "C:\\Program Files\\n\u006fde.exe", "args": ["a \"b\"", "ü", "\u00fc", "$HOME", ""]}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server", "a", "--", "C:\\Program Files\\n\u006fde.exe", "a \"b\"", "ü", "\u00fc", "$HOME", ""]}"#,
    );
    check_server(
        r#"{"command": "cmd", "args": ["/c", "npx", "-y", "x"]}"#,
        r#"{"command": "/opt/portion", "args": ["wrap", "--server", "a", "--", "cmd", "/c", "npx", "-y", "x"]}"#,
    );
}

#[test]
fn comments_indentation_and_line_ends_stay() {
    let text = "\u{feff}// mine\r\n{\r\n\t\"theme\": \"dark\", // keep\r\n\t\"context_servers\": {\r\n\t\t/* git */\r\n\t\t\"my git\": {\r\n\t\t\t\"command\": \"uvx\", // runner\r\n\t\t\t\"args\": [\r\n\t\t\t\t// the package\r\n\t\t\t\t\"mcp-server-git\",\r\n\t\t\t\t\"--repo\", // where\r\n\t\t\t],\r\n\t\t},\r\n\t},\r\n}\r\n";
    let expect = text
        .replace("\"command\": \"uvx\"", "\"command\": \"/opt/portion\"")
        .replace(
            "\t\t\t\t\"mcp-server-git\"",
            "\t\t\t\t\"wrap\",\r\n\t\t\t\t\"--server\",\r\n\t\t\t\t\"my git\",\r\n\t\t\t\t\"--\",\r\n\t\t\t\t\"uvx\",\r\n\t\t\t\t\"mcp-server-git\"",
        );
    check(text, Format::ZED, &STDIO, &expect);
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\"\n    }\n  }\n}";
    let expect = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"/opt/portion\",\n      \"args\": [\"wrap\", \"--server=a\", \"--\", \"npx\"]\n    }\n  }\n}";
    check(text, Format::MCP_SERVERS, &STDIO, expect);
    let text = "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\n\"x\"\n]}}}";
    let expect = "{\"mcpServers\":{\"a\":{\"command\":\"/opt/portion\",\"args\":[\n\"wrap\",\n\"--server\",\n\"a\",\n\"--\",\n\"npx\",\n\"x\"\n]}}}";
    check(text, Format::MCP_SERVERS, &STDIO, expect);
}

#[test]
fn clients_have_their_own_places() {
    let entry = r#"{"command": "x", "args": ["y"]}"#;
    let wrapped = r#"{"command": "/opt/portion", "args": ["wrap", "--server", "n", "--", "x", "y"]}"#;
    let check_in = |format, before: &str, after: &str| {
        let file = |entry: &str| format!("{before}\"n\": {entry}{after}");
        check(&file(entry), format, &STDIO, &file(wrapped));
    };
    check_in(Format::VS_CODE, "{\"inputs\": [], \"servers\": {", "}}");
    check_in(Format::ZED, "{\"context_servers\": {", "}}");
    check_in(Format::CLAUDE_CODE, "{\"projects\": {\"/w\": {\"mcpServers\": {", "}}}, \"mcpServers\": {}}");
    // Zed's older form, and commands as lists.
    check(
        r#"{"context_servers": {"n": {"command": {"path": "x", "args": ["y"], "env": null}, "settings": {}}}}"#,
        Format::ZED,
        &STDIO,
        r#"{"context_servers": {"n": {"command": {"path": "/opt/portion", "args": ["wrap", "--server", "n", "--", "x", "y"], "env": null}, "settings": {}}}}"#,
    );
    check(
        r#"{"mcp": {"n": {"type": "local", "command": ["x", "y"], "enabled": true}}}"#,
        Format::OPEN_CODE,
        &STDIO,
        r#"{"mcp": {"n": {"type": "local", "command": ["/opt/portion", "wrap", "--server", "n", "--", "x", "y"], "enabled": true}}}"#,
    );
    let any = Format::of_file("x.json".as_ref());
    check_in(any, "{\"mcp\": {\"servers\": {", "}}}");
    check_in(any, "{\"mcp\": {", "}}");
}

#[test]
fn tables_of_codex_are_edited() {
    let codex = |text: &str, expect: &str| check(text, Format::CODEX, &STDIO, expect);
    codex(
        "# mine\nmodel = 'x'\n\n[mcp_servers.git] # git\ncommand = \"uvx\" # runner\nargs = [\n  # package\n  'mcp-server-git',\n]\n\n[mcp_servers.git.env]\nA = \"b\"\n",
        "# mine\nmodel = 'x'\n\n[mcp_servers.git] # git\ncommand = \"/opt/portion\" # runner\nargs = [\n  # package\n  \"wrap\", \"--server\", \"git\", \"--\", \"uvx\", 'mcp-server-git',\n]\n\n[mcp_servers.git.env]\nA = \"b\"\n",
    );
    codex(
        "[mcp_servers.a]\r\n  command = 'npx' # c\r\n  enabled = false\r\n",
        "[mcp_servers.a]\r\n  command = \"/opt/portion\" # c\r\n  args = [\"wrap\", \"--server=a\", \"--\", 'npx']\r\n  enabled = false\r\n",
    );
    codex(
        "[mcp_servers.a]\ncommand = 'npx'",
        "[mcp_servers.a]\ncommand = \"/opt/portion\"\nargs = [\"wrap\", \"--server=a\", \"--\", 'npx']",
    );
    codex(
        "mcp_servers.\"a b\".command = \"npx\"\n",
        "mcp_servers.\"a b\".command = \"/opt/portion\"\nmcp_servers.\"a b\".args = [\"wrap\", \"--server=a b\", \"--\", \"npx\"]\n",
    );
    codex(
        "[mcp_servers]\na = { command = \"npx\" }\nb = { args = [\"x\"], command = \"y\" }\n",
        "[mcp_servers]\na = { command = \"/opt/portion\", args = [\"wrap\", \"--server=a\", \"--\", \"npx\"] }\nb = { args = [\"wrap\", \"--server\", \"b\", \"--\", \"y\", \"x\"], command = \"/opt/portion\" }\n",
    );
}

#[test]
fn a_path_of_windows_is_quoted_for_its_syntax() {
    let target = Target { program: r"C:\Program Files\portion.exe", include_http: false, options: &[] };
    check(
        r#"{"mcpServers": {"a": {"command": "x", "args": []}}}"#,
        Format::MCP_SERVERS,
        &target,
        r#"{"mcpServers": {"a": {"command": "C:\\Program Files\\portion.exe", "args": ["wrap", "--server", "a", "--", "x"]}}}"#,
    );
    check(
        "[mcp_servers.a]\ncommand = \"x\"\nargs = []\n",
        Format::CODEX,
        &target,
        "[mcp_servers.a]\ncommand = 'C:\\Program Files\\portion.exe'\nargs = [\"wrap\", \"--server\", \"a\", \"--\", \"x\"]\n",
    );
}

#[test]
fn servers_are_never_wrapped_twice() {
    let file = |program: &str| {
        format!(
            r#"{{"mcpServers": {{"a": {{"command": "{program}", "args": ["wrap", "--server", "a", "--lean", "--", "x"]}}}}}}"#
        )
    };
    let updated = edited(&file("/old/bin/portion"), Format::MCP_SERVERS, &STDIO);
    assert_eq!(updated.text, file(PORTION));
    assert_eq!(updated.changes[0].outcome, Outcome::Updated);
    assert_eq!(edited(&updated.text, Format::MCP_SERVERS, &STDIO).changes[0].outcome, Outcome::Unchanged);
    let restored = uninstall(&updated.text, Format::MCP_SERVERS, &|_| true).expect("valid");
    assert_eq!(restored.text, r#"{"mcpServers": {"a": {"command": "x", "args": []}}}"#);
    assert_eq!(restored.changes[0].after, ["x"]);
    let own = r#"{"mcpServers": {"a": {"command": "portion", "args": ["wrap", "--lean", "--", "x"]}}}"#;
    for edit in [
        edited(own, Format::MCP_SERVERS, &STDIO),
        uninstall(own, Format::MCP_SERVERS, &|_| true).expect("valid"),
    ] {
        assert_eq!(edit.text, own);
        assert!(matches!(edit.changes[0].outcome, Outcome::Skipped(_)));
    }
}

#[test]
fn a_client_may_rewrite_the_file_before_it_is_restored() {
    let text = r#"{"mcpServers":{"a":{"command":"x"},"b":{"command":"y","args":["z"]}}}"#;
    let installed = edited(text, Format::MCP_SERVERS, &STDIO).text;
    let value: serde_json::Value = serde_json::from_str(&installed).expect("JSON");
    let rewritten = serde_json::to_string_pretty(&value).expect("JSON");
    let restored = uninstall(&rewritten, Format::MCP_SERVERS, &|_| true).expect("valid").text;
    let restored: serde_json::Value = serde_json::from_str(&restored).expect("JSON");
    assert_eq!(restored, serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
}

#[test]
fn only_selected_servers_are_edited() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#;
    let edit = install(text, Format::MCP_SERVERS, &STDIO, &|name| name == "b").expect("valid");
    assert_eq!(edit.changes.len(), 1);
    assert!(
        edit.text.starts_with(r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "/opt/portion""#)
    );
}

#[test]
fn an_entry_has_what_its_client_starts_it_with() {
    let json = r#"{"mcpServers": {
        "a": {"command": "x", "cwd": "/w", "envFile": "${workspaceFolder}/.env", "env": {"K": "v"}},
        "b": {"command": "x", "disabled": true}, "c": {"command": ["x"], "enabled": false}, "d": {"command": "x", "enabled": true}}}"#;
    let found = servers(json, Format::MCP_SERVERS).expect("valid");
    assert_eq!(found[0].env_file.as_deref(), Some("${workspaceFolder}/.env"));
    assert_eq!((found[0].cwd.as_deref(), found[0].env[0].1.as_str()), (Some("/w"), "v"));
    assert_eq!(found.iter().map(|entry| entry.is_enabled).collect::<Vec<_>>(), [true, false, false, true]);
    let toml = "[mcp_servers.a]\ncommand = 'x'\nenabled = false\n[mcp_servers.b]\ncommand = 'x'\n";
    let found = servers(toml, Format::CODEX).expect("valid");
    assert_eq!(found.iter().map(|entry| entry.is_enabled).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn options_are_written_and_changed() {
    let option = |name, value: Option<&str>| WrapOption { name, value: value.map(str::to_owned) };
    let text = r#"{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}"#;
    let install = |text: &str, options: &[WrapOption]| {
        edited(text, Format::MCP_SERVERS, &Target { options, ..STDIO }).text
    };
    let lean = install(text, &[option("--lean", None), option("--redact", Some("secrets"))]);
    assert!(
        lean.contains(r#"["wrap", "--lean", "--redact", "secrets", "--server", "a", "--", "x", "y"]"#),
        "{lean}"
    );
    assert_eq!(install(&lean, &[option("--lean", None)]), lean);
    let changed = install(&lean, &[option("--redact", Some("personal")), option("--preset", Some("codex"))]);
    assert!(
        changed.contains(r#"["wrap", "--preset", "codex", "--lean", "--redact", "personal", "--server""#),
        "{changed}"
    );
    assert_eq!(uninstall(&changed, Format::MCP_SERVERS, &|_| true).expect("valid").text, text);
}
