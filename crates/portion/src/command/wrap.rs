//! `portion wrap`: stdio MCP in front of a server that is our child.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_core::cursor::Scope;
use portion_gateway::front::stdio::Front;
use portion_gateway::gateway::Gateway;
use portion_gateway::mcp::{McpLane, READ_TOOL};
use portion_gateway::relay::relay;
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};
use portion_gateway::upstream::stdio::Child;

use super::Outcome;
use crate::limits::{Keeping, Limits};
use crate::log;

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
    /// The name under which our reading tool is listed
    #[arg(long, value_name = "NAME", env = "PORTION_READ_TOOL", default_value = READ_TOOL, value_parser = tool_name, hide_env_values = true)]
    read_tool: String,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    keeping: Keeping,
}

/// Runs the server and relays until one of both ends has left. The exit code is the server's.
pub(crate) fn run(options: &Options) -> Outcome {
    log::to_stderr();
    let rules = options.limits.rules()?;
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
    let gateway = Arc::new(Gateway::new(Settings::new(rules, Arc::new(store), random_secret()?)));
    let lane = Arc::new(McpLane::new(gateway, Scope::of(LOCAL), &options.read_tool, message_limit));
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

/// A name that every client takes: `[a-zA-Z0-9_-]{1,64}`.
fn tool_name(name: &str) -> Result<String, String> {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&name.len()) {
        return Ok(name.to_owned());
    }
    Err("a tool's name is 1 to 64 letters, digits, `_` or `-`".into())
}
