//! `portion stats`: records by endpoint, by request, or by experiment arm. Notes go to stderr, so that piped
//! output contains the result alone.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use portion_config::{Config, find};
use portion_core::event::Outcome as Served;
use portion_core::policy::MetadataStyle;
use portion_telemetry::advise::{Advice, PageSequences};
use portion_telemetry::read::{Filter, ReadError, Reader, Retention, star_glob};
use portion_telemetry::show::{self, Format, Output, grouped};
use portion_telemetry::timestamp::{self, readable};

use super::CommandResult;
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{folded, for_stdout, reported, width};
use crate::run::setup::EndpointRuleLookup;

const AFTER_HELP: &str = "\
Examples:
  portion stats --since 1h
  portion stats --requests --endpoint 'list_*' --outcome paginated --format csv
  portion stats --experiment --since 7d
  portion stats --advise --since 7d";

/// Largest number of requests that advice is based on, the newest first.
const MAX_ADVICE_REQUESTS: usize = 200_000;

/// Options of `portion stats`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Show requests one by one, newest first
    #[arg(long, conflicts_with_all = ["experiment", "advise"])]
    requests: bool,
    /// Export requests as telemetry records of the data model of rental servers; `--model snake`: with names in snake case
    #[arg(long, value_name = "STYLE", num_args = 0..=1, default_missing_value = "camel", value_parser = parse_style, conflicts_with_all = ["requests", "experiment", "advise"])]
    model: Option<MetadataStyle>,
    /// Compare the arms of experiments
    #[arg(long, conflicts_with = "advise")]
    experiment: bool,
    /// List endpoints with many follow-ups on lists, and a better pageSize
    #[arg(long, conflicts_with = "outcome")]
    advise: bool,
    /// Start of the time range: an age (90s, 2h, 7d), or a date in UTC or with an offset (2026-11-22, 2026-11-22T08:00,
    /// 2026-11-22T08:00:00+01:00)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<u64>,
    /// End of the time range, exclusive
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<u64>,
    /// Endpoints by name: * for any characters, SERVER/NAME for one server, /NAME for one without a name
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Outcome of the request: untouched, unshaped, paginated, summarized, chunked, queried, projected, raw,
    /// capped, expired or refused
    #[arg(long, value_name = "NAME", value_parser = parse_outcome)]
    outcome: Option<Served>,
    /// Maximum rows
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Output format: table, json or csv
    #[arg(long, value_name = "NAME", default_value = "table")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Telemetry file (default: from the configuration)
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Prints the statistics.
pub(crate) fn run(options: &Options) -> CommandResult {
    let Options { since, until, endpoint, outcome, limit, .. } = options;
    let is_json = options.json || options.model.is_some() && options.format == Format::Table;
    let output = Output {
        format: if is_json { Format::Json } else { options.format },
        max_width: width(),
        key_style: options.model.unwrap_or_default(),
    };
    let limit = limit.or(options.requests.then_some(100));
    let shows_requests = options.requests || options.model.is_some();
    let (endpoint, outcome) = (endpoint.as_deref().map(star_glob), *outcome);
    let filter = Filter { since: *since, until: *until, endpoint, outcome, limit, ..Filter::default() };
    let reader = Reader::open(&telemetry_file(options.telemetry.as_deref(), options.config.as_deref())?)?;
    let retention = reader.retention()?;
    let single = options.advise || options.experiment || shows_requests || outcome.is_some();
    let of = if single { filter.clone() } else { retention.rounded(&filter) };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let (text, empty) = if options.advise {
        let (config, _) = Config::load(&find(options.config.as_deref(), Vec::new())?, 0)?;
        let advice = advice(&reader, &of, config)?;
        (show::advice(&advice, output), false)
    } else if options.experiment {
        let comparisons = reader.experiment(&of)?;
        (show::comparisons(&comparisons, output), comparisons.is_empty())
    } else if shows_requests {
        let mut rows = match options.model {
            Some(_) => show::Requests::of_model(output),
            None => show::Requests::new(output),
        };
        let mut empty = true;
        reader.each(&of, |record| {
            empty = false;
            let row = rows.row(&record);
            if written.is_ok() {
                written = out.write_all(printed(&row, output).as_bytes());
            }
        })?;
        (rows.end(), empty)
    } else {
        let endpoints = reader.endpoints(&of)?;
        (show::endpoints(&endpoints, output), endpoints.is_empty())
    };
    let text = printed(&text, output);
    written = written.and_then(|()| out.write_all(text.as_bytes())).and_then(|()| out.flush());
    for note in notes(
        &retention,
        StatsResult { requested: &filter, effective: &of, uses_records: single, is_empty: empty },
    ) {
        crate::cli::terminal::print_stderr!("portion: {note}");
    }
    reported(written, None, ExitCode::SUCCESS)
}

/// Returns a text as stdout gets it. The notes below a table are folded; its rows fit the terminal.
fn printed(text: &str, output: Output) -> Cow<'_, str> {
    if output.format == Format::Table { folded(text).into() } else { for_stdout(text) }
}

/// Returns the telemetry file: the given one, or that of the configuration.
pub(crate) fn telemetry_file(named: Option<&Path>, config: Option<&Path>) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(file) = named {
        return Ok(file.to_owned());
    }
    let (config, _) = Config::load(&find(config, Vec::new())?, 0)?;
    Ok(config.telemetry(find::telemetry_file).ok_or("telemetry is off: nothing is recorded")?)
}

fn advice(reader: &Reader, filter: &Filter, config: Config) -> Result<Vec<Advice>, ReadError> {
    let (mut walks, obeyed) = (PageSequences::default(), EndpointRuleLookup::new(config));
    let (mut read, mut oldest) = (0, 0);
    reader.each(&Filter { limit: Some(MAX_ADVICE_REQUESTS), ..filter.clone() }, |record| {
        (read, oldest) = (read + 1, record.at);
        walks.add(&record);
    })?;
    if read == MAX_ADVICE_REQUESTS {
        crate::cli::terminal::print_stderr!(
            "portion: the advice uses the newest {} requests, since {}",
            grouped(read as u64),
            readable(oldest)
        );
    }
    // Those of unknown clients.
    let mut advice =
        walks.advise(|endpoint| obeyed.rule_for(endpoint).policy_for_client(None).policy.clone());
    advice.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(advice)
}

/// Returns the time in microseconds since 1970.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    timestamp::parse_timestamp(text, SystemTime::now())
}

fn parse_style(name: &str) -> Result<MetadataStyle, String> {
    MetadataStyle::from_name(name).ok_or_else(|| format!("use one of {}", MetadataStyle::NAMES.join(", ")))
}

fn parse_outcome(name: &str) -> Result<Served, String> {
    Served::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Served::ALL.iter().map(|outcome| outcome.name()).collect();
        format!("use one of {}", names.join(", "))
    })
}

/// A query and its result.
#[derive(Clone, Copy, Debug)]
struct StatsResult<'a> {
    requested: &'a Filter,
    /// Actual time range, if it differs.
    effective: &'a Filter,
    /// True if it is computed from single requests alone.
    uses_records: bool,
    /// True if the result is empty.
    is_empty: bool,
}

/// Returns the notes.
fn notes(retention: &Retention, answer: StatsResult<'_>) -> Vec<String> {
    let StatsResult { requested, effective: of, uses_records: single, is_empty: empty } = answer;
    let mut notes = Vec::new();
    if empty {
        notes.push(match retention.span() {
            None => "nothing is recorded yet".to_owned(),
            Some(span) => format!(
                "no request matches; there are requests from {} to {}",
                readable(*span.start()),
                readable(*span.end())
            ),
        });
    }
    let Some(since) =
        retention.records_since().filter(|since| requested.since.is_none_or(|from| from < *since))
    else {
        return notes;
    };
    let since = readable(since);
    if single {
        notes.push(format!(
            "requests since {since}; of older ones only totals are stored: use portion stats without --requests, \
             --outcome, --experiment and --advise"
        ));
    } else if requested != of {
        let from = of.since.map(|from| format!(" from {}", readable(from))).unwrap_or_default();
        let to = of.until.map(|to| format!(" to {}", readable(to))).unwrap_or_default();
        notes.push(format!("time range{from}{to}; of requests before {since} only totals are stored"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_what_is_whole() {
        let filter = Filter::default();
        let answer =
            StatsResult { requested: &filter, effective: &filter, uses_records: false, is_empty: false };
        assert_eq!(notes(&Retention::default(), answer), [] as [&str; 0]);
        assert_eq!(
            notes(&Retention::default(), StatsResult { is_empty: true, ..answer }),
            ["nothing is recorded yet"]
        );
    }
}
