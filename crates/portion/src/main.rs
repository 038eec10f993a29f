//! `portion`: stands in front of an MCP server and keeps its results within a token budget.
//!
//! Parses the command line, runs the command and sets the exit code. What it does is in `command`.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `args`, `command` | the command line; one file or directory per command |
//! | `cli` | what commands share: options, errors, what a terminal shows |
//! | `run` | what runs: servers and the gateway in front of them, its store, its observers, its listeners |
//! | `command/install` | `portion install` and `uninstall`: selects files, shows the changes, asks |
//! | `command/doctor`, `command/try_tools` | the checks, one file per subject; the comparison of calls |
//! | `command/replay` | `portion replay`: `transcript` reads recorded sessions, a file per client; `meter` counts what they would have cost, `strings` finds what arguments used of results |
//! | `command/check` | `portion check`: calls what only reads, prints the findings, writes the proposals |
//! | `command/demo` | Cargo feature `demo`: the demo, with its server and its data; without the feature, `command/no_demo` says so |
// `eprintln!` panics where stderr cannot be written; `terminal::print_stderr` does not.
#![warn(clippy::print_stderr)]

mod args;
mod cli;
mod command;
mod run;

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Args, Command};
use crate::cli::failure::Failure;
use crate::command::WRONG_USAGE;

fn main() -> ExitCode {
    let Args { command, is_json } = Args::read();
    if matches!(command, Command::Wrap(_) | Command::Serve(_) | Command::Http(_)) {
        run::process::apply_settings();
    }
    let outcome = match command {
        Command::Demo(demo) => command::demo::run(&demo),
        Command::Wrap(wrap) => command::wrap::run(&wrap),
        Command::Serve(serve) => command::serve::run(&serve),
        Command::Install(install) => command::install::install(&install),
        Command::Uninstall(uninstall) => command::install::uninstall(&uninstall),
        Command::Try(options) => command::try_tools::run(&options),
        Command::Check(check) => command::check::run(&check),
        Command::Doctor(doctor) => command::doctor::run(&doctor),
        Command::Http(http) => command::http::run(&http),
        Command::Login(options) => command::login::login(&options),
        Command::Logout(options) => command::login::logout(&options),
        Command::Fetch(fetch) => command::fetch::run(&fetch),
        Command::Shape(shape) => command::shape::run(&shape),
        Command::Replay(replay) => command::replay::run(&replay),
        Command::Config(config) => command::config::run(&config),
        Command::Dashboard(dashboard) => command::dashboard::run(&dashboard),
        Command::Stats(stats) => command::stats::run(&stats),
        Command::Token(token) => command::token::run(&token),
        Command::Top(top) => command::top::run(&top),
        Command::Calibrate(calibrate) => command::calibrate::run(&calibrate),
        Command::Completions(options) => command::completions::run(&options, Args::command()),
        Command::Man(man) => command::man::run(&man, Args::command()),
        Command::DemoServer => command::demo::serve(),
        Command::WatchGroups => Ok(run::process::run_watchdog()),
    };
    portion_mcp::upstream::process_group::dismiss_watchdog();
    match outcome {
        Ok(code) => code,
        Err(error) if cli::terminal::is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::cli::terminal::print_stderr!("portion: {error}");
            if is_json {
                Failure::from_error(error.as_ref()).print();
            }
            if cli::failure::is_wrong_usage(error.as_ref()) {
                ExitCode::from(WRONG_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}
