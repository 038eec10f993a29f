//! `portion demo-server`: the MCP server of the demo, for anyone who wants to call it by hand.
use std::io;
use std::process::ExitCode;

use super::CommandResult;
use super::demo::demo_data::DemoData;
use super::demo::server;

/// Serves stdin and stdout until stdin ends.
pub(crate) fn run() -> CommandResult {
    server::serve(&DemoData::unpack()?, io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
