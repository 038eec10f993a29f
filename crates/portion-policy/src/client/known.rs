//! Table of known clients: their names, result limits and tokenizers.
//!
//! Limits are the defaults of each client. A row needs a source for its names and one for its limits; clients
//! without sources have no row, and get the defaults. `docs/clients.md` shows this table, and a test compares
//! both.

use portion_tokens::Tokenizer;

use super::{ClientProfile, ResultLimit};

/// List of names that many clients were seen to send, each with its client.
const NAMES_SOURCE: &str = "https://github.com/apify/mcp-client-capabilities";

/// All known clients.
pub static CLIENTS: [ClientProfile; 9] = [
    ClientProfile {
        preset: "claude-code",
        title: "Claude Code",
        name_patterns: &["claude-code"],
        limits: &[ResultLimit::Tokens(25_000), ResultLimit::Characters(50_000)],
        overflow_behaviour: "written to a file, 2 KB are shown; errors are truncated near 11,000 characters",
        tokenizer: Some(Tokenizer::Claude),
        honours_tool_limits: true,
        shows_structured: true,
        sources: &[
            NAMES_SOURCE,
            "https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings",
            "https://github.com/anthropics/claude-code/issues/55677",
            "https://github.com/anthropics/claude-code/issues/79944",
        ],
    },
    ClientProfile {
        preset: "claude-desktop",
        title: "Claude Desktop, claude.ai",
        name_patterns: &["claude-ai"],
        limits: &[ResultLimit::TotalBytes(1 << 20)],
        overflow_behaviour: "refused as too large",
        tokenizer: Some(Tokenizer::Claude),
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[
            "https://github.com/0x4m4/hexstrike-ai/issues/11",
            "https://github.com/anthropics/claude-code/issues/66519",
            "https://github.com/CursorTouch/Windows-MCP/issues/155",
        ],
    },
    // Later model generations get 10,000 tokens. The model is not known, so the lower limit applies.
    ClientProfile {
        preset: "codex",
        title: "Codex",
        name_patterns: &["codex-mcp-client", "codex"],
        limits: &[ResultLimit::Bytes(10_000)],
        overflow_behaviour: "truncated in the middle",
        tokenizer: Some(Tokenizer::O200k),
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/openai/codex/issues/6544",
            "https://github.com/openai/codex/issues/7906",
        ],
    },
    // Its users choose among models of several vendors, as in most editors.
    ClientProfile {
        preset: "copilot-cli",
        title: "GitHub Copilot CLI",
        name_patterns: &["github-copilot-developer"],
        limits: &[ResultLimit::Bytes(10 << 10)],
        overflow_behaviour: "truncated in the middle",
        tokenizer: None,
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[
            "https://github.com/github/copilot-cli/issues/1268",
            "https://github.com/github/copilot-cli/issues/1732",
        ],
    },
    ClientProfile {
        preset: "vscode",
        title: "Visual Studio Code",
        name_patterns: &["Visual Studio Code*"],
        limits: &[ResultLimit::Bytes(8 << 10)],
        overflow_behaviour: "written to a file",
        tokenizer: None,
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[NAMES_SOURCE, "https://github.com/microsoft/vscode/pull/329276"],
    },
    // The server's name is appended to this name.
    ClientProfile {
        preset: "gemini-cli",
        title: "Gemini CLI",
        name_patterns: &["gemini-cli-mcp-client*"],
        limits: &[ResultLimit::Characters(40_000)],
        overflow_behaviour: "truncated in the middle; written to a file",
        tokenizer: None,
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[
            NAMES_SOURCE,
            "https://github.com/google-gemini/gemini-cli/pull/18446",
            "https://github.com/google-gemini/gemini-cli/pull/19365",
        ],
    },
    ClientProfile {
        preset: "opencode",
        title: "OpenCode",
        name_patterns: &["opencode"],
        limits: &[ResultLimit::Bytes(50 << 10)],
        overflow_behaviour: "truncated at the end; written to a file",
        tokenizer: None,
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[NAMES_SOURCE, "https://github.com/anomalyco/opencode/issues/22565"],
    },
    ClientProfile {
        preset: "goose",
        title: "Goose",
        name_patterns: &["goose*"],
        limits: &[ResultLimit::Characters(200_000)],
        overflow_behaviour: "written to a file",
        tokenizer: None,
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[NAMES_SOURCE, "https://github.com/aaif-goose/goose/pull/9256"],
    },
    ClientProfile {
        preset: "chatgpt",
        title: "ChatGPT",
        name_patterns: &["ChatGPT"],
        limits: &[],
        overflow_behaviour: "",
        tokenizer: Some(Tokenizer::O200k),
        honours_tool_limits: false,
        shows_structured: false,
        sources: &[NAMES_SOURCE],
    },
];
