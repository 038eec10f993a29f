//! `portion stats`: what was served, by endpoint, request by request, or arm by arm.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use portion_config::{Config, find, places};
use portion_core::event::Outcome as Served;
use portion_telemetry::moment;
use portion_telemetry::read::{Filter, Reader};
use portion_telemetry::show::{self, Format};

use super::Outcome;
use crate::options::FILE_HELP;

const AFTER_HELP: &str = "\
Examples:
  portion stats --since 1h
  portion stats --requests --endpoint 'list_*' --outcome paginated --format csv
  portion stats --experiment --since 7d";

/// Options of `portion stats`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Show requests one by one, the newest first
    #[arg(long, conflicts_with = "experiment")]
    requests: bool,
    /// Hold the arms of experiments against each other
    #[arg(long)]
    experiment: bool,
    /// From that time on: how long ago (90s, 2h, 7d), or a date (2026-11-22, 2026-11-22T08:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<u64>,
    /// Before that time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<u64>,
    /// Endpoints of that name; * is anything, SERVER/NAME one of several servers'
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// What became of the request: untouched, unshaped, paginated, summarized, chunked, queried, projected, raw,
    /// capped, expired or refused
    #[arg(long, value_name = "NAME", value_parser = outcome)]
    outcome: Option<Served>,
    /// How many rows at most
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// The form: table, json or csv
    #[arg(long, value_name = "NAME", default_value = "table")]
    format: Format,
    /// The file of records (default: what the configuration says)
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Prints it.
pub(crate) fn run(options: &Options) -> Outcome {
    let Options { since, until, endpoint, outcome, limit, format, .. } = options;
    let limit = limit.or(options.requests.then_some(100));
    let (endpoint, outcome) = (endpoint.clone(), *outcome);
    let filter = Filter { since: *since, until: *until, endpoint, outcome, limit, ..Filter::default() };
    let file = if let Some(file) = &options.telemetry {
        file.clone()
    } else {
        let (config, _) = Config::load(&find(options.config.as_deref(), Vec::new())?, 0)?;
        config.telemetry(places::telemetry).ok_or("nothing is recorded: telemetry is off")?
    };
    let reader = Reader::open(&file)?;
    let text = if options.experiment {
        show::comparisons(&reader.experiment(&filter)?, *format)
    } else if options.requests {
        show::requests(&reader.requests(&filter)?, *format)
    } else {
        show::endpoints(&reader.endpoints(&filter)?, *format)
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Microseconds since 1970.
fn moment(text: &str) -> Result<u64, String> {
    moment::moment(text, SystemTime::now())
}

fn outcome(name: &str) -> Result<Served, String> {
    Served::named(name).ok_or_else(|| {
        let names: Vec<&str> = Served::ALL.iter().map(|outcome| outcome.name()).collect();
        format!("it is one of {}", names.join(", "))
    })
}
