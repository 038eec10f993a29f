//! Servers with a URL.

use portion_install::format::Format;
use portion_install::{Outcome, uninstall};

use super::{HTTP, check, edited};

#[test]
fn headers_are_not_moved_beside_variables_of_the_entry() {
    let text = r#"{"mcpServers": {"a": {"url": "https://x", "headers": {"X-A": "b"}, "env": {"C": "d"}}}}"#;
    let installed = edited(text, Format::MCP_SERVERS, &HTTP);
    assert_eq!(installed.text, text);
    assert!(matches!(installed.changes[0].outcome, Outcome::Skipped(reason) if reason.contains("variables")));
}

#[test]
fn a_url_becomes_an_argument() {
    check(
        r#"{"mcpServers": {"a": {"url": "https://x/mcp"}}}"#,
        Format::MCP_SERVERS,
        &HTTP,
        r#"{"mcpServers": {"a": {"command": "/opt/portion", "args": ["wrap", "--server", "a", "--url", "https://x/mcp"]}}}"#,
    );
    check(
        "{\"mcpServers\": {\"a\": {\n  \"type\": \"sse\",\n  \"url\": \"https://x/sse\",\n  \"timeout\": 5\n}}}",
        Format::MCP_SERVERS,
        &HTTP,
        "{\"mcpServers\": {\"a\": {\n  \"type\": \"stdio\",\n  \"command\": \"/opt/portion\",\n  \"args\": [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x/sse\", \"--transport\", \"sse\"],\n  \"timeout\": 5\n}}}",
    );
    check(
        r#"{"mcpServers": {"a": {"httpUrl": "https://x"}}}"#,
        Format::MCP_SERVERS,
        &HTTP,
        r#"{"mcpServers": {"a": {"command": "/opt/portion", "args": ["wrap", "--server", "a", "--url", "https://x", "--transport", "http"]}}}"#,
    );
    check(
        r#"{"mcpServers": {"a": {"serverUrl": "https://x"}}}"#,
        Format::WINDSURF,
        &HTTP,
        r#"{"mcpServers": {"a": {"command": "/opt/portion", "args": ["wrap", "--server", "a", "--url", "https://x"]}}}"#,
    );
    check(
        "[mcp_servers.a]\nurl = \"https://x\"\nbearer_token_env_var = \"T\" # token\n",
        Format::CODEX,
        &HTTP,
        "[mcp_servers.a]\ncommand = \"/opt/portion\"\nargs = [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x\", \"--header\", \"Authorization: Bearer ${T}\"]\nenv_vars = [\"T\"] # token\n",
    );
}

#[test]
fn the_values_of_headers_become_variables() {
    let text = r#"{"mcpServers": {"a": {"type": "http", "url": "https://x", "headers": {"X-A": "b: $c ${D}"}, "disabled": true}}}"#;
    let installed = edited(text, Format::MCP_SERVERS, &HTTP);
    assert_eq!(
        installed.text,
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "/opt/portion", "args": ["wrap", "--server", "a", "--url", "https://x", "--header", "X-A: ${MCP_HEADER_X_A}", "--transport", "http"], "env": {"MCP_HEADER_X_A": "b: $c ${D}"}, "disabled": true}}}"#
    );
    let restored = uninstall(&installed.text, Format::MCP_SERVERS, &|_| true).expect("valid");
    assert_eq!(restored.text, text);
}

#[test]
fn the_headers_of_codex_become_variables() {
    check(
        "[mcp_servers.a]\nurl = \"https://x\"\nhttp_headers = {\"X-A\" = \"b ${D}\"} # mine\nbearer_token_env_var = \"T\"\n",
        Format::CODEX,
        &HTTP,
        "[mcp_servers.a]\ncommand = \"/opt/portion\"\nargs = [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x\", \"--header\", \"X-A: ${MCP_HEADER_X_A}\", \"--header\", \"Authorization: Bearer ${T}\"]\nenv = {\"MCP_HEADER_X_A\" = \"b ${D}\"} # mine\nenv_vars = [\"T\"]\n",
    );
    check(
        "mcp_servers = {a = {url = \"https://x\", http_headers = {\"X-A\" = \"b\"}}}\n",
        Format::CODEX,
        &HTTP,
        "mcp_servers = {a = {command = \"/opt/portion\", args = [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x\", \"--header\", \"X-A: ${MCP_HEADER_X_A}\"], env = {\"MCP_HEADER_X_A\" = \"b\"}}}\n",
    );
    let table = "[mcp_servers.a]\nurl = \"https://x\"\n[mcp_servers.a.http_headers]\nX-A = \"b\"\n";
    let skipped = edited(table, Format::CODEX, &HTTP);
    assert!(matches!(skipped.changes[0].outcome, Outcome::Skipped(reason) if reason.contains("headers")));
}

#[test]
fn comments_between_the_members_of_a_url_stay() {
    check(
        "{\"mcpServers\": {\"a\": {\n  \"url\": \"https://x\", // main\n  // for audits\n  \"headers\": {\"X-A\": \"b\"}, /* end */\n}}}",
        Format::MCP_SERVERS,
        &HTTP,
        "{\"mcpServers\": {\"a\": {\n  \"command\": \"/opt/portion\", // main\n  // for audits\n  \"args\": [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x\", \"--header\", \"X-A: ${MCP_HEADER_X_A}\"],\n  \"env\": {\"MCP_HEADER_X_A\": \"b\"}, /* end */\n}}}",
    );
    check(
        "{\"mcpServers\": {\"a\": {\"headers\": {\"X-A\": \"b\"}, /* here */ \"url\": \"https://x\"}}}",
        Format::MCP_SERVERS,
        &HTTP,
        "{\"mcpServers\": {\"a\": {\"args\": [\"wrap\", \"--server\", \"a\", \"--url\", \"https://x\", \"--header\", \"X-A: ${MCP_HEADER_X_A}\"], \"env\": {\"MCP_HEADER_X_A\": \"b\"}, /* here */ \"command\": \"/opt/portion\"}}}",
    );
}
