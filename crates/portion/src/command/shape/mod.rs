//! `portion shape`: shows what a model would see of a file, and why.
mod show;

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use clap::Args;
use portion_config::{Config, Warnings};
use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::ranking::rank;
use portion_core::render::{self, Context, FirstReply};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, ViewError, resolve};
use portion_gateway::call::{Fault, SnapshotQuery};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::rules::{EndpointRule, EndpointRules};
use portion_json::scan::quote;
use portion_policy::endpoint::{Endpoint, EndpointTarget};
use portion_text::encoding::{Decoded, decode};
use thiserror::Error;

use self::show::ShapedFile;
use super::CommandResult;
use crate::cli::failure::UsageError;
use crate::cli::options::{ConfigOptions as Keys, PayloadKeys};
use crate::cli::terminal::{print_stdout, reported};
use crate::run::setup::limits_from_environment;

const AFTER_HELP: &str = "\
Examples:
  portion shape --explain big.json
  portion shape --json big.json
  portion shape big.json --fields id,price.total --sort 'price.total desc'
  portion shape server.log --start-line -20
  portion shape big.json --sql 'SELECT status, count(*) FROM items GROUP BY status'
  portion shape server.log --find 'connection refused'

The cursors shown cannot be used. They are printed because they are part of the cost of a reply.

With --requests, results are kept until stdin ends, and cursors can be used. A line is a result, with the name of its \
tool if that has settings of its own, or a follow-up; both take the arguments of portion_read and portion_query:
  {\"text\":\"…\",\"maxTokens\":2000,\"tool\":\"list_invoices\"}
  {\"cursor\":\"…\",\"query\":\"SELECT count(*) FROM items\"}";

/// Time after which the user is told that the end of the input is awaited.
const SLOW_READ: Duration = Duration::from_secs(2);

/// Options of `portion shape`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// File to read; `-` is stdin
    #[arg(required_unless_present = "requests")]
    file: Option<PathBuf>,
    /// Read results and follow-ups from stdin, a JSON object a line, and print each reply as a line of JSON
    #[arg(long, conflicts_with_all = ["file", "explain", "json"])]
    requests: bool,
    /// Explain on stderr how the file was detected and shown
    #[arg(long, visible_alias = "verbose")]
    explain: bool,
    /// Print one JSON object: what was detected, the sizes, and the blocks of the reply
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    controls: RequestArgs,
    #[command(flatten)]
    config_keys: Keys<PayloadKeys>,
    /// Apply the settings of this endpoint: the name of a tool or prompt, or the URI of a resource
    #[arg(long, value_name = "NAME", help_heading = "Configuration")]
    endpoint: Option<String>,
}

/// Queries on the file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Queries")]
struct QueryArgs {
    /// Run a SELECT over the records (table items) or the lines of a text (table lines)
    #[arg(long, value_name = "SELECT", conflicts_with = "find")]
    sql: Option<String>,
    /// Search for a text or a /regex/
    #[arg(long, value_name = "TEXT")]
    find: Option<String>,
    /// Lines to show around each match
    #[arg(long, value_name = "LINES", requires = "find")]
    context: Option<u32>,
}

/// Controls.
#[derive(Debug, Args)]
#[command(next_help_heading = "Controls")]
struct RequestArgs {
    /// Maximum items, rows or lines
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    limit: Option<String>,
    /// Page number, from 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    page: Option<String>,
    /// Range of pages: 1-3
    #[arg(long, value_name = "FROM-TO")]
    pages: Option<String>,
    /// Items, rows or lines to skip
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    offset: Option<String>,
    /// Fields to show: id,price.total, or all
    #[arg(long, value_name = "NAMES")]
    fields: Option<String>,
    /// Heading, or name from detailsAvailable
    #[arg(long, value_name = "NAME")]
    section: Option<String>,
    /// JSON Pointer or dotted path
    #[arg(long)]
    path: Option<String>,
    /// First line, from 1; negative from the end
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    start_line: Option<String>,
    /// Last line, inclusive
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    end_line: Option<String>,
    /// Field to sort by: created, or "created desc" for largest first
    #[arg(long, value_name = "FIELD")]
    sort: Option<String>,
    /// Show the original bytes, white space included
    #[arg(long)]
    raw: bool,
    /// Maximum tokens of the reply
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    max_tokens: Option<String>,
}

/// Reason that nothing is shown.
#[derive(Debug, Error)]
enum ShapeError {
    #[error("cannot read {file}: {source}")]
    Unreadable { file: String, source: std::io::Error },
    #[error(
        "{file} is larger than {limit} bytes, the limit of a server message; use a part of it, as in \
         head -c 10M {file} | portion shape -, or set upstreamMessageLimit"
    )]
    TooLarge { file: String, limit: usize },
    #[error("{file} is not text: {size} bytes, {format}")]
    Binary { file: String, size: usize, format: &'static str },
    #[error("{}: {}; {}", .0.code(), .0, .0.advice())]
    Request(#[from] ViewError),
    #[error("{}: {}; {}", .0.code, .0.message, .0.advice)]
    Query(Fault),
}

/// Prints the reply that a model would see.
pub(crate) fn run(options: &Options) -> CommandResult {
    let sources = options.config_keys.sources()?;
    let (config, Warnings(warnings)) = Config::load(&sources, 0)?;
    for warning in warnings {
        crate::cli::terminal::print_stderr!("portion: {warning}");
    }
    if options.requests {
        return show::answer_all(config);
    }
    let limit = config.upstream_message_limit();
    let rules = EndpointRules::new(Arc::new(config), limits_from_environment());
    let rule = match &options.endpoint {
        Some(name) => rules.rule_for(EndpointTarget::from_name(name)),
        None => Arc::clone(rules.default_rule()),
    };
    let effective_policy = rule.policy_for_client(rules.resolve_client(None));
    let EffectivePolicy { policy, counter, redact, .. } = &**effective_policy;
    let (text, invalid_utf8_count) = read_text(options, limit)?;
    let list_path = policy.render_options.list_path.clone();
    let snapshot = capture(Payload {
        blocks: vec![Block::new("/content/0/text", Content::Text(text))],
        invalid_utf8_count,
        redaction_rules: redact.clone().map(|redact| redact as _),
        list_path: list_path.clone(),
        ..Payload::default()
    });
    if let Some(path) = list_path.filter(|_| snapshot.has_missing_list_path()) {
        let file = options.path().display();
        crate::cli::terminal::print_stderr!(
            "portion: no list is at `{path}` (items) in {file}; Portion detects one instead"
        );
    }
    let mut request =
        options.controls.to_request(policy).map_err(|error| UsageError::from(error.to_string()))?;
    let answer = options.query.answer(&snapshot, &mut request, policy)?;
    let snapshot = answer.unwrap_or(snapshot);
    let resolved = resolve(&snapshot, None, &request, policy).map_err(ShapeError::from)?;
    let resolved = rank(&snapshot, resolved, policy, *counter);
    // These cursors lead nowhere: they are shown because they are part of the cost of a reply.
    let (keyring, scope) = (Keyring::new(&[0; 32]), Scope::from_principal("shape"));
    let issue_cursor = |position: Position| {
        Some(keyring.sign(&CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position }, &scope))
    };
    let cx = Context {
        policy,
        counter: *counter,
        issue_cursor: &issue_cursor,
        read_call: "portion_read".into(),
        query_tool: Some("portion_query"),
        read_uri: None,
    };
    let reply = match snapshot.answer() {
        Some(_) => FirstReply::Portion(render::follow_up_reply(&snapshot, &resolved, &cx)),
        None => render::first_reply(&snapshot, &resolved, &cx),
    };
    let is_plain_file = request.is_plain() && snapshot.answer().is_none();
    if is_plain_file
        && matches!(reply, FirstReply::Portion(_))
        && rule.config().refuses_oversized
        && effective_policy.exceeds_threshold(snapshot.distinct_texts())
    {
        let cursor = issue_cursor(Position::default());
        return print_refusal(options, &snapshot, &rule, policy, cursor);
    }
    let shaped =
        ShapedFile { snapshot: &snapshot, reply: &reply, counter: *counter, budget: resolved.token_budget };
    if options.explain {
        shaped.explain(policy);
    }
    let printed = if options.json { shaped.print_json() } else { shaped.print() };
    if !options.json && !options.explain && std::io::stderr().is_terminal() {
        crate::cli::terminal::print_stderr!("{}", shaped.summary());
    }
    reported(printed, None, ExitCode::SUCCESS)
}

/// Reads the file as text, and counts its bytes that are not UTF-8.
fn read_text(options: &Options, limit: usize) -> Result<(String, usize), ShapeError> {
    let bytes = read(options, limit)?;
    let file = options.path().display();
    match decode(&bytes) {
        Decoded::Utf8(text, invalid_count) => Ok((text.into_owned(), invalid_count)),
        Decoded::Other(text, encoding, invalid_count) => {
            crate::cli::terminal::print_stderr!("portion: {file} is {encoding}; it is shown as UTF-8");
            Ok((text, invalid_count))
        }
        Decoded::Binary(format) => {
            let (size, format) = (bytes.len(), format.unwrap_or("of an unknown format"));
            Err(ShapeError::Binary { file: file.to_string(), size, format })
        }
    }
}

/// Reads at most the size of a server's message, because a device or a pipe may have no end.
fn read(options: &Options, limit: usize) -> Result<Vec<u8>, ShapeError> {
    let file = || options.path().display().to_string();
    let unreadable = |why| ShapeError::Unreadable { file: file(), source: why };
    let max = limit as u64 + 1;
    let mut bytes = Vec::new();
    let is_stdin = options.path().as_os_str() == "-";
    let is_file = !is_stdin && std::fs::metadata(options.path()).map_err(unreadable)?.is_file();
    // A pipe may have no writer, and a terminal waits for input.
    let waiting = (!is_file).then(|| hint_at_slow_read(file()));
    if is_stdin {
        std::io::stdin().lock().take(max).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let opened = std::fs::File::open(options.path()).map_err(unreadable)?;
        opened.take(max).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    drop(waiting);
    if bytes.len() > limit {
        return Err(ShapeError::TooLarge { file: file(), limit });
    }
    Ok(bytes)
}

/// Prints a line if reading takes long. Dropping the returned end ends the wait.
fn hint_at_slow_read(file: String) -> Sender<()> {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        if ended.recv_timeout(SLOW_READ) == Err(RecvTimeoutError::Timeout) {
            let name = if file == "-" { "stdin" } else { file.as_str() };
            crate::cli::terminal::print_stderr!(
                "portion: waiting for the end of {name}, which is not a regular file"
            );
        }
    });
    done
}

/// Prints the error in place of a result that is refused for its size.
fn print_refusal(
    options: &Options,
    snapshot: &Snapshot,
    rule: &EndpointRule,
    policy: &Policy,
    cursor: Option<CursorToken>,
) -> CommandResult {
    if options.explain {
        crate::cli::terminal::print_stderr!("shown       an error, because of oversized: refuse");
    }
    let endpoint = options.endpoint.as_ref().map(|name| Endpoint {
        name: name.clone(),
        kind: EndpointTarget::from_name(name).kind,
        read_only: rule.config().read,
        idempotent: false,
    });
    let size = (snapshot.payload_bytes(), policy.token_budget_threshold);
    let fault = Fault::oversized(size, endpoint.as_ref(), cursor, "portion_read".into());
    reported(print_stdout(&format!("{}\n", fault.to_json())), None, ExitCode::SUCCESS)
}

impl Options {
    /// Returns the file to read.
    fn path(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new("-"))
    }
}

impl QueryArgs {
    /// Returns the answer to a query on a part of the file, as a snapshot of its own, and the request for that snapshot.
    fn answer(
        &self,
        snapshot: &Snapshot,
        request: &mut Request,
        policy: &Policy,
    ) -> Result<Option<Snapshot>, ShapeError> {
        let ask = match (&self.sql, &self.find) {
            (Some(sql), _) => SnapshotQuery::Sql { sql: sql.clone(), params: Vec::new(), with: Vec::new() },
            (None, Some(pattern)) => {
                let (pattern, fields) = (pattern.clone(), request.fields.take());
                SnapshotQuery::Find { pattern, context: self.context, fields, keys: false }
            }
            (None, None) => match resolve(snapshot, None, request, policy) {
                Ok(_) => return Ok(None),
                Err(error) => {
                    let ask = SnapshotQuery::for_text(snapshot, None, request, policy, error)?;
                    (request.fields, request.sort) = (None, None);
                    ask
                }
            },
        };
        let (path, section) = (request.path.take(), request.section.take());
        let place = Request { path, section, ..Request::default() };
        let view = resolve(snapshot, None, &place, policy)?.view;
        ask.run(snapshot, &view).map(capture).map(Some).map_err(ShapeError::Query)
    }
}

impl RequestArgs {
    fn to_request(&self, policy: &Policy) -> Result<Request, ShapeError> {
        let given = [
            ("limit", &self.limit),
            ("page", &self.page),
            ("pages", &self.pages),
            ("offset", &self.offset),
            ("fields", &self.fields),
            ("section", &self.section),
            ("path", &self.path),
            ("startLine", &self.start_line),
            ("endLine", &self.end_line),
            ("sort", &self.sort),
            ("maxTokens", &self.max_tokens),
        ];
        let mut request = Request { raw: self.raw, ..Request::default() };
        for (name, value) in given {
            if let Some(value) = value {
                request.set_control(name, &quote(value), policy)?;
            }
        }
        Ok(request)
    }
}
