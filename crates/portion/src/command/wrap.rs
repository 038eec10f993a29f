//! `portion wrap`: stdio MCP in front of a server that is our child, or one over HTTP.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_core::cursor::Scope;
use portion_gateway::front::stdio::Front;
use portion_gateway::gateway::Gateway;
use portion_gateway::mcp::{McpLane, READ_TOOL};
use portion_gateway::relay::{relay, relay_link};
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};
use portion_gateway::upstream::stdio::Child;

use super::Outcome;
use crate::limits::{Keeping, Limits};
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
    /// The server over HTTP, in place of a command: its URL, such as http://127.0.0.1:3000/mcp
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    way: remote::Way,
    /// The name under which our reading tool is listed
    #[arg(long, value_name = "NAME", env = "PORTION_READ_TOOL", default_value = READ_TOOL, value_parser = tool_name, hide_env_values = true)]
    read_tool: String,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    keeping: Keeping,
}

/// Runs or reaches the server, and relays until one of both ends has left.
pub(crate) fn run(options: &Options) -> Outcome {
    log::to_stderr();
    let policy = options.limits.policy()?;
    let tokenizer = options.limits.tokenizer;
    // The vocabulary takes longer to load than the server may take to answer.
    std::thread::spawn(move || {
        tokenizer.warm();
        if let Some(auditor) = tokenizer.auditor() {
            auditor.count("warm");
        }
    });
    let message_limit = usize::try_from(options.keeping.upstream_message_limit).unwrap_or(usize::MAX);
    let store = MemoryStore::new(store::Limits {
        memory: usize::try_from(options.keeping.snapshot_memory).unwrap_or(usize::MAX),
        ttl: options.keeping.snapshot_ttl,
    });
    let settings =
        Settings { policy, ..Settings::new(tokenizer.counter(), Arc::new(store), random_secret()?) };
    let gateway = Arc::new(Gateway::new(settings));
    let lane = Arc::new(McpLane::new(gateway, Scope::of(LOCAL), &options.read_tool, message_limit));
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

/// A name that every client takes: `[a-zA-Z0-9_-]{1,64}`.
fn tool_name(name: &str) -> Result<String, String> {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&name.len()) {
        return Ok(name.to_owned());
    }
    Err("a tool's name is 1 to 64 letters, digits, `_` or `-`".into())
}
