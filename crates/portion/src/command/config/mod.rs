//! `portion config`: checks, shows, compares and restores configurations.

mod check;
mod diff;
mod init;
mod rollback;
mod show;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use portion_config::{Sources, find, schema};
use portion_core::event::ConfigChange;
use serde_json::{Value, json};

use super::{CommandResult, WRONG_USAGE};
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{print_stdout, reported};

const AFTER_HELP: &str = "\
Examples:
  portion config init
  portion config check
  portion config show --origin --endpoint list_bookings
  portion config show --json
  portion config schema > portion.schema.json
  portion config diff portion.new.yaml --against telemetry
  portion config rollback";

/// Options of `portion config`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    #[arg(long, value_name = "FILE", global = true, help = FILE_HELP)]
    config: Option<PathBuf>,
    /// Print the result as JSON; schema always does
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ConfigCommand,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Write a file with all keys as comments, and its JSON Schema for editors
    Init {
        /// File to write, .yaml or .json
        #[arg(default_value = "portion.yaml")]
        file: PathBuf,
    },
    /// List all errors of the configuration, with their places and remedies
    Check(check::Options),
    /// Print the configuration in force
    Show(show::Options),
    /// Print the JSON Schema of the configuration, for editors
    Schema,
    /// Show what another file would change
    Diff(diff::Options),
    /// List the versions of the file that were in force or replaced and what each changed, newest first
    History,
    /// Restore a version of the file; running processes apply it at once
    Rollback {
        /// Version to restore (default: the newest valid one that differs)
        version: Option<u64>,
    },
}

/// Runs the subcommand.
pub(crate) fn run(options: &Options) -> CommandResult {
    let (named, as_json) = (options.config.as_deref(), options.json);
    match &options.command {
        ConfigCommand::Init { file } => init::run(file, named, as_json),
        ConfigCommand::Check(check) => check::run(named, check, as_json),
        ConfigCommand::Show(show) => show::run(named, show, as_json),
        ConfigCommand::Schema => print_json(&schema()),
        ConfigCommand::Diff(diff) => diff::run(named, diff, as_json),
        ConfigCommand::History => rollback::list(named, as_json),
        ConfigCommand::Rollback { version } => rollback::run(named, *version, as_json),
    }
}

/// Returns the sources of a Portion started here, with no option but the profile.
fn sources(named: Option<&Path>, profile: Option<&str>) -> Result<Sources, find::UnreadableFile> {
    find(named, profile.map(|name| ("profile".to_owned(), name.to_owned())).into_iter().collect())
}

/// Returns the configuration file, or an error if there is none.
fn require_file(named: Option<&Path>) -> Result<PathBuf, String> {
    find::locate_file(named).ok_or_else(|| "there is no configuration file; set one with --config".into())
}

/// Prints a text.
fn print(text: &str) -> CommandResult {
    reported(print_stdout(text), None, ExitCode::SUCCESS)
}

/// Prints a JSON value.
fn print_json(value: &Value) -> CommandResult {
    print(&format!("{value:#}\n"))
}

/// Prints the errors of a configuration as JSON, which has no warnings then.
fn print_errors(errors: &[Value]) -> CommandResult {
    let report = json!({ "errors": errors, "warnings": [] });
    reported(print_stdout(&format!("{report:#}\n")), None, ExitCode::from(WRONG_USAGE))
}

/// Returns one line for each change.
fn format_changes(changes: &[ConfigChange]) -> String {
    let mut out = String::new();
    for ConfigChange { key, old, new } in changes {
        let _ = match (old, new) {
            (Some(old), Some(new)) => writeln!(out, "~ {key}: {old} -> {new}"),
            (None, Some(new)) => writeln!(out, "+ {key}: {new}"),
            (Some(old), None) => writeln!(out, "- {key}: {old}"),
            (None, None) => Ok(()),
        };
    }
    out
}

/// Returns the changes as JSON: the key, and its values before and after.
fn changes_json(changes: &[ConfigChange]) -> Value {
    let value =
        |text: &Option<String>| text.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
    let object = |change: &ConfigChange| json!({ "key": change.key, "old": value(&change.old), "new": value(&change.new) });
    changes.iter().map(object).collect()
}
