//! `portion calibrate`: fits token counts to a model's charges, from the usage figures of its API log.

mod entry;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use portion_telemetry::calibration::{Calibration, MIN_REQUESTS, Observation, Observations};
use portion_text::display::counted;
use portion_tokens::{Factor, Tokenizer};
use serde_json::{Value, json};

use self::entry::{LogEntry, UnusableReason};
use super::CommandResult;
use crate::cli::failure::Failure;
use crate::cli::terminal::{folded, print_stdout, reported};

const AFTER_HELP: &str = "\
Examples:
  portion calibrate requests.jsonl
  portion calibrate --format json logs/*.jsonl
  zcat log.gz | portion calibrate --tokenizer claude -

An entry is an object with a request and the usage of its response, side by side or under `request` and `response`:
Anthropic messages and count_tokens, OpenAI chat completions and responses, or {\"text\": …, \"tokens\": …}.
Nothing is sent or stored.";

/// Why nothing can be fitted.
const NOTHING_USABLE: &str =
    "no entry has a request with the usage of its response: see portion calibrate --help";

/// Options of `portion calibrate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Log files, JSON Lines or a JSON array; `-` is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Tokenizer to fit, whatever models the log names
    #[arg(long, value_name = "NAME", value_parser = tokenizer_parser())]
    tokenizer: Option<Tokenizer>,
    /// Output format: text, with lines for portion.yaml; or json
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = ["text", "json"], hide_possible_values = true)]
    format: String,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Content of the logs.
#[derive(Default)]
struct LogScan {
    /// Samples by the name of the tokenizer.
    by_tokenizer: BTreeMap<&'static str, Observations>,
    unusable: BTreeMap<UnusableReason, SkippedEntries>,
}

/// Skipped entries.
struct SkippedEntries {
    count: u64,
    /// Log and line of the first.
    first_location: String,
}

impl LogScan {
    fn read_log(&mut self, log: impl BufRead, name: &str, forced: Option<Tokenizer>) -> io::Result<()> {
        entry::for_each_entry(log, |at, entry| {
            let usable = entry.and_then(|entry| LogEntry::from_json(&entry)).and_then(|entry| {
                let tokenizer = forced
                    .or_else(|| tokenizer_for_model(entry.model.as_deref()?))
                    .ok_or(UnusableReason::UnknownModel)?;
                Ok((tokenizer, observe(tokenizer, &entry)))
            });
            match usable {
                Ok((tokenizer, observation)) => {
                    self.by_tokenizer.entry(tokenizer.counter().name()).or_default().add(observation);
                }
                Err(why) => {
                    let first = || SkippedEntries { count: 0, first_location: format!("{name}:{at}") };
                    self.unusable.entry(why).or_insert_with(first).count += 1;
                }
            }
        })
    }
}

/// Prints the factor.
pub(crate) fn run(options: &Options) -> CommandResult {
    let mut found = LogScan::default();
    for path in &options.logs {
        let name = path.display().to_string();
        let read = open_log(path).and_then(|log| found.read_log(log, &name, options.tokenizer));
        read.map_err(|error| format!("cannot read {name}: {error}"))?;
    }
    let is_empty = found.by_tokenizer.is_empty();
    let text = if options.json || options.format == "json" {
        to_json_text(&found)
    } else {
        folded(&to_text(&found))
    };
    let printed = print_stdout(&text);
    if is_empty {
        crate::cli::terminal::print_stderr!("portion: {NOTHING_USABLE}");
    }
    reported(printed, None, if is_empty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the report as JSON. If no entry can be used, the failure is a member of it: stdout has one document.
fn to_json_text(found: &LogScan) -> String {
    let mut report = to_json(found);
    if found.by_tokenizer.is_empty() {
        report["error"] = Failure::from_message(NOTHING_USABLE).to_json();
    }
    format!("{report:#}\n")
}

fn tokenizer_parser() -> impl clap::builder::TypedValueParser<Value = Tokenizer> {
    let names = Tokenizer::ALL.map(|tokenizer| tokenizer.counter().name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Tokenizer>())
}

fn open_log(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path)?))
    })
}

/// Returns the sample of a request. The factor applies to the reference count, so that a margin stays a margin; for a family
/// without a reference it applies to the count itself.
fn observe(tokenizer: Tokenizer, entry: &LogEntry) -> Observation {
    let reference = tokenizer.reference_counter(Factor::ONE);
    let sum =
        |count: &dyn Fn(&str) -> usize| entry.texts.iter().map(|text| count(text)).sum::<usize>() as f64;
    let counted = sum(&|text| tokenizer.counter().count(text));
    let fitted = if tokenizer.is_length_based() { counted } else { sum(&|text| reference.count(text)) };
    Observation { fitted, counted, charged: entry.charged_tokens as f64 }
}

/// Returns the tokenizer of a model's family: `claude-…`, `gpt-4`, `openai/gpt-4o`, `us.anthropic.claude-…`.
fn tokenizer_for_model(model: &str) -> Option<Tokenizer> {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let is = |known: &[&str]| known.iter().any(|known| name.starts_with(known));
    if name.contains("claude") {
        Some(Tokenizer::Claude)
    } else if is(&["gpt-4o", "gpt-4.", "chatgpt-4o", "gpt-5", "gpt-6", "gpt-oss", "o1", "o3", "o4", "codex"])
    {
        Some(Tokenizer::O200k)
    } else if is(&["gpt-4", "gpt-3.5", "gpt-35"]) {
        Some(Tokenizer::Cl100k)
    } else {
        None
    }
}

/// Formats the report as text, with the lines for the configuration.
fn to_text(found: &LogScan) -> String {
    let mut out = String::new();
    for (name, observations) in &found.by_tokenizer {
        let _ = writeln!(out, "{name}, {}", counted(observations.len(), "request"));
        match observations.calibration() {
            Some(calibration) => write_figures(&mut out, &calibration),
            None => out.push_str(
                "  no factor: the log needs requests of several sizes whose charge grows with size\n",
            ),
        }
        out.push('\n');
    }
    if found.by_tokenizer.is_empty() {
        out.push_str("no usable request\n\n");
    }
    let several = found.by_tokenizer.len() > 1;
    for (name, observations) in &found.by_tokenizer {
        match advise(observations) {
            Advice::Factor(factor, calibration) => {
                let which = if several { format!(", for models of {name}") } else { String::new() };
                let _ = writeln!(out, "# portion.yaml{which}\ntokenizer: {name}\ntokenizerFactor: {factor}");
                if let Some(safe) =
                    Factor::from_f64(ceil_to_thousandth(calibration.safe)).filter(|safe| *safe > factor)
                {
                    let _ = writeln!(out, "# {safe} under-counts at most one request in twenty");
                }
            }
            Advice::TooFew(count) => {
                let _ = writeln!(out, "{name}: no advice: {count} of at least {MIN_REQUESTS} requests");
            }
            Advice::OutOfRange(factor) => {
                let range = format_args!("{} to {}", Factor::MIN, Factor::MAX);
                let _ =
                    writeln!(out, "{name}: no advice: {factor:.3} is outside {range}; check the tokenizer");
            }
            Advice::None => {}
        }
    }
    for (why, passed) in &found.unusable {
        let entries = counted(passed.count as usize, "unusable entry");
        let _ = writeln!(out, "{entries}: {why}; first at {}", passed.first_location);
    }
    out
}

/// Returns the report as JSON.
fn to_json(found: &LogScan) -> Value {
    let families: Vec<Value> =
        found.by_tokenizer.iter().map(|(name, observations)| family_json(name, observations)).collect();
    let unusable = found.unusable.iter().map(
        |(why, passed)| json!({ "reason": why.to_string(), "entries": passed.count, "first": passed.first_location }),
    );
    json!({ "families": families, "unusable": unusable.collect::<Vec<_>>() })
}

/// Returns the lines for the configuration.
enum Advice {
    Factor(Factor, Calibration),
    TooFew(usize),
    OutOfRange(f64),
    None,
}

fn advise(observations: &Observations) -> Advice {
    let Some(calibration) = observations.calibration() else { return Advice::None };
    let value = calibration.factor.value;
    match Factor::from_f64(value) {
        _ if observations.len() < MIN_REQUESTS => Advice::TooFew(observations.len()),
        Some(factor) => Advice::Factor(factor, calibration),
        None => Advice::OutOfRange(value),
    }
}

fn write_figures(out: &mut String, calibration: &Calibration) {
    let Calibration { factor, overhead, near_before, near_after, under, .. } = calibration;
    let range = factor.range.map(|(low, high)| format!(" (95 % interval {low:.3} to {high:.3})"));
    let _ = writeln!(out, "  factor         {:.3}{}", factor.value, range.unwrap_or_default());
    let _ = writeln!(out, "  overhead       {overhead:.0} tokens per request, not in replies");
    let near = (100.0 * near_before, 100.0 * near_after);
    let _ = writeln!(
        out,
        "  within 20 %    {:.0} % of requests without the factor, {:.0} % with it",
        near.0, near.1
    );
    let _ = writeln!(out, "  under-counted  {:.0} % of requests with the factor", 100.0 * under);
}

fn family_json(name: &str, observations: &Observations) -> Value {
    let calibration = observations.calibration();
    let of = |figure: fn(&Calibration) -> f64| calibration.as_ref().map(figure).map(round_to_thousandth);
    let range = calibration.and_then(|calibration| calibration.factor.range);
    let advised = match advise(observations) {
        Advice::Factor(factor, _) => Some(factor.as_f64()),
        Advice::TooFew(_) | Advice::OutOfRange(_) | Advice::None => None,
    };
    json!({
        "tokenizer": name,
        "requests": observations.len(),
        "factor": of(|calibration| calibration.factor.value),
        "factorLow": range.map(|(low, _)| round_to_thousandth(low)),
        "factorHigh": range.map(|(_, high)| round_to_thousandth(high)),
        "overheadTokens": of(|calibration| calibration.overhead),
        "nearBefore": of(|calibration| calibration.near_before),
        "nearAfter": of(|calibration| calibration.near_after),
        "underCounted": of(|calibration| calibration.under),
        "safeFactor": of(|calibration| ceil_to_thousandth(calibration.safe)),
        "tokenizerFactor": advised,
    })
}

fn round_to_thousandth(figure: f64) -> f64 {
    (1_000.0 * figure).round() / 1_000.0
}

/// Rounds up to a thousandth.
fn ceil_to_thousandth(figure: f64) -> f64 {
    (1_000.0 * figure).ceil() / 1_000.0
}

#[cfg(test)]
mod tests;
