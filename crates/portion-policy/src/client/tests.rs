use portion_core::policy::ClientLimits;

use super::{CLIENTS, ClientProfile, Preset, ResultLimit, ShownForm};

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
    check("JetBrains-IU-copilot-intellij", Some("copilot-jetbrains"));
    check("JetBrains-PY/copilot-intellij", Some("copilot-jetbrains"));
    check("qwen-cli-mcp-client-notes", Some("qwen-code"));
    check("kimi-code", Some("kimi-code"));
    check("Cline", Some("cline"));
    check("crush", Some("crush"));
    check("goose", Some("goose"));
    check("goose-desktop", Some("goose"));
    check("ChatGPT", Some("chatgpt"));
}

#[test]
fn a_client_that_names_its_model_has_the_limits_of_the_model() {
    let check = |client: &str, model: &str, expect: &str| {
        let client = ClientProfile::find_by_name(client).expect("a client");
        assert_eq!(client.for_model(model).preset, expect, "{model}");
    };
    check("codex", "gpt-6.2-sol", "codex-gpt");
    check("codex", "gpt-oss-120b", "codex");
    check("codex", "", "codex");
    check("claude-code", "gpt-6.2-sol", "claude-code");
}

#[test]
fn other_names_are_not_recognized() {
    for name in [
        "",
        "*",
        "-",
        "claude",
        "claude-code-2",
        "codex-mcp",
        "my-codex",
        "cursor-vscode",
        "Zed",
        "mcp",
        "jetbrains-ai-assistant-client",
    ] {
        check(name, None);
    }
}

#[test]
fn the_table_is_consistent() {
    for client in &CLIENTS {
        for name in client.name_patterns {
            let first = CLIENTS.iter().find(|first| first.name_patterns == client.name_patterns);
            check(&name.replace('*', ""), first.map(|first| first.preset));
            assert!(client.models.is_empty() == first.is_some_and(|first| first.preset == client.preset));
        }
        assert_eq!(client.preset.parse(), Ok(Preset::Named(client)));
        assert!(client.sources.iter().all(|source| source.starts_with("https://")), "{client:?}");
        assert!(!client.sources.is_empty() && !client.name_patterns.is_empty(), "{client:?}");
        assert!(client.error_limit.is_none_or(|limit| limit.reply_room().max_bytes.is_some()), "{client:?}");
        assert_eq!(client.limits.is_empty(), client.overflow_behaviour.is_empty(), "{client:?}");
        assert!(
            !client.limits.is_empty() || client.tokenizer.is_some() || client.shown_form != ShownForm::Text,
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
