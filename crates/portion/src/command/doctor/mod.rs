//! `portion doctor`: checks the configuration, the clients, their servers and the records.

mod clients;
mod configuration;
mod finding;
mod launch;
pub(crate) mod reference;
mod start;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::Args;
use portion_config::find;
use portion_install::client::Places;
use portion_install::file::State;
use portion_text::display::{counted, display_width, printable_lines, printable_name};
use serde_json::json;

use self::start::Progress;
use super::{CommandResult, parse_seconds};
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{columns, fold, print_stdout, reported};
use finding::{Finding, Level};

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
    /// Print the result as JSON
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
    let state = find::install_dir().map(State);
    let servers = clients::check(&places, state.as_ref(), &mut findings);
    let mut started = Vec::new();
    // With an invalid configuration, no server starts.
    if let Some(config) = config.as_ref().filter(|_| !options.no_start) {
        let progress = if options.json { Progress::Hidden } else { Progress::Shown };
        started = start::check(&servers, config, (options.timeout, progress), &mut findings);
    }
    if let Some(config) = &config {
        clients::check_limits(&servers, config, &mut findings);
        configuration::check_store(config, &mut findings);
        let recorded = configuration::check_records(config, &mut findings);
        configuration::check_rules(config, &started, &recorded, &mut findings);
    }
    let failed = findings.iter().any(|finding| finding.level == Level::Error);
    let code = if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    reported(print(&findings, options.json), None, code)
}

/// Columns of the report.
const MAX_WIDTH: usize = 80;
/// Columns that are used even of a narrower terminal.
const MIN_WIDTH: usize = 20;
/// Columns of the level in front of a subject.
const LEVEL_WIDTH: usize = 8;

/// Prints the findings: errors first, then by check.
fn print(findings: &[Finding], as_json: bool) -> io::Result<()> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.level);
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    if as_json {
        let report = json!({"errors": errors, "warnings": warnings, "findings": sorted});
        return print_stdout(&format!("{report:#}\n"));
    }
    let mut out = anstream::stdout().lock();
    let width = columns(MAX_WIDTH).max(MIN_WIDTH);
    // A narrow terminal has no columns to spare.
    let margin = " ".repeat(if width < MAX_WIDTH { 2 } else { LEVEL_WIDTH });
    for Finding { level, subject, message, reproduce, fix, .. } in sorted {
        let style = match level {
            Level::Error => AnsiColor::Red.on_default().bold(),
            Level::Warning => AnsiColor::Yellow.on_default(),
            Level::Info => Style::new().dimmed(),
            Level::Ok => AnsiColor::Green.on_default(),
        };
        let subject = printable_name(subject);
        if LEVEL_WIDTH + display_width(&subject) <= width || width == MAX_WIDTH {
            writeln!(out, "{style}{:<LEVEL_WIDTH$}{style:#}{subject}", level.name())?;
        } else {
            writeln!(out, "{style}{}{style:#}", level.name())?;
            for line in fold(&subject, width - margin.len()) {
                writeln!(out, "{margin}{line}")?;
            }
        }
        for line in fold(&printable_lines(message), width - margin.len()) {
            writeln!(out, "{margin}{line}")?;
        }
        // Commands are not folded, so that they can be copied.
        if let Some(line) = reproduce {
            writeln!(out, "{margin}$ {}", printable_name(line))?;
        }
        if let Some(fix) = fix {
            writeln!(out, "{margin}> {}", printable_name(fix))?;
        }
    }
    writeln!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"))?;
    out.flush()
}
