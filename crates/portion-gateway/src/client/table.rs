//! The table of known clients: what each calls itself, what it takes, what its models count by.
//!
//! Limits are those that hold where their users have set nothing. A row needs a source for its names and one for
//! its limits; what nobody has found out has no row, and is served by the defaults. `docs/clients.md` shows this
//! table, and a test holds the two together.

use portion_core::tokens::Tokenizer;

use super::{Client, Limit};

/// Names that many clients were seen to give, each with the client.
const NAMES: &str = "https://github.com/apify/mcp-client-capabilities";

/// Every known client.
pub static CLIENTS: [Client; 9] = [
    Client {
        preset: "claude-code",
        title: "Claude Code",
        names: &["claude-code"],
        limits: &[Limit::Tokens(25_000), Limit::Characters(50_000)],
        above: "goes to a file, 2 KB are shown; errors are cut near 11,000 characters",
        tokenizer: Some(Tokenizer::Claude),
        heeds_tools: true,
        shows_structured: true,
        sources: &[
            NAMES,
            "https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings",
            "https://github.com/anthropics/claude-code/issues/55677",
            "https://github.com/anthropics/claude-code/issues/79944",
        ],
    },
    Client {
        preset: "claude-desktop",
        title: "Claude Desktop, claude.ai",
        names: &["claude-ai"],
        limits: &[Limit::AllBytes(1 << 20)],
        above: "is refused as too large",
        tokenizer: Some(Tokenizer::Claude),
        heeds_tools: false,
        shows_structured: false,
        sources: &[
            "https://github.com/0x4m4/hexstrike-ai/issues/11",
            "https://github.com/anthropics/claude-code/issues/66519",
            "https://github.com/CursorTouch/Windows-MCP/issues/155",
        ],
    },
    // Models of a later generation are given 10,000 tokens. Which model asks is not told, so the lower limit holds.
    Client {
        preset: "codex",
        title: "Codex",
        names: &["codex-mcp-client", "codex"],
        limits: &[Limit::Bytes(10_000)],
        above: "loses its middle",
        tokenizer: Some(Tokenizer::O200k),
        heeds_tools: false,
        shows_structured: false,
        sources: &[
            NAMES,
            "https://github.com/openai/codex/issues/6544",
            "https://github.com/openai/codex/issues/7906",
        ],
    },
    // Its users choose among models of several makers, as those of most editors do.
    Client {
        preset: "copilot-cli",
        title: "GitHub Copilot CLI",
        names: &["github-copilot-developer"],
        limits: &[Limit::Bytes(10 << 10)],
        above: "loses its middle",
        tokenizer: None,
        heeds_tools: false,
        shows_structured: false,
        sources: &[
            "https://github.com/github/copilot-cli/issues/1268",
            "https://github.com/github/copilot-cli/issues/1732",
        ],
    },
    Client {
        preset: "vscode",
        title: "Visual Studio Code",
        names: &["Visual Studio Code*"],
        limits: &[Limit::Bytes(8 << 10)],
        above: "goes to a file",
        tokenizer: None,
        heeds_tools: false,
        shows_structured: false,
        sources: &[NAMES, "https://github.com/microsoft/vscode/pull/329276"],
    },
    // The name goes on with that of the server.
    Client {
        preset: "gemini-cli",
        title: "Gemini CLI",
        names: &["gemini-cli-mcp-client*"],
        limits: &[Limit::Characters(40_000)],
        above: "loses its middle; the whole goes to a file",
        tokenizer: None,
        heeds_tools: false,
        shows_structured: false,
        sources: &[
            NAMES,
            "https://github.com/google-gemini/gemini-cli/pull/18446",
            "https://github.com/google-gemini/gemini-cli/pull/19365",
        ],
    },
    Client {
        preset: "opencode",
        title: "OpenCode",
        names: &["opencode"],
        limits: &[Limit::Bytes(50 << 10)],
        above: "loses its end; the whole goes to a file",
        tokenizer: None,
        heeds_tools: false,
        shows_structured: false,
        sources: &[NAMES, "https://github.com/anomalyco/opencode/issues/22565"],
    },
    Client {
        preset: "goose",
        title: "Goose",
        names: &["goose*"],
        limits: &[Limit::Characters(200_000)],
        above: "goes to a file",
        tokenizer: None,
        heeds_tools: false,
        shows_structured: false,
        sources: &[NAMES, "https://github.com/aaif-goose/goose/pull/9256"],
    },
    Client {
        preset: "chatgpt",
        title: "ChatGPT",
        names: &["ChatGPT"],
        limits: &[],
        above: "",
        tokenizer: Some(Tokenizer::O200k),
        heeds_tools: false,
        shows_structured: false,
        sources: &[NAMES],
    },
];
