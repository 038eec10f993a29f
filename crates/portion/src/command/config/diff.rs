//! `portion config diff`: the effect of another file, by endpoint.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portion_config::{Config, diff, find};
use portion_gateway::rules::EndpointRule;
use portion_telemetry::read::{Endpoint, Filter, Reader};
use portion_telemetry::show::{self, Format, Output};
use portion_telemetry::what_if::{Forecast, Limits, forecast};
use serde_json::json;

use super::sources::{changes_json, format_changes, print, print_json, sources};
use crate::cli::failure::UsageError;
use crate::cli::terminal::{folded, width};
use crate::command::CommandResult;
use crate::run::setup::EndpointRuleLookup;

/// Largest number of recorded requests that are considered, the newest first.
const MAX_REQUESTS: usize = 100_000;

/// Options of `portion config diff`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// File to compare with
    new: PathBuf,
    /// Estimate the effect on recorded requests
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    against: Option<Baseline>,
}

/// Configuration that the other file is compared with.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Baseline {
    /// Recorded requests.
    Telemetry,
}

pub(super) fn run(named: Option<&Path>, options: &Options, as_json: bool) -> CommandResult {
    let (old, _) = Config::load(&sources(named, None)?, 0)?;
    let new = sources(Some(&options.new), None).map_err(|unreadable| {
        let (path, source) = (unreadable.path.display(), &unreadable.source);
        UsageError::from(format!(
            "cannot read {path}: {source}; name the file to compare with: portion config diff FILE"
        ))
    })?;
    let (new, _) = Config::load(&new, 0)?;
    let changes = diff(&old, &new);
    let forecasts = match options.against {
        Some(Baseline::Telemetry) => Some(forecasts(old, new)?),
        None => None,
    };
    if as_json {
        let forecasts = forecasts.as_deref().map(show::forecast_values);
        return print_json(&json!({ "changes": changes_json(&changes), "forecasts": forecasts }));
    }
    let mut out = if changes.is_empty() { "no differences\n".into() } else { format_changes(&changes) };
    if let Some(forecasts) = forecasts {
        out.push('\n');
        let output = Output { max_width: width(), ..Format::Table.into() };
        out.push_str(&folded(&show::forecasts(&forecasts, output)));
    }
    print(&out)
}

/// Estimates the effect of the new configuration on the recorded requests.
fn forecasts(old: Config, new: Config) -> Result<Vec<Forecast>, Box<dyn Error>> {
    let file = old.telemetry(find::telemetry_file).ok_or("telemetry is off: nothing is recorded")?;
    let filter = Filter { limit: Some(MAX_REQUESTS), ..Filter::default() };
    let records = Reader::open(&file)?.requests(&filter)?;
    let by = |config: Config| {
        let obeyed = EndpointRuleLookup::new(config);
        move |endpoint: &Endpoint| endpoint_limits(&obeyed.rule_for(endpoint))
    };
    Ok(forecast(&records, by(old), by(new)))
}

/// Returns the limits of an endpoint for unknown clients.
fn endpoint_limits(rule: &EndpointRule) -> Limits {
    Limits { shaped: rule.shapes_any_session(), policy: rule.policy_for_client(None).policy.clone() }
}
