//! Clients, and the files in which they keep their servers, by operating system.
//!
//! ```
//! use portion_install::client::Client;
//!
//! assert_eq!(Client::ALL.into_iter().find(|client| client.name() == "zed"), Some(Client::Zed));
//! ```

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
        let user = user_files(self, places).into_iter().map(|path| (path, false));
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

/// Operating system, as far as it determines paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// Directories of the user, the directory of the project, and variables of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Operating system.
    pub platform: Platform,
    /// Home directory.
    pub home: PathBuf,
    /// `XDG_CONFIG_HOME`, or `.config` in the home directory.
    pub xdg_config: PathBuf,
    /// `APPDATA` of Windows.
    pub roaming: PathBuf,
    /// `LOCALAPPDATA` of Windows.
    pub local: PathBuf,
    /// The working directory.
    pub project: PathBuf,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex_home: Option<PathBuf>,
}

impl Places {
    /// Returns the places of this process; `None` without a home directory.
    pub fn from_environment() -> Option<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let platform = if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::MacOs
        } else {
            Platform::Linux
        };
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let data = home.join("AppData");
        Some(Self {
            platform,
            xdg_config: variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            roaming: variable("APPDATA").unwrap_or_else(|| data.join("Roaming")),
            local: variable("LOCALAPPDATA").unwrap_or_else(|| data.join("Local")),
            project: std::env::current_dir().unwrap_or_default(),
            claude_config_dir: variable("CLAUDE_CONFIG_DIR"),
            codex_home: variable("CODEX_HOME"),
            home,
        })
    }

    /// Returns the directory in which applications keep their data.
    fn applications(&self) -> PathBuf {
        match self.platform {
            Platform::Linux => self.xdg_config.clone(),
            Platform::MacOs => self.home.join("Library").join("Application Support"),
            Platform::Windows => self.roaming.clone(),
        }
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

/// Returns the files of the user.
fn user_files(client: Client, places: &Places) -> Vec<PathBuf> {
    let home = |parts: &[&str]| vec![join(&places.home, parts)];
    match client {
        Client::ClaudeDesktop => {
            let name = "claude_desktop_config.json";
            let mut files = vec![join(&places.applications(), &["Claude", name])];
            if places.platform == Platform::Windows {
                // Installed from the store, it sees a directory of its own.
                let package = ["Packages", "Claude_*", "LocalCache", "Roaming", "Claude", name];
                files.push(join(&places.local, &package));
            }
            files
        }
        Client::ClaudeCode => {
            vec![places.claude_config_dir.as_ref().unwrap_or(&places.home).join(".claude.json")]
        }
        Client::Cursor => home(&[".cursor", "mcp.json"]),
        Client::VsCode => {
            let editions = ["Code", "Code - Insiders", "VSCodium"];
            let user = editions.map(|edition| join(&places.applications(), &[edition, "User"]));
            let files = |user: PathBuf| [user.join("mcp.json"), join(&user, &["profiles", "*", "mcp.json"])];
            user.into_iter().flat_map(files).collect()
        }
        Client::Codex => {
            let folder = places.codex_home.clone().unwrap_or_else(|| places.home.join(".codex"));
            vec![folder.join("config.toml")]
        }
        Client::GeminiCli => home(&[".gemini", "settings.json"]),
        Client::Windsurf => home(&[".codeium", "windsurf", "mcp_config.json"]),
        Client::Zed => match places.platform {
            Platform::Linux => vec![join(&places.xdg_config, &["zed", "settings.json"])],
            Platform::MacOs => home(&[".config", "zed", "settings.json"]),
            Platform::Windows => vec![join(&places.roaming, &["Zed", "settings.json"])],
        },
        Client::CopilotCli => home(&[".copilot", "mcp-config.json"]),
        Client::OpenCode => {
            let folder = match places.platform {
                Platform::Linux => places.xdg_config.join("opencode"),
                Platform::MacOs | Platform::Windows => join(&places.home, &[".config", "opencode"]),
            };
            vec![folder.join("opencode.json"), folder.join("opencode.jsonc")]
        }
    }
}

fn join(base: &Path, parts: &[&str]) -> PathBuf {
    parts.iter().fold(base.to_owned(), |path, part| path.join(part))
}
