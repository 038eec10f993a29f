//! `portion check`: calls the tools of a server that only read, and proposes their settings.

mod session;
mod show;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use portion_client::check::write::{Written, add_to_yaml};
use portion_client::client::{Client, ClientError};
use portion_config::reference::ProcessEnvironment;
use portion_config::{Config, Errors, Sources, find};
use portion_mcp::upstream::link::Connector;
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use super::{CommandResult, parse_seconds};
use crate::cli::failure::UsageError;
use crate::cli::launcher;
use crate::cli::launcher::known_paths;
use crate::cli::remote::RemoteArgs;
use crate::cli::rest::{OTHER_SERVERS, RestArgs};
use crate::cli::terminal::{self, reported};
use crate::run::server::Server;
use session::Report;
pub(super) use session::profile_for;
use show::comment;

/// Time for the server to end after its results were printed.
const EXIT_GRACE: Duration = Duration::from_millis(700);

const AFTER_HELP: &str = "\
Examples:
  portion check -- npx -y @modelcontextprotocol/server-everything
  portion check --write portion.yaml -- uvx my-server
  portion check --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  portion check --openapi openapi.yaml --upstream https://api.example.com/v1
  portion check --args 'search={\"query\":\"villa\"}' -- my-server

It calls what only reads: tools with readOnlyHint, GET operations, and tools whose name says so (list, get, search …) \
unless their annotations contradict. Required arguments are filled from schemas, from earlier results and from a directory in CMD; a tool with \
others is skipped, and named. Up to five further calls per tool show how it pages its results.

It reports each tool's list, envelope, paging, secrets by their names, results that the server has cut, and the tokens \
of a result (o200k) as it is and through Portion. The proposals are YAML for `endpoints`. With --write they are added to \
a file; endpoints that it has stay as they are. A file that does not exist is made, even if nothing is proposed.

Exit codes: 0 if a tool was checked, 1 if none was, 2 for wrong usage.";

/// Content of a new file if there are no proposals. A file with comments only would be reported as empty.
const NOTHING_PROPOSED: &str =
    "# Portion proposed no settings: the defaults fit these results.\nprofile: default\n";

/// A file to which proposals were added.
#[derive(Debug)]
struct WrittenFile {
    file: PathBuf,
    is_new: bool,
    written: Written,
}

/// Options of `portion check`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("http_server").args(["server_url", "openapi"]))]
pub(crate) struct Options {
    /// Tool to check, in place of all that only read; may be repeated
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Arguments of a tool, a JSON object; may be repeated
    #[arg(long = "args", value_name = "TOOL=JSON", value_parser = parse_tool_arguments)]
    arguments: Vec<(String, Map<String, Value>)>,
    /// Most calls
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    max_calls: usize,
    /// Time limit of each response, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    timeout: Duration,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Configuration file to add the proposals to, YAML; made if it does not exist
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// URL of an HTTP server, instead of a command
    #[arg(id = "server_url", long = "url", value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    rest: RestArgs,
    /// Base URL of the REST API, instead of the described one
    #[arg(long, value_name = "URL", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = "REST API")]
    upstream: Option<String>,
    /// Command that starts the server, with its arguments, behind `--`
    #[arg(trailing_var_arg = true, conflicts_with = "server_url", value_name = "CMD")]
    command: Vec<OsString>,
}

/// Checks, prints, and writes the proposals.
pub(crate) fn run(options: &Options) -> CommandResult {
    terminal::start_log_without_config(options.json);
    if let Some(file) = &options.write {
        check_target(file)?;
    }
    let connector = options.connector()?;
    launcher::install_for(&options.command);
    let plan = session::Plan {
        tools: options.tools.clone(),
        arguments: options.arguments.iter().cloned().collect::<BTreeMap<_, _>>(),
        max_calls: options.max_calls,
        known: known_paths(&options.command),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let client = Client::connect(&*connector, options.timeout).await;
        // The server's stderr is copied to ours.
        let mut client = client.map_err(ClientError::without_stderr)?;
        let report = session::check(&mut client, &plan).await;
        client.close(EXIT_GRACE).await;
        report
    });
    runtime.shutdown_background();
    let report = report?;
    let written = options.write.as_deref().map(|file| add(file, &report)).transpose()?;
    let is_checked = report.checked.iter().any(|checked| checked.outcome.is_ok());
    let code = if is_checked { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let changed = written.as_ref().filter(|file| file.is_new || !file.written.added.is_empty());
    let done = changed.map(|file| format!("{} was written", file.file.display()));
    reported(show::print(&report, written.as_ref(), options.json), done.as_deref(), code)
}

impl Options {
    fn connector(&self) -> Result<Box<dyn Connector>, Box<dyn Error>> {
        let rest = self.rest.resolve(self.upstream.as_deref(), self.remote.headers()?)?;
        let server = match rest {
            Some(rest) => Some(Server::Rest(Box::new(rest))),
            None => Server::from_args(self.url.as_deref(), &self.remote, &self.command)?,
        };
        let server = server.ok_or_else(|| {
            UsageError::from("give the command of a server after `--`, its URL with --url, or the document of an API with --openapi")
        })?;
        server.check_program()?;
        server.connector()
    }
}

/// Checks that proposals can be added to a file, before a server is called for them.
///
/// # Errors
/// Returns an error if the file is no YAML, is no valid configuration, or is written in a way that cannot be changed.
fn check_target(file: &Path) -> Result<(), Box<dyn Error>> {
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        let message = format!("{}: --write adds YAML; name a file that ends with .yaml", file.display());
        return Err(UsageError::from(message).into());
    }
    if file.exists() {
        let text = find::read_file(file)?;
        check_configuration(file, &text)?;
        add_to_yaml(&text, &[]).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Adds the proposals to a file, which is made even if there are none, unless no tool was checked. The file is replaced
/// only if the new text is a valid configuration.
///
/// # Errors
/// Returns an error if the file cannot be read, changed or written.
fn add(file: &Path, report: &Report) -> Result<WrittenFile, Box<dyn Error>> {
    // A link stays a link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let exists = file.exists();
    let before = if exists { find::read_file(&file)? } else { String::new() };
    let findings = report.checked.iter().filter_map(|checked| checked.outcome.as_ref().ok());
    let proposals: Vec<_> = findings.map(|finding| (finding.proposal.clone(), comment(finding))).collect();
    let mut written = add_to_yaml(&before, &proposals).map_err(|error| named(&error))?;
    if !exists && written.added.is_empty() && !proposals.is_empty() {
        NOTHING_PROPOSED.clone_into(&mut written.text);
    }
    if written.text != before {
        check_configuration(&file, &written.text)?;
        replace_file(&file, &written.text).map_err(|error| named(&error))?;
    }
    let is_new = !exists && !written.text.is_empty();
    Ok(WrittenFile { file, is_new, written })
}

/// Parses `TOOL=JSON`.
fn parse_tool_arguments(text: &str) -> Result<(String, Map<String, Value>), String> {
    let (tool, json) = text.split_once('=').ok_or("write it as TOOL={\"name\": value}")?;
    match serde_json::from_str(json) {
        Ok(Value::Object(arguments)) => Ok((tool.to_owned(), arguments)),
        Ok(_) => Err("the part after = is JSON, but not an object".to_owned()),
        Err(error) => Err(format!("the part after = is not JSON: {error}")),
    }
}

/// Checks a text as the content of a configuration file, without variables.
fn check_configuration(file: &Path, text: &str) -> Result<(), Errors> {
    let sources = Sources {
        file: Some((file.to_owned(), text.to_owned())),
        secret_resolver: Some(Arc::new(ProcessEnvironment)),
        ..Sources::default()
    };
    Config::load(&sources, 0).map(drop)
}

/// Writes a text to a file. One that exists is replaced at once, and keeps its permissions.
fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    let Ok(metadata) = fs::metadata(file) else { return fs::write(file, text) };
    // Nobody else may read the text before the draft has the permissions of the file.
    let mut draft = NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().set_permissions(metadata.permissions())?;
    draft.persist(file)?;
    Ok(())
}
