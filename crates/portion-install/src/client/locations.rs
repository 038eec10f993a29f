//! Paths of the clients' files, by operating system.

use std::path::{Path, PathBuf};

use super::Client;

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

/// Returns the files of the user.
pub(super) fn user_files(client: Client, places: &Places) -> Vec<PathBuf> {
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
