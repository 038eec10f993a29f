//! `portion try`: calls read-only tools of a server with and without Portion, and shows both.

mod selection;
mod show;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Args;
use portion_client::check::Observation;
use portion_client::check::Tool;
use portion_config::{Config, find};
use portion_mcp::upstream::stdio::Program;
use serde_json::{Map, Value};

use self::selection::{Call, Selection, lacks_arguments, select};
use self::show::Uncalled;
use super::known_paths::known_paths;
use super::{CommandResult, parse_seconds};
use crate::cli::launcher;
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{reported, show_progress};
use crate::run::stdio_client::{Client, NO_TELEMETRY_ARGS, ToolResponse};
use show::{Comparison, Reply};

const AFTER_HELP: &str = "\
Examples:
  portion try -- npx -y @modelcontextprotocol/server-everything
  portion try --tool list_directory --args '{\"path\":\"/tmp\"}' -- npx -y @modelcontextprotocol/server-filesystem /tmp

Without --tool, the tools that only read are called, as portion check does: by annotation or name, with arguments from \
schemas, from earlier results and from a directory in CMD, eight at most. The others are named with the call to type. \
The server is started twice: once directly, once behind `portion wrap` with your configuration. Nothing is recorded. \
Tokens are counted by o200k.

Exit codes: 0 if a tool was compared, 1 if none was, 2 for wrong usage.";

/// Most tools that are called without being named.
const MAX_TOOLS: usize = 8;

/// Options of `portion try`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Tool to call, in place of all that can be
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Arguments of --tool, a JSON object; found in its schema by default
    #[arg(long = "args", value_name = "JSON", requires = "tool", value_parser = parse_arguments)]
    arguments: Option<Map<String, Value>>,
    /// Call --tool even if it does not say that it only reads; it is called twice
    #[arg(long, requires = "tool")]
    allow_writes: bool,
    /// Time limit of each response, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    timeout: Duration,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
    /// Command that starts the server, with its arguments, behind `--`
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Compares and prints.
pub(crate) fn run(options: &Options) -> CommandResult {
    // With an invalid configuration, the server would be started once for nothing.
    Config::load(&find(options.config.as_deref(), Vec::new())?, 0)?;
    let (program, args) = options.command.split_first().ok_or("give the command of a server")?;
    let server = Program::new(program, args);
    server.look_up()?;
    launcher::install_for(&options.command);
    show_progress("starting the server");
    let mut direct =
        Client::start_as("portion-try", Command::new(server.executable()).args(args), options.timeout)
            .map_err(launcher::with_remedy)?;
    let tools = Tool::parse_list(direct.tools().get())
        .map_err(|error| format!("the list of tools cannot be read: {error}"))?;
    let Selection { mut plan, writers } = select(tools, options)?;
    let mut known = known_paths(&options.command);
    let mut replies: Vec<(Call, Reply)> = Vec::new();
    while replies.len() < MAX_TOOLS
        && let Some((tool, arguments)) = plan.next(&known)
    {
        let call = Call { tool: tool.name.clone(), arguments };
        let response = respond(&mut direct, &call, "directly");
        if let Ok(response) = &response {
            let result = serde_json::from_str(response.result.get()).unwrap_or_default();
            known.learn(&tool, &Observation::from_result(&result));
        }
        replies.push((call, response.map(|response| show::measure(&response))));
    }
    let uncalled = plan.into_uncalled();
    if let (true, Some((tool, missing))) = (replies.is_empty(), uncalled.first()) {
        return Err(lacks_arguments(tool, &missing.iter().map(String::as_str).collect::<Vec<_>>()).into());
    }
    if let Some(line) = direct.noise() {
        crate::cli::terminal::print_stderr!(
            "portion: the server's stdout has lines that are no messages, such as `{line}`"
        );
    }
    drop(direct);
    show_progress("starting the server behind Portion");
    let mut wrapped = Command::new(std::env::current_exe()?);
    wrapped.arg("wrap").args(NO_TELEMETRY_ARGS);
    if let Some(file) = &options.config {
        wrapped.arg("--config").arg(file);
    }
    let mut portion =
        Client::start_as("portion-try", wrapped.arg("--").args(&options.command), options.timeout)?;
    let comparisons: Vec<Comparison> = replies
        .into_iter()
        .map(|(call, direct)| Comparison {
            portion: respond(&mut portion, &call, "through Portion").map(|response| show::measure(&response)),
            call,
            direct,
        })
        .collect();
    let compared = comparisons.iter().any(Comparison::is_complete);
    let code = if compared { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let uncalled = Uncalled::new(&uncalled, writers, &options.command);
    reported(show::print(&comparisons, &uncalled, options.json), None, code)
}

fn respond(client: &mut Client, call: &Call, way: &str) -> Result<ToolResponse, String> {
    show_progress(&format!("calling {} {way}", call.tool));
    client.call(&call.tool, &Value::Object(call.arguments.clone())).map_err(|error| error.to_string())
}

fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("it is JSON, but not an object; write {\"name\": value}".to_owned()),
        Err(error) => Err(format!("not JSON: {error}; write {{\"name\": value}}, quoted for your shell")),
    }
}
