//! Formats: the syntax of a configuration file, and where the servers are in it.

use std::path::Path;

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, with comments and trailing commas where a client accepts them.
    Json,
    /// TOML.
    Toml,
}

/// Place of the servers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Syntax of the file.
    pub syntax: Syntax,
    /// Paths to the objects that map a name to a server. `*` stands for every member; its name is the scope.
    pub roots: &'static [&'static [&'static str]],
    /// Name of the member with the URL of a server.
    pub url_key: &'static str,
}

impl Format {
    /// `mcpServers`, as in most clients.
    pub const MCP_SERVERS: Self = Self { syntax: Syntax::Json, roots: &[&["mcpServers"]], url_key: "url" };
    /// Claude Code: `mcpServers` of the user, and those of each project.
    pub const CLAUDE_CODE: Self = Self {
        syntax: Syntax::Json,
        roots: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
        url_key: "url",
    };
    /// Windsurf: `mcpServers`, with URLs as `serverUrl`.
    pub const WINDSURF: Self = Self { syntax: Syntax::Json, roots: &[&["mcpServers"]], url_key: "serverUrl" };
    /// VS Code: `servers` in `mcp.json`.
    pub const VS_CODE: Self = Self { syntax: Syntax::Json, roots: &[&["servers"]], url_key: "url" };
    /// Zed: `context_servers` in `settings.json`.
    pub const ZED: Self = Self { syntax: Syntax::Json, roots: &[&["context_servers"]], url_key: "url" };
    /// `OpenCode`: `mcp`, with commands as lists.
    pub const OPEN_CODE: Self = Self { syntax: Syntax::Json, roots: &[&["mcp"]], url_key: "url" };
    /// Codex: tables `mcp_servers.NAME`.
    pub const CODEX: Self = Self { syntax: Syntax::Toml, roots: &[&["mcp_servers"]], url_key: "url" };
    /// JSON of an unknown client.
    const ANY_JSON: Self = Self {
        syntax: Syntax::Json,
        roots: &[
            &["mcpServers"],
            &["projects", "*", "mcpServers"],
            &["servers"],
            &["mcp", "servers"],
            &["context_servers"],
            &["mcp"],
        ],
        url_key: "url",
    };

    /// Returns the format of a file that no client is named for, by its extension.
    pub fn of_file(path: &Path) -> Self {
        let is_toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        if is_toml { Self::CODEX } else { Self::ANY_JSON }
    }
}
