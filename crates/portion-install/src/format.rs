//! Formats: the syntax of a configuration file, and where the servers are in it.

use std::borrow::Cow;
use std::path::Path;

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, with comments and trailing commas where a client accepts them.
    Json,
    /// TOML.
    Toml,
}

/// How a client refers to environment variables in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// `${NAME}`.
    Braces,
    /// `${NAME}` and `$NAME`.
    Dollar,
    /// `{env:NAME}`.
    Env,
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
    /// References to variables.
    pub references: References,
}

impl Format {
    /// `mcpServers`, as in most clients.
    pub const MCP_SERVERS: Self = Self {
        syntax: Syntax::Json,
        roots: &[&["mcpServers"]],
        url_key: "url",
        references: References::Braces,
    };
    /// Claude Code: `mcpServers` of the user, and those of each project.
    pub const CLAUDE_CODE: Self =
        Self { roots: &[&["mcpServers"], &["projects", "*", "mcpServers"]], ..Self::MCP_SERVERS };
    /// Gemini CLI: `mcpServers`, with variables as `$NAME`.
    pub const GEMINI_CLI: Self = Self { references: References::Dollar, ..Self::MCP_SERVERS };
    /// Windsurf: `mcpServers`, with URLs as `serverUrl`.
    pub const WINDSURF: Self = Self { url_key: "serverUrl", ..Self::MCP_SERVERS };
    /// VS Code: `servers` in `mcp.json`.
    pub const VS_CODE: Self = Self { roots: &[&["servers"]], ..Self::MCP_SERVERS };
    /// Zed: `context_servers` in `settings.json`.
    pub const ZED: Self = Self { roots: &[&["context_servers"]], ..Self::MCP_SERVERS };
    /// `OpenCode`: `mcp`, with commands as lists.
    pub const OPEN_CODE: Self = Self { roots: &[&["mcp"]], references: References::Env, ..Self::MCP_SERVERS };
    /// Codex: tables `mcp_servers.NAME`.
    pub const CODEX: Self = Self { syntax: Syntax::Toml, roots: &[&["mcp_servers"]], ..Self::MCP_SERVERS };
    /// JSON of an unknown client.
    const ANY_JSON: Self = Self {
        roots: &[
            &["mcpServers"],
            &["projects", "*", "mcpServers"],
            &["servers"],
            &["mcp", "servers"],
            &["context_servers"],
            &["mcp"],
        ],
        ..Self::MCP_SERVERS
    };

    /// Returns the format of a file that no client is named for, by its extension.
    pub fn of_file(path: &Path) -> Self {
        let is_toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        if is_toml { Self::CODEX } else { Self::ANY_JSON }
    }
}

impl References {
    /// Returns a text with all references as `${NAME}`.
    pub fn to_braces(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Dollar if text.contains('$') => Cow::Owned(braces_of_dollars(text)),
            Self::Env => Cow::Owned(text.replace("{env:", "${").replace("{file:", "${file:")),
            Self::Braces | Self::Dollar => Cow::Borrowed(text),
        }
    }
}

fn braces_of_dollars(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let length = if after.bytes().next().is_some_and(is_first) {
            after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
        } else {
            0
        };
        let (name, left) = after.split_at(length);
        out.push_str(before);
        if name.is_empty() {
            out.push('$');
        } else {
            out.extend(["${", name, "}"]);
        }
        rest = left;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::References;

    #[test]
    fn references_get_braces() {
        let check = |references: References, text: &str, expect: &str| {
            assert_eq!(references.to_braces(text), expect, "{text}");
        };
        check(References::Dollar, "a $KEY, $_1b$c ${D} $5 $", "a ${KEY}, ${_1b}${c} ${D} $5 $");
        check(References::Env, "Bearer {env:KEY} {x} {file:~/k}", "Bearer ${KEY} {x} ${file:~/k}");
        check(References::Braces, "$KEY {env:KEY}", "$KEY {env:KEY}");
    }
}
