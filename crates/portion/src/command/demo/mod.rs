//! `portion demo`: shows on real data what Portion does, needing nothing but this binary.
//!
//! `material` holds the data, `server` and `crate::stdio_client` are the two ends, `tour` makes the calls and
//! `proof` follows every cursor to the end; `report` is what they found, `show` prints it.
pub(crate) mod demo_data;
pub(crate) mod excerpt;
mod proof;
mod report;
pub(crate) mod server;
mod show;
mod table;
pub(crate) mod tour;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use super::CommandResult;

/// Options of `portion demo`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Print the results as one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the tour and prints it; fails where the portions joined are not the original.
pub(crate) fn run(options: &Options) -> CommandResult {
    let report = tour::run()?;
    let mut out = anstream::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        show::write(&report, &mut out)?;
    }
    out.flush()?;
    Ok(if report.is_lossless() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
