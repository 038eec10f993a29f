//! `portion wrap`: stdio MCP in front of a server that is our child.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_core::cursor::Scope;
use portion_gateway::front::stdio::Front;
use portion_gateway::relay::relay;
use portion_gateway::upstream::stdio::Child;

use super::Outcome;
use crate::log;
use crate::shaping::Shaping;

/// The one principal of a stdio session: whoever started us.
const LOCAL: &str = "stdio";

const AFTER_HELP: &str = "\
Examples:
  portion wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portion wrap --lean -- uvx mcp-server-git

PORTION_LOG=info tells on stderr what was decided about each reply, never what was in it.
The exit code is the server's.";

/// Options of `portion wrap`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// The command that starts the server, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    shaping: Shaping,
}

/// Runs the server and relays until one of both ends has left. The exit code is the server's.
pub(crate) fn run(options: &Options) -> Outcome {
    log::to_stderr();
    let message_limit = options.shaping.message_limit();
    let lane = Arc::new(options.shaping.lanes()?.lane(Scope::of(LOCAL)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        // Signals are heard before there is a child that they could leave alone.
        let front = Front::open(message_limit)?;
        let [program, arguments @ ..] = options.command.as_slice() else { return Ok(ExitCode::FAILURE) };
        let child = Child::spawn(program, arguments, message_limit)?;
        Ok::<_, Box<dyn std::error::Error>>(relay(lane, child, front).await.into())
    });
    // A thread may still sleep in a read of our stdin; it must not hold us up.
    runtime.shutdown_background();
    exit
}
