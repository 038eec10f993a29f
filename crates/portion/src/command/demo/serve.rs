//! `portion demo-server`: the MCP server of the demo, which can also be called by hand.
use std::io;
use std::process::ExitCode;

use super::demo_data::DemoData;
use super::server;
use crate::command::CommandResult;

/// Serves stdin and stdout until stdin ends.
pub(crate) fn serve() -> CommandResult {
    server::serve(&DemoData::unpack()?, io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
