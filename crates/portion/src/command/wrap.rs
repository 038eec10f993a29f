//! `portion wrap`: stdio MCP in front of a server that is our child, or one over HTTP.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_core::cursor::Scope;
use portion_gateway::front::stdio::Front;
use portion_gateway::relay::{relay, relay_link};
use portion_gateway::session::Session;
use portion_gateway::upstream::stdio::Child;

use super::Outcome;
use crate::shaping::Shaping;
use crate::{log, remote};

/// The one principal of a stdio session: whoever started us.
const LOCAL: &str = "stdio";

const AFTER_HELP: &str = "\
Examples:
  portion wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portion wrap --lean -- uvx mcp-server-git
  portion wrap --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'

PORTION_LOG=info tells on stderr what was decided about each reply, never what was in it.
The exit code is the command's; with --url it is 0 when the client has left, 1 when the server has.";

/// Options of `portion wrap`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// The command that starts the server, after `--`
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url", value_name = "CMD")]
    command: Vec<OsString>,
    /// The URL of a server over HTTP, in place of a command
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    way: remote::Way,
    #[command(flatten)]
    shaping: Shaping,
}

/// Runs or reaches the server, and relays until one of both ends has left.
pub(crate) fn run(options: &Options) -> Outcome {
    log::to_stderr();
    let message_limit = options.shaping.message_limit();
    let lane = Arc::new(options.shaping.lanes()?.lane(Scope::of(LOCAL), Session::unique()));
    let remote = options.url.as_deref().map(|url| options.way.remote(url, message_limit)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        // Signals are heard before there is a child that they could leave alone.
        let mut front = Front::open(message_limit)?;
        if let Some(remote) = remote {
            let (link, carried) = tokio::select! {
                signal = front.signals.next() => return Ok(ExitCode::from(128 + signal)),
                started = remote.start() => started?,
            };
            return Ok(relay_link(lane, link, carried, front).await.into());
        }
        let [program, arguments @ ..] = options.command.as_slice() else { return Ok(ExitCode::FAILURE) };
        let child = Child::spawn(program, arguments, message_limit)?;
        Ok::<_, Box<dyn std::error::Error>>(relay(lane, child, front).await.into())
    });
    // A thread may still sleep in a read of our stdin; it must not hold us up.
    runtime.shutdown_background();
    exit
}
