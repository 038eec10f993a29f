//! `portion calibrate`: fits token counts to a model's charges, from the usage figures of its API log.

mod entry;
mod log;
mod report;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use portion_telemetry::calibration::{Observation, Observations};
use portion_tokens::{Factor, Tokenizer};

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
        folded(&report::to_text(&found))
    };
    let printed = print_stdout(&text);
    if is_empty {
        crate::cli::terminal::print_stderr!("portion: {NOTHING_USABLE}");
    }
    reported(printed, None, if is_empty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the report as JSON. If no entry can be used, the failure is a member of it: stdout has one document.
fn to_json_text(found: &LogScan) -> String {
    let mut report = report::to_json(found);
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

impl LogScan {
    fn read_log(&mut self, log: impl BufRead, name: &str, forced: Option<Tokenizer>) -> io::Result<()> {
        log::for_each_entry(log, |at, entry| {
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

#[cfg(test)]
mod tests;

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
