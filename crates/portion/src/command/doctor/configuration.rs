//! Checks Portion's own configuration, its store and its records.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_config::{Config, Warnings, find, user_dirs};
use portion_telemetry::read::{Filter, ReadError, Reader};
use portion_text::glob;

use super::finding::{Finding, Level, shell_word};
use super::start::Started;

/// Age of the records that are considered.
const RECENT: Duration = Duration::from_hours(24 * 7);
/// Endpoints with oversized results that are listed.
const MAX_ENDPOINTS: usize = 5;

/// Loads the configuration, and returns it if it is valid.
pub(super) fn check(named: Option<&Path>, findings: &mut Vec<Finding>) -> Option<Config> {
    let fix = match named {
        Some(file) => format!("portion config check {}", shell_word(&file.display().to_string())),
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

/// Checks that the store of payloads can be written.
pub(super) fn check_store(config: &Config, findings: &mut Vec<Finding>) {
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
            findings.push(finding.with_fix("portion stats"));
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

/// Reports patterns of endpoints that match no listed tool and no recorded endpoint.
pub(super) fn check_rules(
    config: &Config,
    servers: &[Started],
    recorded: &[String],
    findings: &mut Vec<Finding>,
) {
    let listed = servers.iter().flat_map(|server| {
        server.tools.iter().flat_map(|tool| [tool.clone(), format!("{}/{tool}", server.name)])
    });
    let names: Vec<String> = listed.chain(recorded.iter().cloned()).collect();
    if names.is_empty() {
        return;
    }
    for (pattern, _) in config.endpoints() {
        if !names.iter().any(|name| glob::matches(pattern, name)) {
            let message = "matches no tool of a client's server and no recorded endpoint";
            let fix = format!("portion config show --origin --endpoint {}", shell_word(pattern));
            let subject = format!("endpoints: {pattern}");
            findings.push(Finding::new(Level::Warning, "rule", subject, message).with_fix(fix));
        }
    }
}
