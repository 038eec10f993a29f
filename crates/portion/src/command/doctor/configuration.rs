//! Checks Portion's own configuration, its rules, its store and the file with the records.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_config::settings::{Origin, Setting, Settings};
use portion_config::{Config, Warnings, find};
use portion_gateway::store::disk::prepare_directory;
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Traffic};
use portion_text::display::counted;
use portion_text::names::{closest_name, matches_pattern};

use super::finding::{Finding, Level, edit_command, shell_path, shell_word};
use super::start::Started;
use crate::run::storage::probe_shared_store;

/// Age of the records that are considered.
const RECENT: Duration = Duration::from_hours(24 * 7);

/// Endpoints with oversized results that are listed.
const MAX_ENDPOINTS: usize = 5;

/// Loads the configuration, and returns it if it is valid.
pub(super) fn check(named: Option<&Path>, findings: &mut Vec<Finding>) -> Option<Config> {
    let error = |message: String| Finding::new(Level::Error, "configuration", "configuration", message);
    let sources = match find(named, Vec::new()) {
        Ok(sources) => sources,
        Err(unreadable) => {
            let fix = unreadable_command(named, &unreadable.path);
            findings.push(error(unreadable.to_string()).with_fix(fix));
            return None;
        }
    };
    let file = sources.file.as_ref().map(|(path, _)| path.as_path());
    let (config, Warnings(warnings)) = match Config::load(&sources, 0) {
        Ok(loaded) => loaded,
        Err(errors) => {
            let fix = errors.0.iter().find_map(|problem| origin_command(file, &problem.origin));
            findings.push(error(errors.to_string()).with_possible_fix(fix));
            return None;
        }
    };
    let subject = match config.file() {
        Some(file) => file.display().to_string(),
        None => "configuration".to_owned(),
    };
    for warning in &warnings {
        let finding = Finding::new(Level::Warning, "configuration", subject.clone(), warning.to_string());
        findings.push(finding.with_possible_fix(origin_command(file, &warning.origin)));
    }
    if warnings.is_empty() {
        let message = if config.file().is_some() { "valid" } else { "no file: the defaults apply" };
        findings.push(Finding::new(Level::Ok, "configuration", subject, message));
    }
    Some(config)
}

/// Returns the command with which a user changes a value of this origin.
pub(super) fn origin_command(file: Option<&Path>, origin: &Origin) -> Option<String> {
    match origin {
        Origin::File(..) => file.map(edit_command),
        Origin::Variable(name) => Some(format!("unset {name}")),
        Origin::Default | Origin::Profile(_) | Origin::Option(_) => None,
    }
}

/// Returns the command after which a configuration can be read.
fn unreadable_command(named: Option<&Path>, file: &Path) -> String {
    let is_found = named.is_none() && std::env::var_os(find::FILE_VARIABLE).is_none();
    match file.metadata() {
        // Containers make a directory in place of a file that is mounted and missing.
        Ok(found) if found.is_dir() && is_found => format!("rmdir {}", shell_path(file)),
        Ok(found) if found.is_file() && File::open(file).is_ok() => edit_command(file),
        Ok(found) if found.is_file() => format!("chmod u+r {}", shell_path(file)),
        _ if named.is_some() => "portion doctor".to_owned(),
        _ => format!("unset {}", find::FILE_VARIABLE),
    }
}

/// Checks that the store of snapshots can be written, or reached.
pub(super) fn check_store(config: &Config, findings: &mut Vec<Finding>) {
    if let Some(url) = config.shared_store() {
        let (shown, result) = probe_shared_store(config, url);
        findings.push(match result {
            Ok(()) => Finding::new(Level::Ok, "store", shown, "reachable"),
            Err(problem) => Finding::new(Level::Error, "store", shown, format!("cannot be used: {problem}")),
        });
        return;
    }
    if !config.has_file_store() {
        findings.push(Finding::new(Level::Ok, "store", "store", "in memory"));
        return;
    }
    let finding = match find::snapshot_dir() {
        None => Finding::new(Level::Error, "store", "store", "there is no home directory for its files")
            .with_fix("export HOME=/path/of/your/home"),
        Some(folder) => match is_writable(&folder) {
            Ok(()) => Finding::new(Level::Ok, "store", folder.display().to_string(), "writable"),
            Err(error) => unwritable(&folder, &error),
        },
    };
    findings.push(finding);
}

/// Returns the finding for a directory that cannot be written. An error that is not of the system names its remedy: the
/// directory belongs to another user, or others can write to it.
fn unwritable(folder: &Path, error: &io::Error) -> Finding {
    let path = folder.display().to_string();
    let is_of_system = error.kind() != io::ErrorKind::Other;
    let fix = is_of_system.then(|| format!("mkdir -p {0} && chmod 700 {0}", shell_word(&path)));
    Finding::new(Level::Error, "store", path, format!("cannot be used: {error}")).with_possible_fix(fix)
}

fn is_writable(folder: &Path) -> io::Result<()> {
    prepare_directory(folder)?;
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

/// A rule for endpoints of the configuration file.
struct FileRule<'a> {
    upstream: Option<&'a str>,
    pattern: &'a str,
    settings: &'a Settings,
}

impl FileRule<'_> {
    /// Returns the name of an endpoint as the pattern sees it; `None` if the rule is for another server.
    fn own_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        match self.upstream {
            Some(upstream) => name.strip_prefix(upstream)?.strip_prefix('/'),
            None => Some(name),
        }
    }

    fn unmatched(&self, names: &[&str]) -> Finding {
        let place = match self.settings.iter().next() {
            Some((_, Setting { origin: origin @ Origin::File(..), .. })) => format!("{origin}: "),
            _ => String::new(),
        };
        let hint = closest_name(self.pattern, names.iter().copied());
        let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let message =
            format!("{place}the rule matches no tool of a client's server and no recorded endpoint{hint}");
        let subject = match self.upstream {
            Some(upstream) => format!("upstreams.{upstream}.endpoints: {}", self.pattern),
            None => format!("endpoints: {}", self.pattern),
        };
        Finding::new(Level::Warning, "rule", subject, message)
    }
}

/// Reports patterns of endpoints that match no listed tool and no recorded endpoint.
pub(super) fn check_rules(
    config: &Config,
    servers: &[Started],
    recorded: &[String],
    findings: &mut Vec<Finding>,
) {
    let Some(file) = config.file() else { return };
    let listed = servers.iter().flat_map(|server| {
        server.tools.iter().flat_map(|tool| [tool.name.clone(), format!("{}/{}", server.name, tool.name)])
    });
    let names: Vec<String> = listed.chain(recorded.iter().cloned()).collect();
    let shared = config.endpoints().map(|(pattern, settings)| FileRule { upstream: None, pattern, settings });
    let own = config.upstreams().iter().flat_map(|upstream| {
        let rule = |(pattern, settings)| FileRule { upstream: Some(&*upstream.name), pattern, settings };
        upstream.endpoints().map(rule)
    });
    for rule in shared.chain(own) {
        let names: Vec<&str> = names.iter().filter_map(|name| rule.own_name(name)).collect();
        if !names.is_empty() && !names.iter().any(|name| matches_pattern(rule.pattern, name)) {
            findings.push(rule.unmatched(&names).with_fix(edit_command(file)));
        }
    }
}

/// Returns the command with which a user sets `catalog: lazy` in the configuration.
pub(super) fn lazy_catalog_command(config: &Config) -> String {
    if let Some(file) = config.file() {
        return edit_command(file);
    }
    let folder = find::config_dir().unwrap_or_default();
    let file = folder.join(find::FILE_NAMES[0]);
    format!("mkdir -p {} && echo 'catalog: lazy' > {}", shell_path(&folder), shell_path(&file))
}

/// Reports endpoints whose results recently exceeded the budget, and returns the names of all recorded endpoints.
pub(super) fn check_records(config: &Config, findings: &mut Vec<Finding>) -> Vec<String> {
    let Some(file) = config.telemetry(find::telemetry_file) else {
        findings.push(Finding::new(Level::Info, "records", "records", "off: nothing is recorded"));
        return Vec::new();
    };
    let subject = file.display().to_string();
    let since = SystemTime::now().checked_sub(RECENT).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.map(|age| u64::try_from(age.as_micros()).unwrap_or_default());
    let filter = Filter { since, ..Filter::default() };
    let read = Reader::open(&file)
        .and_then(|reader| Ok((reader.endpoints(&filter)?, reader.endpoints(&Filter::default())?)));
    let (mut recent, all) = match read {
        Ok(read) => read,
        Err(ReadError::Missing(_)) => {
            findings.push(Finding::new(Level::Info, "records", subject, "nothing is recorded yet"));
            return Vec::new();
        }
        Err(error) => {
            let finding = Finding::new(Level::Error, "records", subject, error.to_string());
            findings.push(finding.with_possible_fix(command(config, &error, &file)));
            return Vec::new();
        }
    };
    let requests: u64 = recent.iter().map(|traffic| traffic.stats.requests).sum();
    findings.push(Finding::new(
        Level::Ok,
        "records",
        subject,
        format!("{} in 7 days", counted(requests as usize, "request")),
    ));
    recent.retain(|traffic| traffic.stats.oversized > 0);
    recent.sort_by_key(|traffic| std::cmp::Reverse(traffic.stats.oversized));
    for traffic in recent.iter().take(MAX_ENDPOINTS) {
        let (oversized, sized) = (traffic.stats.oversized, traffic.stats.sized);
        let message = format!("{oversized} of {sized} results in 7 days exceeded the budget");
        let name = unambiguous_name(&traffic.endpoint, &all);
        let fix = format!("portion stats --requests --since 7d --endpoint {}", shell_word(&name));
        let subject = traffic.endpoint.to_string();
        findings.push(Finding::new(Level::Info, "oversized", subject, message).with_fix(fix));
    }
    let names = all.into_iter().map(|traffic| traffic.endpoint);
    names
        .flat_map(|endpoint| {
            let full = endpoint.upstream.map(|upstream| format!("{upstream}/{}", endpoint.name));
            full.into_iter().chain([endpoint.name])
        })
        .collect()
}

/// Returns the name by which `portion stats --endpoint` finds this endpoint, and none of the same name at another server.
fn unambiguous_name(endpoint: &Endpoint, all: &[Traffic]) -> String {
    let is_other = |other: &Endpoint| other.name == endpoint.name && other.upstream.is_some();
    if endpoint.upstream.is_none() && all.iter().any(|traffic| is_other(&traffic.endpoint)) {
        return format!("/{endpoint}");
    }
    endpoint.to_string()
}

/// Returns the command after which records can be written and read again, if there is one.
fn command(config: &Config, error: &ReadError, file: &Path) -> Option<String> {
    let path = shell_path(file);
    let move_away = || format!("mv {path} {path}.damaged");
    match error {
        // What the user has named may be a file of another program.
        ReadError::Foreign(_) => chosen_elsewhere(config).or_else(|| Some(move_away())),
        ReadError::Unreadable { .. } if file.is_dir() => {
            chosen_elsewhere(config).or_else(|| Some(move_away()))
        }
        ReadError::Database(_) => Some(move_away()),
        ReadError::Unreadable { .. } => Some(format!("chmod u+rw {path}")),
        ReadError::Missing(_) | ReadError::Newer { .. } | ReadError::Older(_) => None,
    }
}

/// Returns the command that changes the path, if it is configured.
fn chosen_elsewhere(config: &Config) -> Option<String> {
    match &config.top().get("telemetry")?.origin {
        Origin::Default | Origin::Profile(_) => None,
        origin => origin_command(config.file(), origin),
    }
}
