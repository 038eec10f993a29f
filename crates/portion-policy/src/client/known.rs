//! Table of known clients: their names, result limits and tokenizers.
//!
//! Limits are the defaults of each client. A row needs a source for its names and one for its limits; clients
//! without sources have no row, and get the defaults. `docs/reference/clients.md` shows this table, and a test compares
//! both.

use portion_tokens::Tokenizer;

use super::{ClientProfile, ResultLimit, ShownForm};

/// List of names that many clients were seen to send, each with its client.
const NAMES_SOURCE: &str = "https://github.com/apify/mcp-client-capabilities";

/// A client of which nothing is known.
const CLIENT: ClientProfile = ClientProfile {
    preset: "",
    title: "",
    name_patterns: &[],
    models: &[],
    limits: &[],
    error_limit: None,
    overflow_behaviour: "",
    tokenizer: None,
    honours_tool_limits: false,
    shown_form: ShownForm::Text,
    sources: &[],
};

/// All known clients.
pub static CLIENTS: [ClientProfile; 15] = [
    ClientProfile {
        preset: "claude-code",
        title: "Claude Code",
        name_patterns: &["claude-code"],
        limits: &[ResultLimit::Tokens(25_000), ResultLimit::Characters(50_000)],
        error_limit: Some(ResultLimit::Characters(10_000)),
        overflow_behaviour: "written to a file, 2 KB are shown",
        tokenizer: Some(Tokenizer::Claude),
        honours_tool_limits: true,
        shown_form: ShownForm::Structured,
        sources: &[
            NAMES_SOURCE,
            "https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings",
            "https://github.com/anthropics/claude-code/issues/54737",
            "https://github.com/anthropics/claude-code/issues/55677",
            "https://github.com/anthropics/claude-code/issues/79944",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "claude-desktop",
        title: "Claude Desktop, claude.ai",
        name_patterns: &["claude-ai"],
        limits: &[ResultLimit::TotalBytes(1 << 20)],
        overflow_behaviour: "refused as too large",
        tokenizer: Some(Tokenizer::Claude),
        sources: &[
            "https://github.com/0x4m4/hexstrike-ai/issues/11",
            "https://github.com/anthropics/claude-code/issues/66519",
            "https://github.com/CursorTouch/Windows-MCP/issues/155",
        ],
        ..CLIENT
    },
    // Measured with a model that it does not know.
    ClientProfile {
        preset: "codex",
        title: "Codex",
        name_patterns: &["codex-mcp-client", "codex"],
        limits: &[ResultLimit::Bytes(12_024)],
        overflow_behaviour: "truncated in the middle",
        tokenizer: Some(Tokenizer::O200k),
        shown_form: ShownForm::Structured,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/openai/codex/blob/main/codex-rs/protocol/src/models.rs",
            "https://github.com/openai/codex/issues/6544",
            "https://github.com/openai/codex/issues/7906",
        ],
        ..CLIENT
    },
    // Measured with a model that it knows. It names the model in `_meta` of each call.
    ClientProfile {
        preset: "codex-gpt",
        title: "Codex, with a model of its own list",
        name_patterns: &["codex-mcp-client", "codex"],
        models: &["gpt-5.5*", "gpt-5.6*", "gpt-6*", "gpt-daybreak-*", "codex-*"],
        limits: &[ResultLimit::Bytes(48_024)],
        overflow_behaviour: "truncated in the middle",
        tokenizer: Some(Tokenizer::O200k),
        shown_form: ShownForm::Structured,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/openai/codex/blob/main/codex-rs/protocol/src/models.rs",
            "https://github.com/openai/codex/pull/21219",
            "https://github.com/openai/codex/blob/main/codex-rs/models-manager/models.json",
        ],
        ..CLIENT
    },
    // Its users choose among models of several vendors, as in most editors.
    ClientProfile {
        preset: "copilot-cli",
        title: "GitHub Copilot CLI",
        name_patterns: &["github-copilot-developer"],
        limits: &[ResultLimit::Bytes(20 << 10)],
        overflow_behaviour: "written to a file",
        shown_form: ShownForm::Both,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/microsoft/vscode/pull/329276",
            "https://github.com/github/copilot-cli/issues/4515",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "copilot-jetbrains",
        title: "GitHub Copilot for JetBrains",
        name_patterns: &["JetBrains-*-copilot-intellij"],
        shown_form: ShownForm::Both,
        sources: &[NAMES_SOURCE, "https://github.com/microsoft/copilot-intellij-feedback/issues/2058"],
        ..CLIENT
    },
    ClientProfile {
        preset: "vscode",
        title: "Visual Studio Code",
        name_patterns: &["Visual Studio Code*"],
        limits: &[ResultLimit::Bytes(8 << 10)],
        overflow_behaviour: "written to a file",
        shown_form: ShownForm::Structured,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/microsoft/vscode/pull/329276",
            "https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/mcp/common/mcpLanguageModelToolContribution.ts",
        ],
        ..CLIENT
    },
    // The server's name is appended to this name.
    ClientProfile {
        preset: "gemini-cli",
        title: "Gemini CLI",
        name_patterns: &["gemini-cli-mcp-client*"],
        limits: &[ResultLimit::Characters(40_000)],
        overflow_behaviour: "truncated in the middle; written to a file",
        sources: &[
            NAMES_SOURCE,
            "https://github.com/google-gemini/gemini-cli/pull/18446",
            "https://github.com/google-gemini/gemini-cli/pull/19365",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "opencode",
        title: "OpenCode",
        name_patterns: &["opencode"],
        limits: &[ResultLimit::Bytes(50 << 10)],
        overflow_behaviour: "truncated at the end; written to a file",
        shown_form: ShownForm::Structured,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/anomalyco/opencode/issues/22565",
            "https://github.com/anomalyco/opencode/issues/32074",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "goose",
        title: "Goose",
        name_patterns: &["goose*"],
        limits: &[ResultLimit::Characters(200_000)],
        overflow_behaviour: "written to a file",
        sources: &[NAMES_SOURCE, "https://github.com/aaif-goose/goose/pull/9256"],
        ..CLIENT
    },
    // A branch of Gemini CLI; the server's name is appended to this name, too.
    ClientProfile {
        preset: "qwen-code",
        title: "Qwen Code",
        name_patterns: &["qwen-cli-mcp-client*"],
        limits: &[ResultLimit::Characters(25_000)],
        overflow_behaviour: "truncated, also above 1,000 lines; written to a file",
        sources: &[
            "https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/tools/mcp-client.ts",
            "https://github.com/QwenLM/qwen-code/pull/2446",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "kimi-code",
        title: "Kimi Code",
        name_patterns: &["kimi-code"],
        limits: &[ResultLimit::Characters(100_000)],
        overflow_behaviour: "truncated at the end",
        sources: &[
            "https://github.com/MoonshotAI/kimi-code/blob/main/packages/agent-core/src/mcp/client-shared.ts",
            "https://github.com/MoonshotAI/kimi-code/blob/main/packages/agent-core/src/mcp/output.ts",
        ],
        ..CLIENT
    },
    ClientProfile {
        preset: "cline",
        title: "Cline",
        name_patterns: &["Cline"],
        limits: &[ResultLimit::Characters(8_000)],
        overflow_behaviour: "truncated",
        sources: &[NAMES_SOURCE, "https://github.com/cline/cline/issues/13263"],
        ..CLIENT
    },
    ClientProfile {
        preset: "crush",
        title: "Crush",
        name_patterns: &["crush"],
        limits: &[ResultLimit::Bytes(128 << 10)],
        overflow_behaviour: "truncated in the middle",
        sources: &[NAMES_SOURCE, "https://github.com/charmbracelet/crush/pull/3602"],
        ..CLIENT
    },
    ClientProfile {
        preset: "chatgpt",
        title: "ChatGPT",
        name_patterns: &["ChatGPT"],
        tokenizer: Some(Tokenizer::O200k),
        sources: &[NAMES_SOURCE],
        ..CLIENT
    },
];
