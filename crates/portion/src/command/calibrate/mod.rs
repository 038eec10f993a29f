//! `portion calibrate`: fits counts to what a model charged, by the usage figures of its API log.

mod entry;
mod family;
mod log;
mod report;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use portion_core::tokens::{Factor, Tokenizer};
use portion_telemetry::calibration::{Observation, Observations};

use self::entry::{Entry, Unusable};
use self::family::family;
use super::Outcome;

const AFTER_HELP: &str = "\
Examples:
  portion calibrate requests.jsonl
  portion calibrate --format json logs/*.jsonl
  zcat log.gz | portion calibrate --tokenizer claude -

An entry is an object with a request and the usage of its response, side by side or under `request` and `response`:
Anthropic messages and count_tokens, OpenAI chat completions and responses, or {\"text\": …, \"tokens\": …}.
Nothing is sent anywhere, and nothing of it is kept.";

/// Options of `portion calibrate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// The log, JSON Lines or a JSON array; `-` is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Fit this tokenizer, whatever models are named: auto, o200k, cl100k, claude, chars4 or len4
    #[arg(long, value_name = "NAME", value_parser = tokenizers())]
    tokenizer: Option<Tokenizer>,
    /// The form: text, with what is to be written in portion.yaml, or json
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = ["text", "json"], hide_possible_values = true)]
    format: String,
}

/// What was found in logs.
#[derive(Default)]
struct Found {
    /// By the name of the tokenizer.
    families: BTreeMap<&'static str, Observations>,
    unusable: BTreeMap<Unusable, Passed>,
}

/// Entries that are of no use.
struct Passed {
    count: u64,
    /// Where the first of them is: a log, and its line.
    first: String,
}

/// Prints which factor fits.
pub(crate) fn run(options: &Options) -> Outcome {
    let mut found = Found::default();
    for path in &options.logs {
        let name = path.display().to_string();
        let read = opened(path).and_then(|log| found.read(log, &name, options.tokenizer));
        read.map_err(|error| format!("cannot read {name}: {error}"))?;
    }
    let text = if options.format == "json" { report::json(&found) } else { report::text(&found) };
    io::stdout().lock().write_all(text.as_bytes())?;
    if found.families.is_empty() {
        return Err(
            "no entry is a request beside the usage of its response: see portion calibrate --help".into()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn tokenizers() -> impl clap::builder::TypedValueParser<Value = Tokenizer> {
    let names = Tokenizer::ALL.map(|tokenizer| tokenizer.counter().name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Tokenizer>())
}

fn opened(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path)?))
    })
}

impl Found {
    fn read(&mut self, log: impl BufRead, name: &str, forced: Option<Tokenizer>) -> io::Result<()> {
        log::entries(log, |at, entry| {
            let usable = entry.and_then(|entry| Entry::of(&entry)).and_then(|entry| {
                let tokenizer =
                    forced.or_else(|| family(entry.model.as_deref()?)).ok_or(Unusable::NoFamily)?;
                Ok((tokenizer, observed(tokenizer, &entry)))
            });
            match usable {
                Ok((tokenizer, observation)) => {
                    self.families.entry(tokenizer.counter().name()).or_default().add(observation);
                }
                Err(why) => {
                    let first = || Passed { count: 0, first: format!("{name}:{at}") };
                    self.unusable.entry(why).or_insert_with(first).count += 1;
                }
            }
        })
    }
}

/// What is known of a request. The factor is one on what counts are held against, so that a margin stays one; where
/// nothing is known of a family, it is one on the count itself.
fn observed(tokenizer: Tokenizer, entry: &Entry) -> Observation {
    let reference = tokenizer.reference(Factor::ONE);
    let sum =
        |count: &dyn Fn(&str) -> usize| entry.texts.iter().map(|text| count(text)).sum::<usize>() as f64;
    let counted = sum(&|text| tokenizer.counter().count(text));
    let fitted = if tokenizer.is_blind() { counted } else { sum(&|text| reference.count(text)) };
    Observation { fitted, counted, charged: entry.charged as f64 }
}

#[cfg(test)]
mod tests;
