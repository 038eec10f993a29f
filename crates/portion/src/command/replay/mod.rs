//! `portion replay`: what the user's recorded sessions would have been with Portion. Nothing is called.

mod meter;
mod show;
mod strings;
mod transcript;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_config::{Config, Warnings};

use self::meter::{Prices, SessionTally};
use self::show::Report;
use self::transcript::{find_transcripts, read_sessions, user_folders};
use super::CommandResult;
use crate::cli::options::{ConfigOptions as Keys, PayloadKeys};
use crate::cli::terminal::{print_stdout, reported, show_progress};

const AFTER_HELP: &str = "\
Examples:
  portion replay
  portion replay ~/.claude/projects/-home-me-app
  portion replay --profile lean --format json session.jsonl

Reads sessions of Claude Code, Codex, Gemini CLI and OpenCode. Nothing is called, sent or stored. A result counts with \
every request that it was sent with. Strings of later arguments that the first reply does not show are searched in the \
kept result, and the search is charged as a call and a request. Tokens are counted by o200k.

Exit codes: 0 if there was a result, 1 if not, 2 for wrong usage.";

/// Options of `portion replay`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Transcripts, or folders of them; those of this user by default
    transcripts: Vec<PathBuf>,
    /// Price of a million input tokens, in any currency
    #[arg(long, value_name = "PRICE", default_value = "3", value_parser = parse_amount)]
    price: f64,
    /// Price of a million output tokens, for the calls of follow-ups
    #[arg(long, value_name = "PRICE", default_value = "15", value_parser = parse_amount)]
    output_price: f64,
    /// Cost of input that is written to the prompt cache, as a factor; 1 without a cache
    #[arg(long, value_name = "FACTOR", default_value = "1.25", value_parser = parse_amount)]
    cache_write: f64,
    /// Cost of input that is read from the prompt cache, as a factor; 1 without a cache
    #[arg(long, value_name = "FACTOR", default_value = "0.1", value_parser = parse_amount)]
    cache_read: f64,
    /// Output format: table or json
    #[arg(long, value_name = "NAME", default_value = "table", value_parser = ["table", "json"], hide_possible_values = true)]
    format: String,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    config_keys: Keys<PayloadKeys>,
}

/// Replays and prints.
pub(crate) fn run(options: &Options) -> CommandResult {
    let sources = options.config_keys.sources()?;
    let (config, Warnings(warnings)) = Config::load(&sources, 0)?;
    let config = Arc::new(config);
    let folders = if options.transcripts.is_empty() { user_folders() } else { options.transcripts.clone() };
    let mut problems: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let mut transcripts = Vec::new();
    for path in folders {
        if path.is_dir() {
            match find_transcripts(&path) {
                Ok(found) => transcripts.extend(found),
                Err(error) => problems.push(format!("cannot read {}: {error}", path.display())),
            }
        } else {
            transcripts.push(path);
        }
    }
    let prices = Prices {
        input: options.price,
        output: options.output_price,
        cache_write: options.cache_write,
        cache_read: options.cache_read,
    };
    let mut seen = HashSet::new();
    let mut sessions: Vec<SessionTally> = Vec::new();
    for (number, path) in transcripts.iter().enumerate() {
        show_progress(&format!("replaying {} of {} transcripts", number + 1, transcripts.len()));
        match read_sessions(path) {
            Ok(read) => {
                for session in read {
                    sessions.push(meter::replay(session, &config, prices, &mut seen)?);
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    sessions.retain(|session| !session.tools.is_empty());
    for problem in problems {
        crate::cli::terminal::print_stderr!("portion: {problem}");
    }
    let code = if sessions.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    let report = Report::new(&sessions, prices);
    let is_json = options.json || options.format == "json";
    let printed = print_stdout(&if is_json { format!("{:#}\n", report.to_json()) } else { report.to_text() });
    reported(printed, None, code)
}

fn parse_amount(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "write a number, such as 3 or 0.25".to_owned())?;
    if amount.is_finite() && amount >= 0.0 { Ok(amount) } else { Err("it is at least 0".to_owned()) }
}
