//! Clients, and the files in which they keep their servers.
//!
//! ```
//! use portion_install::client::Client;
//!
//! assert_eq!(Client::ALL.into_iter().find(|client| client.name() == "zed"), Some(Client::Zed));
//! ```

mod locations;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use locations::{Places, Platform};

use crate::file::{Record, is_present};
use crate::format::Format;

/// A program that starts MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// GitHub Copilot CLI.
    CopilotCli,
    /// `OpenCode`.
    OpenCode,
}

/// Facts about a client.
struct ClientFacts {
    name: &'static str,
    title: &'static str,
    format: Format,
    /// Files of a project, relative to its directory.
    project_files: &'static [&'static str],
}

/// A file in which a client keeps servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Client that reads it; `None` for a file of an unknown one.
    pub client: Option<Client>,
    /// Path of the file. A component may be a pattern with `*`.
    pub path: PathBuf,
    /// True if the file belongs to a project, and may be shared with others.
    pub is_project: bool,
    /// Place of the servers.
    pub format: Format,
}

impl ConfigFile {
    /// Creates a file of a user, which is written as its client writes it.
    pub fn new(client: Option<Client>, path: PathBuf) -> Self {
        let format = client.map_or_else(|| Format::of_file(&path), Client::format);
        Self { client, path, is_project: false, format }
    }
}

impl From<&Record> for ConfigFile {
    fn from(record: &Record) -> Self {
        Self::new(record.client.as_deref().and_then(Client::from_name), record.file.clone())
    }
}

impl Client {
    /// All clients.
    pub const ALL: [Self; 10] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::GeminiCli,
        Self::Windsurf,
        Self::Zed,
        Self::CopilotCli,
        Self::OpenCode,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the name of the product.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Returns the client of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// Returns the format of its files.
    pub fn format(self) -> Format {
        self.facts().format
    }

    fn facts(self) -> ClientFacts {
        let facts = |name, title, format, project_files| ClientFacts { name, title, format, project_files };
        match self {
            Self::ClaudeDesktop => facts("claude-desktop", "Claude Desktop", Format::MCP_SERVERS, &[]),
            Self::ClaudeCode => facts("claude-code", "Claude Code", Format::CLAUDE_CODE, &[".mcp.json"]),
            Self::Cursor => facts("cursor", "Cursor", Format::MCP_SERVERS, &[".cursor/mcp.json"]),
            Self::VsCode => facts("vscode", "VS Code", Format::VS_CODE, &[".vscode/mcp.json"]),
            Self::Codex => facts("codex", "Codex", Format::CODEX, &[".codex/config.toml"]),
            Self::GeminiCli => {
                facts("gemini-cli", "Gemini CLI", Format::GEMINI_CLI, &[".gemini/settings.json"])
            }
            Self::Windsurf => facts("windsurf", "Windsurf", Format::WINDSURF, &[]),
            Self::Zed => facts("zed", "Zed", Format::ZED, &[".zed/settings.json"]),
            Self::CopilotCli => facts("copilot-cli", "GitHub Copilot CLI", Format::MCP_SERVERS, &[]),
            Self::OpenCode => {
                facts("opencode", "OpenCode", Format::OPEN_CODE, &["opencode.json", "opencode.jsonc"])
            }
        }
    }

    /// Returns the files in which the client may keep servers, whether they exist or not.
    pub fn candidates(self, places: &Places) -> Vec<ConfigFile> {
        let user = locations::user_files(self, places).into_iter().map(|path| (path, false));
        let project = self.facts().project_files.iter().map(|name| (places.project.join(name), true));
        let file =
            |(path, is_project)| ConfigFile { client: Some(self), path, is_project, format: self.format() };
        user.chain(project).map(file).collect()
    }

    /// Returns the files that exist, patterns expanded.
    pub fn files(self, places: &Places) -> Vec<ConfigFile> {
        let mut files: Vec<ConfigFile> = Vec::new();
        for candidate in self.candidates(places) {
            for path in existing(&candidate.path) {
                // The project can be the home directory.
                if !files.iter().any(|file| file.path == path) {
                    files.push(ConfigFile { path, ..candidate.clone() });
                }
            }
        }
        files
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// Returns the existing paths of a pattern: a component `PREFIX*` stands for all directories that begin with PREFIX.
fn existing(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        let Some(prefix) = name.strip_suffix('*') else {
            paths.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let mut expanded = Vec::new();
        for path in &paths {
            match std::fs::read_dir(path) {
                Ok(entries) => {
                    let found = entries.flatten().map(|entry| entry.path()).filter(|entry| {
                        let name = entry.file_name().unwrap_or_default();
                        name.to_string_lossy().starts_with(prefix) && entry.is_dir()
                    });
                    expanded.extend(found);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // A path below it cannot be read either, and says why.
                Err(_) => expanded.push(path.join(component)),
            }
        }
        expanded.sort();
        paths = expanded;
    }
    paths.retain(|path| is_present(path));
    paths
}
