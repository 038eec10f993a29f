//! Answers requests of a program on one connection: each line of stdin is a request, each line of stdout its result.

use std::io::{self, BufRead as _};
use std::process::ExitCode;
use std::thread;

use portion_client::client::{Client, ClientError};
use portion_client::fetch::{FetchError, FetchRequest, fetch};
use portion_mcp::upstream::link::Connector;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::{EXIT_GRACE, Options, warn_if_truncated};
use crate::cli::failure::Failure;
use crate::cli::terminal::print_stdout;
use crate::command::CommandResult;

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
pub(super) async fn answer_all(options: &Options, connector: &dyn Connector) -> CommandResult {
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
