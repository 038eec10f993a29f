//! `portion config`: checks, shows, compares and restores configurations.

mod changes;
mod diff;
mod rollback;
mod show;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use portion_config::{Config, Sources, Warnings, find, schema};

use super::CommandResult;
use crate::options::FILE_HELP;

const AFTER_HELP: &str = "\
Examples:
  portion config check
  portion config show --origin --endpoint list_bookings
  portion config schema > portion.schema.json
  portion config diff portion.new.yaml --against telemetry
  portion config rollback";

/// Options of `portion config`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    #[arg(long, value_name = "FILE", global = true, help = FILE_HELP)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: ConfigCommand,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Say everything that is wrong with the configuration, each with its place and the way on
    Check {
        /// The file to check, in place of --config
        file: Option<PathBuf>,
    },
    /// Print what is in force
    Show(show::Options),
    /// Print the JSON Schema of the configuration, for editors
    Schema,
    /// Say what another file would change
    Diff(diff::Options),
    /// List the versions of the file that were in force, the newest first
    History,
    /// Make the file say what a version of it said; every running Portion obeys it at once
    Rollback {
        /// The version (default: the one before)
        version: Option<u64>,
    },
}

/// Runs the subcommand.
pub(crate) fn run(options: &Options) -> CommandResult {
    let named = options.config.as_deref();
    match &options.command {
        ConfigCommand::Check { file } => check(file.as_deref().or(named)),
        ConfigCommand::Show(show) => show::run(named, show),
        ConfigCommand::Schema => print(&format!("{:#}\n", schema())),
        ConfigCommand::Diff(diff) => diff::run(named, diff),
        ConfigCommand::History => rollback::list(named),
        ConfigCommand::Rollback { version } => rollback::run(named, *version),
    }
}

fn check(named: Option<&Path>) -> CommandResult {
    let sources = sources(named)?;
    let (config, Warnings(warnings)) = Config::load(&sources, 0)?;
    for warning in &warnings {
        anstream::eprintln!("portion: {warning}");
    }
    let about = match config.file() {
        Some(file) => file.display().to_string(),
        None => "no file, and what variables say".into(),
    };
    print(&format!("{about}: valid, {} warnings\n", warnings.len()))
}

/// Returns the sources of a Portion started here, without options.
fn sources(named: Option<&Path>) -> Result<Sources, find::UnreadableFile> {
    find(named, Vec::new())
}

/// Returns the configuration file, or an error if there is none.
fn require_file(named: Option<&Path>) -> Result<PathBuf, String> {
    find::locate_file(named).ok_or_else(|| "there is no configuration file; name one with --config".into())
}

fn print(text: &str) -> CommandResult {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
