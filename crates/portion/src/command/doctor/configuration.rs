//! Checks Portion's own configuration, its store and its records.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_config::origin::Origin;
use portion_config::settings::{Setting, Settings};
use portion_config::{Config, Warnings, find, user_dirs};
use portion_telemetry::read::{Filter, ReadError, Reader};
use portion_text::glob;
use portion_text::spelling::closest_name;

use super::finding::{Finding, Level, edit_command, shell_path, shell_word};
use super::start::Started;
use crate::storage::probe_shared_store;

/// Age of the records that are considered.
const RECENT: Duration = Duration::from_hours(24 * 7);
/// Endpoints with oversized results that are listed.
const MAX_ENDPOINTS: usize = 5;

/// Loads the configuration, and returns it if it is valid.
pub(super) fn check(named: Option<&Path>, findings: &mut Vec<Finding>) -> Option<Config> {
    let fix = match named {
        Some(file) => format!("portion config check {}", shell_path(file)),
        None => "portion config check".to_owned(),
    };
    let invalid = |message: String| {
        Finding::new(Level::Error, "configuration", "configuration", message).with_fix(&*fix)
    };
    let loaded = find(named, Vec::new())
        .map_err(|error| error.to_string())
        .and_then(|sources| Config::load(&sources, 0).map_err(|error| error.to_string()));
    let (config, Warnings(warnings)) = match loaded {
        Ok(loaded) => loaded,
        Err(message) => {
            findings.push(invalid(message));
            return None;
        }
    };
    let subject = match config.file() {
        Some(file) => file.display().to_string(),
        None => "configuration".to_owned(),
    };
    for warning in &warnings {
        let finding = Finding::new(Level::Warning, "configuration", subject.clone(), warning.to_string());
        findings.push(finding.with_fix(&*fix));
    }
    if warnings.is_empty() {
        let message = if config.file().is_some() { "valid" } else { "no file: the defaults apply" };
        findings.push(Finding::new(Level::Ok, "configuration", subject, message));
    }
    Some(config)
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
    let finding = match user_dirs::snapshot_dir() {
        None => Finding::new(Level::Error, "store", "store", "there is no home directory for its files")
            .with_fix("export HOME=/path/of/your/home"),
        Some(folder) => match is_writable(&folder) {
            Ok(()) => Finding::new(Level::Ok, "store", folder.display().to_string(), "writable"),
            Err(error) => {
                let path = folder.display().to_string();
                let fix = format!("mkdir -p {0} && chmod u+rwx {0}", shell_word(&path));
                Finding::new(Level::Error, "store", path, format!("cannot be written: {error}")).with_fix(fix)
            }
        },
    };
    findings.push(finding);
}

fn is_writable(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

/// Reports endpoints whose results recently exceeded the budget, and returns the names of all recorded endpoints.
pub(super) fn check_records(config: &Config, findings: &mut Vec<Finding>) -> Vec<String> {
    let Some(file) = config.telemetry(user_dirs::telemetry_file) else {
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
            findings.push(match records_command(&error, &file) {
                Some(command) => finding.with_fix(command),
                None => finding,
            });
            return Vec::new();
        }
    };
    let requests: u64 = recent.iter().map(|traffic| traffic.stats.requests).sum();
    findings.push(Finding::new(Level::Ok, "records", subject, format!("{requests} requests in 7 days")));
    recent.retain(|traffic| traffic.stats.oversized > 0);
    recent.sort_by_key(|traffic| std::cmp::Reverse(traffic.stats.oversized));
    for traffic in recent.iter().take(MAX_ENDPOINTS) {
        let (oversized, sized) = (traffic.stats.oversized, traffic.stats.sized);
        let message = format!("{oversized} of {sized} results in 7 days exceeded the budget");
        let name = &traffic.endpoint.name;
        let fix = format!("portion stats --requests --since 7d --endpoint {}", shell_word(name));
        findings.push(Finding::new(Level::Info, "oversized", name.clone(), message).with_fix(fix));
    }
    let names = all.into_iter().map(|traffic| traffic.endpoint);
    names
        .flat_map(|endpoint| {
            let full = endpoint.upstream.map(|upstream| format!("{upstream}/{}", endpoint.name));
            full.into_iter().chain([endpoint.name])
        })
        .collect()
}

/// Returns the command after which records can be written and read again, if there is one.
fn records_command(error: &ReadError, file: &Path) -> Option<String> {
    let path = shell_path(file);
    match error {
        ReadError::Foreign(_) | ReadError::Database(_) => Some(format!("mv {path} {path}.damaged")),
        ReadError::Unreadable { .. } => Some(format!("chmod u+rw {path}")),
        ReadError::Missing(_) | ReadError::Newer { .. } | ReadError::Older(_) => None,
    }
}

/// A rule for endpoints of the configuration file.
struct FileRule<'a> {
    upstream: Option<&'a str>,
    pattern: &'a str,
    settings: &'a Settings,
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
        server.tools.iter().flat_map(|tool| [tool.clone(), format!("{}/{tool}", server.name)])
    });
    let names: Vec<String> = listed.chain(recorded.iter().cloned()).collect();
    let shared = config.endpoints().map(|(pattern, settings)| FileRule { upstream: None, pattern, settings });
    let own = config.upstreams().iter().flat_map(|upstream| {
        let rule = |(pattern, settings)| FileRule { upstream: Some(&*upstream.name), pattern, settings };
        upstream.endpoints().map(rule)
    });
    for rule in shared.chain(own) {
        let names: Vec<&str> = names.iter().filter_map(|name| rule.own_name(name)).collect();
        if !names.is_empty() && !names.iter().any(|name| glob::matches(rule.pattern, name)) {
            findings.push(rule.unmatched(&names).with_fix(edit_command(file)));
        }
    }
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

/// Returns the command with which a user sets `catalog: lazy` in the configuration.
pub(super) fn lazy_catalog_command(config: &Config) -> String {
    if let Some(file) = config.file() {
        return edit_command(file);
    }
    let folder = user_dirs::config_dir().unwrap_or_default();
    let file = folder.join(find::FILE_NAMES[0]);
    format!("mkdir -p {} && echo 'catalog: lazy' > {}", shell_path(&folder), shell_path(&file))
}
