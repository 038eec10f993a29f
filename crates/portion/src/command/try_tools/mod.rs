//! `portion try`: calls read-only tools of a server with and without Portion, and shows both.

mod show;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use portion_client::check::{CallPlan, Observation, Tool};
use portion_config::{Config, find};
use portion_mcp::upstream::stdio::Program;
use serde_json::{Map, Value};

use super::{CommandResult, parse_arguments, parse_seconds, unknown_tool};
use crate::cli::launcher::{self, known_paths};
use crate::cli::options::FILE_HELP;
use crate::cli::terminal::{reported, show_progress};
use crate::run::stdio_client::{Client, NO_TELEMETRY_ARGS, ToolResponse};
use show::{Comparison, Reply, Uncalled};

const AFTER_HELP: &str = "\
Examples:
  portion try -- npx -y @modelcontextprotocol/server-everything
  portion try --tool list_directory --args '{\"path\":\"/tmp\"}' -- npx -y @modelcontextprotocol/server-filesystem /tmp

Without --tool, the tools that only read are called, as portion check does: by annotation or name, with arguments from \
schemas, from earlier results and from a directory in CMD, eight at most. The others are named with the call to type. \
The server is started twice: once directly, once behind `portion wrap` with your configuration. Nothing is recorded. \
Tokens are counted by o200k, of the longer of text and structuredContent: clients show one.

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
    let mut direct = Command::new(server.executable());
    let mut direct =
        Client::start_as("portion-try", direct.args(args).stderr(Stdio::piped()), options.timeout)?;
    let tools = Tool::parse_list(direct.tools.get())
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
    if let Some(line) = &direct.noise {
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

/// A call.
#[derive(Clone, Debug, PartialEq)]
struct Call {
    tool: String,
    arguments: Map<String, Value>,
}

/// The tools of a server, as far as they were chosen.
#[derive(Debug)]
struct Selection {
    plan: CallPlan,
    /// Names of tools that are not called because they may write.
    writers: Vec<String>,
}

/// Selects from the tools of a server.
///
/// # Errors
/// Returns an error if no tool can be called, with the next step.
fn select(tools: Vec<Tool>, options: &Options) -> Result<Selection, String> {
    let only = |plan| Selection { plan, writers: Vec::new() };
    let Some(name) = &options.tool else {
        let (readers, writers): (Vec<Tool>, Vec<Tool>) =
            tools.into_iter().partition(|tool| tool.reads.is_ok());
        if readers.is_empty() {
            return Err(
                "no tool says that it only reads: name one with --tool, --args and --allow-writes".to_owned()
            );
        }
        let writers = writers.into_iter().map(|tool| tool.name).collect();
        return Ok(Selection { plan: CallPlan::new(readers, BTreeMap::new()), writers });
    };
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let message = unknown_tool(name, &names);
    let tool = tools.into_iter().find(|tool| tool.name == *name).ok_or(message)?;
    if let (Err(reason), false) = (tool.reads, options.allow_writes) {
        return Err(format!(
            "{name} is not called: {reason}, and it would be called twice: add --allow-writes if that does no harm"
        ));
    }
    let Some(arguments) = &options.arguments else {
        return Ok(only(CallPlan::new([tool], BTreeMap::new())));
    };
    let is_missing = |required: &&String| !arguments.contains_key(*required);
    let missing: Vec<&str> = tool.required.iter().filter(is_missing).map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(lacks_arguments(&tool, &missing));
    }
    Ok(only(CallPlan::new([tool], BTreeMap::from([(name.clone(), arguments.clone())]))))
}

/// Returns the error for a tool that cannot be called without a person.
fn lacks_arguments(tool: &Tool, missing: &[&str]) -> String {
    format!(
        "{} requires {}: give them with --args, as in {}",
        tool.name,
        missing.join(", "),
        tool_options(tool, !missing.is_empty())
    )
}

/// Returns the options that call a tool, with places for its arguments if they have to be given.
fn tool_options(tool: &Tool, needs_arguments: bool) -> String {
    let name = shlex::try_quote(&tool.name).unwrap_or_default();
    if !needs_arguments {
        return format!("--tool {name}");
    }
    let example: Map<String, Value> =
        tool.required.iter().map(|name| (name.clone(), Value::from("…"))).collect();
    format!("--tool {name} --args '{}'", Value::Object(example))
}

fn respond(client: &mut Client, call: &Call, way: &str) -> Result<ToolResponse, String> {
    show_progress(&format!("calling {} {way}", call.tool));
    client.call(&call.tool, &Value::Object(call.arguments.clone())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use portion_client::check::KnownValues;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    const TOOLS: &str = r#"{"tools":[
        {"name":"list","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"limit":{}}}},
        {"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"required":["id"]}},
        {"name":"search_all","inputSchema":{}},
        {"name":"delete","inputSchema":{}}]}"#;

    fn check(tools: &str, line: &[&str], expect: Result<&[&str], &str>) {
        let words = ["try"].iter().chain(line).chain(&["--", "x"]);
        let options = Line::try_parse_from(words).expect("a command line").options;
        match (select(Tool::parse_list(tools).expect("JSON"), &options), expect) {
            (Ok(Selection { mut plan, .. }), Ok(expect)) => {
                let calls = std::iter::from_fn(|| plan.next(&KnownValues::default()));
                assert_eq!(calls.map(|(tool, _)| tool.name).collect::<Vec<_>>(), expect, "{line:?}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{line:?}: {error}"),
            (plan, _) => panic!("{line:?}: {plan:?}"),
        }
    }

    #[test]
    fn only_reading_tools_are_called() {
        check(TOOLS, &[], Ok(&["list", "search_all"]));
        check(TOOLS, &["--tool", "get", "--args", r#"{"id":1}"#], Ok(&["get"]));
        check(
            TOOLS,
            &["--tool", "get", "--args", "{}"],
            Err(r#"requires id: give them with --args, as in --tool get --args '{"id":"…"}'"#),
        );
        check(TOOLS, &["--tool", "gets"], Err("no tool gets; did you mean get?"));
        check(TOOLS, &["--tool", "delete"], Err("--allow-writes"));
        check(TOOLS, &["--tool", "delete", "--allow-writes"], Ok(&["delete"]));
        check(r#"{"tools":[{"name":"a"}]}"#, &[], Err("no tool says"));
        check("{}", &[], Err("no tool says"));
    }
}
