//! Checks the configuration files of clients, and collects the servers in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portion_config::Config;
use portion_gateway::rules::EndpointRules;
use portion_install::client::{Client, ConfigFile, Places};
use portion_install::document::{Entry, Launch, servers};
use portion_install::file::{Snapshot, State, is_present};
use portion_install::invocation::{Invocation, name_problem, recognise};
use portion_policy::client::{CLIENTS, ClientProfile, ResultLimit};
use portion_policy::endpoint::PolicySource as _;
use portion_telemetry::show::grouped;
use portion_text::display::printable_name;
use serde_json::Value;

use super::configuration::origin_command;
use super::finding::{Finding, Level, edit_command, shell_line, shell_path, shell_word};
use super::launch::directory_problem;
use crate::command::wrap;
use crate::run::setup::limits_from_environment;

/// A server that a client starts.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientServer {
    /// Name and client, for findings.
    pub(super) title: String,
    pub(super) name: String,
    pub(super) client: Option<Client>,
    /// Command line. References are written `${NAME}`, here and in the variables and the working directory.
    pub(super) words: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// File with further variables, as written.
    pub(super) env_file: Option<String>,
    /// Working directory, as written.
    pub(super) cwd: Option<String>,
    /// Folder that the client has open; relative paths begin there.
    pub(super) project: PathBuf,
    /// True if the file names the project of the server.
    pub(super) has_scope: bool,
    /// True if Portion is in front of it.
    pub(super) is_wrapped: bool,
    /// File with its entry.
    pub(super) file: PathBuf,
}

/// Checks all files that exist or cannot be read, and those that `portion install` has edited.
pub(super) fn check(
    places: &Places,
    state: Option<&State>,
    findings: &mut Vec<Finding>,
) -> Vec<ClientServer> {
    let mut files: Vec<ConfigFile> = Client::ALL.iter().flat_map(|client| client.files(places)).collect();
    let records = state.map(State::records).unwrap_or_default();
    for record in &records {
        let is_listed = files.iter().any(|file| is_same(&file.path, &record.file));
        if !is_listed && is_present(&record.file) {
            files.push(record.into());
        }
    }
    if files.is_empty() {
        let message = "no configuration file of a known client was found; portion install --file names the file of \
                       another client";
        findings.push(
            Finding::new(Level::Warning, "clients", "clients", message).with_fix("portion install --help"),
        );
    }
    let disabled = disabled_in_claude_code(places);
    let mut found = Vec::new();
    for file in files {
        let entries = match read(&file) {
            Ok(entries) => entries,
            Err(message) => {
                let subject = file.path.display().to_string();
                let finding = Finding::new(Level::Error, "client-file", subject, message);
                findings.push(finding.with_fix(edit_command(&file.path)));
                continue;
            }
        };
        for entry in &entries {
            let is_disabled = file.client == Some(Client::ClaudeCode)
                && entry.scope.is_none()
                && disabled.contains(&entry.name);
            if is_disabled || !entry.is_enabled {
                let (title, message) = (title(&file, &entry.name), "is disabled in its client: not checked");
                findings.push(Finding::new(Level::Info, "disabled", title, message));
            } else if let Some(server) = check_entry(&file, entry, &places.project, findings) {
                found.push(server);
            }
        }
        if let Some(record) = records.iter().find(|record| is_same(&file.path, &record.file)) {
            for name in &record.servers {
                check_kept(&file, name, &entries, findings);
            }
        }
    }
    found
}

/// Reports the limits of each client that has a server behind Portion, once for servers whose entries have no options that
/// change them.
pub(super) fn check_limits(servers: &[ClientServer], config: &Config, findings: &mut Vec<Finding>) {
    let mut reported: Vec<(Option<Client>, String)> = Vec::new();
    for server in servers.iter().filter(|server| server.is_wrapped) {
        let is_row = |row: &&ClientProfile| server.client.is_some_and(|client| client.name() == row.preset);
        let Some(client) = CLIENTS.iter().find(is_row).filter(|row| !row.limits.is_empty()) else { continue };
        let general = limits_finding(client, config);
        let at = server.words.iter().position(|word| word == "wrap").unwrap_or_default();
        let own = wrap::config_of(&server.words[at..]).map(|own| limits_finding(client, &own));
        let finding = match own {
            Some(own) if own.message != general.message => Finding { subject: server.title.clone(), ..own },
            _ => general,
        };
        let key = (server.client, finding.message.clone());
        if !reported.contains(&key) {
            reported.push(key);
            findings.push(finding);
        }
    }
}

/// Compares the limits of a client with those of the replies to it.
fn limits_finding(client: &'static ClientProfile, config: &Config) -> Finding {
    let rules = EndpointRules::new(Arc::new(config.endpoint_config(None)), limits_from_environment());
    let resolved = rules.resolve_client(client.name_patterns.first().copied());
    let policy = &rules.default_rule().policy_for_client(resolved).policy;
    // A preset may be a row of the same client for other models.
    let client = resolved.filter(|row| row.name_patterns == client.name_patterns).unwrap_or(client);
    let limits = client.limits.iter().map(|limit| shown(*limit)).collect::<Vec<_>>().join(" and ");
    let message = format!(
        "this client cuts at {limits} ({}); replies stay below {} bytes and {} tokens",
        client.overflow_behaviour,
        grouped(policy.hard_byte_limit as u64),
        grouped(policy.hard_cap as u64),
    );
    let room = client.reply_room();
    let fits = room.max_bytes.is_none_or(|max| policy.hard_byte_limit <= max)
        && room.max_tokens.is_none_or(|max| policy.hard_cap <= max);
    let finding = |level, message| Finding::new(level, "client-limits", client.title, message);
    let fix = config.top().get("preset").and_then(|set| origin_command(config.file(), &set.origin));
    match fix {
        _ if fits => finding(Level::Ok, message),
        Some(fix) => finding(Level::Warning, format!("{message}: preset auto lowers them")).with_fix(fix),
        None => finding(Level::Warning, message),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|path| path == other)
}

fn read(file: &ConfigFile) -> Result<Vec<Entry>, String> {
    let snapshot = Snapshot::read(&file.path).map_err(|error| error.to_string())?;
    let text = snapshot.text().map_err(|error| error.to_string())?;
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(Vec::new());
    }
    servers(text, file.format).map_err(|error| format!("{error}: fix the file"))
}

fn title(file: &ConfigFile, name: &str) -> String {
    match file.client {
        Some(client) => format!("{name} ({client})"),
        None => format!("{name} ({})", file.path.display()),
    }
}

/// Returns the servers that Claude Code leaves out in the working directory. It lists them in the file of the user, also
/// those of `.mcp.json`.
fn disabled_in_claude_code(places: &Places) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in Client::ClaudeCode.files(places).iter().filter(|file| !file.is_project) {
        let text = std::fs::read(&file.path).unwrap_or_default();
        let root: Value = serde_json::from_slice(&text).unwrap_or_default();
        let project = &root["projects"][&*places.project.to_string_lossy()];
        for list in ["disabledMcpServers", "disabledMcpjsonServers"] {
            let listed = project[list].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.extend(listed.map(str::to_owned));
        }
    }
    names
}

/// Returns the command that installs a server.
fn install_command(file: &ConfigFile, name: &str) -> String {
    let name = shell_word(name);
    match file.client {
        Some(client) if file.is_project => {
            format!("portion install {name} --project --client {}", client.name())
        }
        Some(client) => format!("portion install {name} --client {}", client.name()),
        None => format!("portion install {name} --file {}", shell_path(&file.path)),
    }
}

/// Returns the message about a server that Portion is not in front of, and the command that changes that.
fn to_install(file: &ConfigFile, name: &str, message: &str, options: &str) -> (String, String) {
    match name_problem(name) {
        None => (message.to_owned(), format!("{}{options}", install_command(file, name))),
        Some(problem) => (format!("{message}; {problem}"), edit_command(&file.path)),
    }
}

/// Checks an entry, and returns its server if it can be started.
fn check_entry(
    file: &ConfigFile,
    entry: &Entry,
    project: &Path,
    findings: &mut Vec<Finding>,
) -> Option<ClientServer> {
    let title = title(file, &entry.name);
    let scope = entry.scope.as_deref();
    if let Some((scope, problem)) =
        scope.and_then(|scope| Some((scope, directory_problem(Path::new(scope))?)))
    {
        let message = format!("belongs to {}, which {problem}: not checked", printable_name(scope));
        findings.push(Finding::new(Level::Info, "disabled", title, message));
        return None;
    }
    let command = match &entry.launch {
        Launch::Command(command) => command,
        Launch::Remote(_) => {
            let message = "has a URL: Portion is not in front of it";
            let (message, fix) = to_install(file, &entry.name, message, " --http");
            findings.push(Finding::new(Level::Info, "wrapped", title, message).with_fix(fix));
            return None;
        }
        Launch::Unsupported(reason) => {
            findings.push(Finding::new(
                Level::Info,
                "wrapped",
                title,
                format!("cannot be wrapped: {reason}"),
            ));
            return None;
        }
    };
    let words = command.words();
    let invocation = recognise(&words[0], &words[1..]);
    let is_wrapped = invocation != Invocation::Direct;
    if !is_wrapped {
        let (message, fix) = to_install(file, &entry.name, "Portion is not in front of it", "");
        findings.push(Finding::new(Level::Warning, "wrapped", title.clone(), message).with_fix(fix));
    } else if Path::new(&words[0]).is_absolute() && !Path::new(&words[0]).is_file() {
        findings.push(missing_program(file, entry, title, &words[0], &invocation));
        return None;
    }
    let with_braces = |text: &String| file.format.references.to_braces(text).into_owned();
    Some(ClientServer {
        title,
        name: entry.name.clone(),
        client: file.client,
        words: words.iter().map(with_braces).collect(),
        env: entry.env.iter().map(|(name, value)| (name.clone(), with_braces(value))).collect(),
        env_file: entry.env_file.clone(),
        cwd: entry.cwd.as_ref().map(with_braces),
        project: entry.scope.as_ref().map_or_else(|| project.to_owned(), PathBuf::from),
        has_scope: entry.scope.is_some(),
        is_wrapped,
        file: file.path.clone(),
    })
}

/// Reports an entry that starts Portion at a path where it is not.
fn missing_program(
    file: &ConfigFile,
    entry: &Entry,
    title: String,
    program: &str,
    invocation: &Invocation,
) -> Finding {
    let finding = |message: String| Finding::new(Level::Error, "wrapped", title, message);
    let program = printable_name(program);
    if matches!(invocation, Invocation::Installed(_)) && name_problem(&entry.name).is_none() {
        return finding(format!("{program} does not exist")).with_fix(install_command(file, &entry.name));
    }
    // `install` leaves entries that a user wrote, and those with a name that it does not take.
    let own = std::env::current_exe().map(|path| format!("; this Portion is {}", path.display()));
    let own = own.unwrap_or_default();
    finding(format!("{program} does not exist: write another path in line {}{own}", entry.line))
        .with_fix(edit_command(&file.path))
}

/// Reports a server that was wrapped and is not any more.
fn check_kept(file: &ConfigFile, name: &str, entries: &[Entry], findings: &mut Vec<Finding>) {
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let message = "was behind Portion, and is not in the file any more";
        findings.push(Finding::new(Level::Info, "dropped", title(file, name), message));
        return;
    };
    let Launch::Command(command) = &entry.launch else { return };
    let words = command.words();
    if recognise(&words[0], &words[1..]) == Invocation::Direct {
        let line = shell_line(words.iter().map(String::as_str));
        let message = format!("was behind Portion, but the file was written again since: {line}");
        let (message, fix) = to_install(file, name, &message, "");
        findings.push(Finding::new(Level::Warning, "dropped", title(file, name), message).with_fix(fix));
    }
}

fn shown(limit: ResultLimit) -> String {
    let (limit, unit) = match limit {
        ResultLimit::Tokens(limit) => (limit, "tokens"),
        ResultLimit::Characters(limit) => (limit, "characters"),
        ResultLimit::Bytes(limit) => (limit, "bytes"),
        ResultLimit::TotalBytes(limit) => (limit, "bytes, images included"),
    };
    format!("{} {unit}", grouped(limit as u64))
}
