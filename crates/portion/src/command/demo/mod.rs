//! `portion demo`: compares calls with and without Portion on real data that the binary contains.
//!
//! `demo_data` unpacks the data and generates bookings, `rules` generates rules, `server` is an MCP server with all of them, `tour`
//! calls it with and without Portion in front by [`stdio_client`](crate::run::stdio_client), `report` has the results and follows every cursor to the end, and `show` prints them. The Cargo feature `demo`
//! includes all this.

mod demo_data;
mod report;
mod rules;
mod server;
mod show;
mod tour;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use super::CommandResult;
use crate::cli::terminal::{columns, print_stdout, reported, show_progress};
use demo_data::DemoData;

/// Options of `portion demo`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the tour and prints it; fails where the portions joined are not the original.
pub(crate) fn run(options: &Options) -> CommandResult {
    show_progress("calling the tools of the demo");
    let report = tour::run()?;
    let printed = if options.json {
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&report)?))
    } else {
        let mut out = anstream::stdout().lock();
        show::write(&report, columns(show::WIDTH), &mut out).and_then(|()| out.flush())
    };
    let code = if report.is_lossless() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    reported(printed, None, code)
}

/// Serves stdin and stdout until stdin ends.
pub(crate) fn serve() -> CommandResult {
    server::serve(&DemoData::unpack()?, io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
