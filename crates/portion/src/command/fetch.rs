//! `portion fetch`: calls a retrieval tool and keeps its best chunks within a token budget.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead as _};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Args;
use portion_client::client::{Client, ClientError};
use portion_client::read::FieldNames;
use portion_client::select::Fill;
use portion_client::{
    DropReason, DroppedChunk, FetchError, FetchRequest, FetchResult, MAX_CONTEXT_TOKENS, fetch,
};
use portion_mcp::upstream::link::Connector;
use portion_text::display::counted;
use portion_tokens::Tokenizer;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::{CommandResult, parse_arguments};
use crate::cli::failure::Failure;
use crate::cli::remote::RemoteArgs;
use crate::cli::terminal::{self, folded, print_stdout, reported};
use crate::run::server::Server;

/// Time for the server to end after its result was printed.
const EXIT_GRACE: Duration = Duration::from_millis(700);

const AFTER_HELP: &str = "\
Examples:
  portion fetch --tool search --args '{\"query\":\"grapple\"}' -- uvx my-rules-server
  portion fetch --tool search --json --fill value --url https://mcp.example.com/mcp
  portion fetch --tool search --text-field body --score-field rank -- my-server

With --requests, each line of stdin is a request for the same server:
  {\"tool\":\"search\",\"arguments\":{\"query\":\"grapple\"},\"max_context_tokens\":4096,\"fill\":\"skip\"}

With --json stdout has {\"chunks\":[…],\"truncated\":…,\"dropped\":…,\"tokens\":…}. If chunks are left out, stderr has
a warning as a line of JSON. The exit code is 0 also then; it is 1 if the call failed or its result has no chunks.";

/// Options of `portion fetch`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("http_server").args(["server_url"]))]
pub(crate) struct Options {
    /// The tool to call
    #[arg(long, value_name = "NAME", required_unless_present = "requests")]
    tool: Option<String>,
    /// Arguments of the tool, a JSON object
    #[arg(long = "args", value_name = "JSON", default_value = "{}", value_parser = |text: &str| parse_arguments(text).map(|_| text.to_owned()))]
    arguments: String,
    /// Budget of the chunks' texts, in tokens
    #[arg(long, value_name = "N", default_value_t = MAX_CONTEXT_TOKENS)]
    max_context_tokens: usize,
    /// Behaviour after a chunk that does not fit: stop ends, skip goes on, value keeps the most valuable set
    #[arg(long, value_name = "WAY", default_value_t, value_parser = str::parse::<Fill>)]
    fill: Fill,
    /// Counter of the budget: len4 is the number of characters by four, others are o200k, cl100k, claude, chars4, auto
    #[arg(long, value_name = "NAME", default_value = "len4", value_parser = str::parse::<Tokenizer>)]
    tokenizer: Tokenizer,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Read requests from stdin, a JSON object a line, and print each result as a line of JSON; the server is kept
    #[arg(long, conflicts_with_all = ["tool", "arguments"])]
    requests: bool,
    /// Field of a chunk that holds its text, as in payload.text; found among the usual names by default
    #[arg(long, value_name = "FIELD")]
    text_field: Option<String>,
    /// Field of a chunk that holds its score, higher is better
    #[arg(long, value_name = "FIELD")]
    score_field: Option<String>,
    /// Field of a chunk that holds its id
    #[arg(long, value_name = "FIELD")]
    id_field: Option<String>,
    /// Member of the result that holds the list of chunks, as in data.hits
    #[arg(long, value_name = "FIELD")]
    list_field: Option<String>,
    /// Time limit of the whole call, as in 90s or 2m; a plain number is seconds
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
    /// URL of an HTTP server, instead of a command
    #[arg(id = "server_url", long = "url", value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Command that starts the server, with its arguments, behind `--`
    #[arg(
        trailing_var_arg = true,
        conflicts_with = "server_url",
        required_unless_present = "server_url",
        value_name = "CMD"
    )]
    command: Vec<OsString>,
}

/// Calls the tool, prints what is kept, and warns if anything is left out.
pub(crate) fn run(options: &Options) -> CommandResult {
    terminal::start_log_without_config(true);
    let server = Server::from_args(options.url.as_deref(), &options.remote, &options.command)?;
    let server = server.ok_or("give the command of a server after `--`, or its URL with --url")?;
    server.check_program()?;
    let connector = server.connector()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let Some(tool) = &options.tool else { return answer_all(options, &*connector).await };
        let request = options.request(tool, &options.arguments);
        let client = Client::connect(&*connector, options.timeout).await;
        // The server's stderr is copied to ours.
        let mut client = client.map_err(ClientError::without_stderr)?;
        let outcome = fetch(&mut client, &request).await;
        // Printed before the server ends, which may take its time.
        let printed = outcome.map_err(|error| error.without_stderr().into()).and_then(|result| {
            warn_if_truncated(&request, &result);
            reported(print(options, &result), None, ExitCode::SUCCESS)
        });
        client.close(EXIT_GRACE).await;
        printed
    });
    runtime.shutdown_background();
    outcome
}

impl Options {
    fn request(&self, tool: &str, arguments: &str) -> FetchRequest {
        FetchRequest {
            names: FieldNames {
                text: self.text_field.clone(),
                score: self.score_field.clone(),
                id: self.id_field.clone(),
                list: self.list_field.clone(),
            },
            max_context_tokens: self.max_context_tokens,
            tokenizer: self.tokenizer,
            fill: self.fill,
            ..FetchRequest::new(tool, arguments)
        }
    }
}

/// A request, as a line of stdin has it. What it leaves out is as on the command line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestLine {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    max_context_tokens: Option<usize>,
    fill: Option<String>,
}

/// Answers requests until stdin ends. A server that has ended is connected again for the next request.
async fn answer_all(options: &Options, connector: &dyn Connector) -> CommandResult {
    let mut lines = stdin_lines();
    let mut connected = None;
    while let Some(line) = lines.recv().await {
        let answer = match request(options, &line) {
            Ok(request) => answer(options, connector, &mut connected, &request).await,
            Err(message) => Err(message),
        };
        let failure = |message| json!({ "error": Failure::from_message(message).to_json() }).to_string();
        print_stdout(&format!("{}\n", answer.unwrap_or_else(failure)))?;
    }
    if let Some(mut client) = connected {
        client.renew_deadline();
        client.close(EXIT_GRACE).await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Logs what was left out, without its content.
fn warn_if_truncated(request: &FetchRequest, result: &FetchResult) {
    if !result.is_truncated() {
        return;
    }
    let oversized = result.dropped.iter().filter(|chunk| chunk.reason == DropReason::Oversized);
    for chunk in oversized.filter(|chunk| is_above(chunk, result)) {
        let id = chunk.id.as_deref().unwrap_or("none");
        tracing::warn!(
            position = chunk.position,
            id,
            tokens = chunk.tokens,
            max_context_tokens = request.max_context_tokens,
            "a chunk above all that were kept alone exceeds the budget"
        );
    }
    tracing::warn!(
        tool = request.tool,
        kept = result.chunks.len(),
        dropped = result.dropped.len(),
        oversized = result.dropped_for(DropReason::Oversized),
        without_text = result.dropped_for(DropReason::NoText),
        tokens = result.tokens,
        max_context_tokens = request.max_context_tokens,
        tokenizer = %request.tokenizer,
        fill = request.fill.name(),
        "chunks were left out of the context"
    );
}

/// Returns true if a chunk would have come before all that were kept.
fn is_above(chunk: &DroppedChunk, result: &FetchResult) -> bool {
    let Some(best) = result.chunks.first() else { return true };
    match (chunk.score, best.score) {
        (Some(score), Some(best_score)) => match score.partial_cmp(&best_score) {
            Some(Ordering::Equal) => chunk.position < best.position,
            order => order == Some(Ordering::Greater),
        },
        (None, None) => chunk.position < best.position,
        (score, _) => score.is_some(),
    }
}

fn print(options: &Options, result: &FetchResult) -> io::Result<()> {
    if options.json {
        return print_stdout(&format!("{}\n", result.to_json()));
    }
    let mut text = String::new();
    for (place, chunk) in result.chunks.iter().enumerate() {
        let id = chunk.id.as_deref().map(|id| format!(" · {}", id.trim_matches('"'))).unwrap_or_default();
        let score = chunk.score.map(|score| format!(" · score {score}")).unwrap_or_default();
        let body = chunk.text.as_deref().unwrap_or_default();
        let _ = writeln!(text, "--- {}{id}{score}\n{body}\n", place + 1);
    }
    let all = result.chunks.len() + result.dropped.len();
    let (kept, tokens, budget) = (result.chunks.len(), result.tokens, options.max_context_tokens);
    let total = counted(all, "chunk");
    let line = format!("{kept} of {total}, {tokens} of {budget} tokens ({})", options.tokenizer);
    print_stdout(&(text + &folded(&line)))
}

/// Accepts `90s`, `2m`, or seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let limit = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if limit.is_zero() { Err("write a time above 0, such as 90s".to_owned()) } else { Ok(limit) }
}

/// Returns the result of a request as a line of JSON.
async fn answer(
    options: &Options,
    connector: &dyn Connector,
    connected: &mut Option<Client>,
    request: &FetchRequest,
) -> Result<String, String> {
    let client = if let Some(client) = connected {
        client.renew_deadline();
        client
    } else {
        let client = Client::connect(connector, options.timeout).await;
        connected.insert(client.map_err(|error| error.without_stderr().to_string())?)
    };
    match fetch(client, request).await {
        Ok(result) => {
            warn_if_truncated(request, &result);
            Ok(result.to_json())
        }
        Err(error) => {
            if matches!(error, FetchError::Client(ClientError::Closed { .. })) {
                *connected = None;
            }
            Err(error.without_stderr().to_string())
        }
    }
}

fn request(options: &Options, line: &str) -> Result<FetchRequest, String> {
    let line: RequestLine =
        serde_json::from_str(line).map_err(|error| format!("a line of stdin is no request: {error}"))?;
    let base = options.request(&line.tool, &Value::Object(line.arguments).to_string());
    Ok(FetchRequest {
        max_context_tokens: line.max_context_tokens.unwrap_or(base.max_context_tokens),
        fill: match line.fill {
            Some(name) => name.parse().map_err(|error| format!("{error}"))?,
            None => base.fill,
        },
        ..base
    })
}

/// Returns the lines of stdin. A thread reads them, because reading blocks.
fn stdin_lines() -> UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        let mut read = io::stdin().lock().lines().map_while(Result::ok);
        read.all(|line| sender.send(line).is_ok());
    });
    lines
}
