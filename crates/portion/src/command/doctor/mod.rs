//! `portion doctor`: checks the configuration, the clients, their servers and the records.

mod client_limits;
mod clients;
mod configuration;
mod finding;
mod launch;
mod records;
mod reference;
mod secret;
mod show;
mod start;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use portion_config::user_dirs;
use portion_install::client::Places;
use portion_install::file::State;

use self::finding::Level;
use self::start::Progress;
use super::{CommandResult, parse_seconds};
use crate::options::FILE_HELP;
use crate::terminal::reported;

const AFTER_HELP: &str = "\
Examples:
  portion doctor
  portion doctor --no-start --json

Checks: the configuration, its rules, the store and the records; each server of each client: whether Portion is in \
front of it, whether it starts, the tokens of its list of tools, and whether the client has dropped it. A finding \
names after `>` the command that fixes it, and after `$` one that shows it by itself. Nothing is recorded.

Exit codes: 0 without errors, 1 if a finding is an error, 2 for wrong usage.";

/// Options of `portion doctor`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Do not start servers
    #[arg(long)]
    no_start: bool,
    /// Time limit of the start of a server, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    timeout: Duration,
    /// Print the findings as one JSON object
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Runs all checks and prints the findings.
pub(crate) fn run(options: &Options) -> CommandResult {
    let mut findings = Vec::new();
    let config = configuration::check(options.config.as_deref(), &mut findings);
    let places = Places::from_environment().ok_or("the home directory is unknown: set HOME")?;
    let state = user_dirs::install_dir().map(State);
    let servers = clients::check(&places, state.as_ref(), &mut findings);
    let mut started = Vec::new();
    // With an invalid configuration, no server starts.
    if let Some(config) = config.as_ref().filter(|_| !options.no_start) {
        let progress = if options.json { Progress::Hidden } else { Progress::Shown };
        started = start::check(&servers, config, (options.timeout, progress), &mut findings);
    }
    if let Some(config) = &config {
        client_limits::check(&servers, config, &mut findings);
        configuration::check_store(config, &mut findings);
        let recorded = records::check(config, &mut findings);
        configuration::check_rules(config, &started, &recorded, &mut findings);
    }
    let failed = findings.iter().any(|finding| finding.level == Level::Error);
    let code = if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    reported(show::print(&findings, options.json), None, code)
}
