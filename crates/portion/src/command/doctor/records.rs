//! Checks the file with the records, and lists endpoints whose results exceeded the budget.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_config::settings::Origin;
use portion_config::{Config, find};
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Traffic};
use portion_text::display::counted;

use super::configuration::origin_command;
use super::finding::{Finding, Level, shell_path, shell_word};

/// Age of the records that are considered.
const RECENT: Duration = Duration::from_hours(24 * 7);
/// Endpoints with oversized results that are listed.
const MAX_ENDPOINTS: usize = 5;

/// Reports endpoints whose results recently exceeded the budget, and returns the names of all recorded endpoints.
pub(super) fn check(config: &Config, findings: &mut Vec<Finding>) -> Vec<String> {
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
