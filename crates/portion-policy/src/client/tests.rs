use portion_core::policy::ClientLimits;

use super::{CLIENTS, ClientProfile, Preset, ResultLimit};

/// `expect`: the preset of the client with this name.
fn check(name: &str, expect: Option<&str>) {
    assert_eq!(ClientProfile::find_by_name(name).map(|client| client.preset), expect, "{name}");
}

#[test]
fn clients_are_recognized_by_name() {
    check("claude-code", Some("claude-code"));
    check("Claude Code", Some("claude-code"));
    check("claude-ai", Some("claude-desktop"));
    check("codex-mcp-client", Some("codex"));
    check("Codex", Some("codex"));
    check("github-copilot-developer", Some("copilot-cli"));
    check("Visual Studio Code", Some("vscode"));
    check("Visual-Studio-Code", Some("vscode"));
    check("Visual Studio Code - Insiders", Some("vscode"));
    check("gemini-cli-mcp-client", Some("gemini-cli"));
    check("gemini-cli-mcp-client-notes", Some("gemini-cli"));
    check("opencode", Some("opencode"));
    check("goose", Some("goose"));
    check("goose-desktop", Some("goose"));
    check("ChatGPT", Some("chatgpt"));
}

#[test]
fn other_names_are_not_recognized() {
    for name in
        ["", "*", "-", "claude", "claude-code-2", "codex-mcp", "my-codex", "cursor-vscode", "Zed", "mcp"]
    {
        check(name, None);
    }
}

#[test]
fn the_table_is_consistent() {
    for client in &CLIENTS {
        for name in client.name_patterns {
            check(name.trim_end_matches('*'), Some(client.preset));
        }
        assert_eq!(client.preset.parse(), Ok(Preset::Named(client)));
        assert!(client.sources.iter().all(|source| source.starts_with("https://")), "{client:?}");
        assert!(!client.sources.is_empty() && !client.name_patterns.is_empty(), "{client:?}");
        assert_eq!(client.limits.is_empty(), client.overflow_behaviour.is_empty(), "{client:?}");
        assert!(
            !client.limits.is_empty() || client.tokenizer.is_some(),
            "a row that changes nothing: {client:?}"
        );
    }
}

#[test]
fn limits_leave_headroom() {
    let check = |limits: &[ResultLimit], expect: ClientLimits| {
        let room =
            limits.iter().fold(ClientLimits::UNKNOWN, |room, limit| room.intersect(limit.reply_room()));
        assert_eq!(room, expect, "{limits:?}");
    };
    check(&[], ClientLimits::UNKNOWN);
    check(&[ResultLimit::Tokens(1_000)], ClientLimits { max_tokens: Some(900), ..ClientLimits::UNKNOWN });
    check(
        &[ResultLimit::Characters(1_000), ResultLimit::Bytes(2_000)],
        ClientLimits { max_bytes: Some(900), ..ClientLimits::UNKNOWN },
    );
    check(
        &[ResultLimit::TotalBytes(1_000)],
        ClientLimits { max_bytes: Some(900), max_media_bytes: Some(900), ..ClientLimits::UNKNOWN },
    );
}

#[test]
fn presets_are_parsed_as_displayed() {
    for name in ["none", "auto", "code", "codex"] {
        assert_eq!(name.parse::<Preset>().expect("a preset").to_string(), name);
    }
    let error = "emacs".parse::<Preset>().expect_err("no preset").to_string();
    assert!(
        error.starts_with("unknown preset `emacs`: use none, auto, code, claude-code, claude-desktop,"),
        "{error}"
    );
}
