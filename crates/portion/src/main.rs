//! `portion`: stands in front of an MCP server and keeps its results within a token budget.
//!
//! Parses the command line, runs the command and sets the exit code. Everything else is in `command`.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `args`, `options`, `command` | the command line; configuration keys as options; one file or directory per command |
//! | `setup`, `storage`, `observers`, `server` | builds the gateway from the configuration; its store and secrets; the observers of its events, alerts among them; the backend of each server |
//! | `admin`, `dashboard`, `webhook` | `/health`, `/metrics` and the dashboard; where alerts are posted |
//! | `access`, `api_callers`, `exposure` | authentication as configured; callers of `portion http`; addresses that other machines can reach |
//! | `start_error` | errors for which a command would not start with a valid configuration: `config check` reports them, and a running process keeps its configuration |
//! | `process` | re-executes long-running commands with settings of glibc that return memory to the system; the watchdog that ends the servers if this process is killed |
//! | `command/install` | `portion install` and `uninstall`: selects files, shows the changes, asks |
//! | `command/doctor`, `command/try_tools`, `stdio_client` | the checks, one file per subject; the comparison of calls; the MCP client of both and of the demo |
//! | `shaper` | shapes results outside of a connection, and keeps them: for `portion shape --requests`, which answers lines of stdin, and for `portion replay` |
//! | `command/replay` | `portion replay`: `transcript` reads recorded sessions, a file per client; `meter` counts what they would have cost, `strings` finds what arguments used of results |
//! | `command/check` | `portion check`: calls what only reads, prints the findings, writes the proposals |
//! | `command/demo` | Cargo feature `demo`: the demo, with its server and its data; without the feature, `command/no_demo` says so |
//! | `oauth` | logins of `wrap` and their options; opens pages in a browser |
//! | `environment`, `exposure`, `failure`, `json_option`, `listening`, `remote`, `terminal` | client limits in the environment; the check for `--insecure`; errors with the exit code of wrong usage, and failures as JSON; commands with `--json`; a listener until a signal ends it; options of a server over HTTP; the width of a terminal, what takes long, lines on stdout and stderr, and the log |
// `eprintln!` panics where stderr cannot be written; `terminal::print_stderr` does not.
#![warn(clippy::print_stderr)]

mod access;
mod admin;
mod api_callers;
mod args;
mod command;
mod cursor_keys;
mod dashboard;
mod environment;
mod exposure;
mod failure;
mod json_option;
mod launcher;
mod listening;
mod oauth;
mod observers;
mod options;
mod process;
mod remote;
mod rest;
mod server;
mod setup;
mod shaper;
mod start_error;
mod stdio_client;
mod storage;
mod terminal;
mod webhook;

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Args, Command};
use crate::command::WRONG_USAGE;
use crate::failure::Failure;

fn main() -> ExitCode {
    let Args { command, is_json } = Args::read();
    if matches!(command, Command::Wrap(_) | Command::Serve(_) | Command::Http(_)) {
        process::apply_settings();
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
        Command::WatchGroups => Ok(process::run_watchdog()),
    };
    portion_mcp::upstream::process_group::dismiss_watchdog();
    match outcome {
        Ok(code) => code,
        Err(error) if terminal::is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::terminal::print_stderr!("portion: {error}");
            if is_json {
                Failure::from_error(error.as_ref()).print();
            }
            if failure::is_wrong_usage(error.as_ref()) {
                ExitCode::from(WRONG_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}
