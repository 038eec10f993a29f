//! Answers a program: each line of stdin is a result or a follow-up, each line of stdout its reply.

use std::io::{self, BufRead as _};
use std::process::ExitCode;
use std::sync::Arc;

use portion_config::Config;
use portion_gateway::call::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cli::failure::Failure;
use crate::cli::terminal::print_stdout;
use crate::command::CommandResult;
use crate::run::shaper::{Shaped, Shaper, ToolName};

/// A line of stdin.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RequestLine {
    Result(ResultLine),
    FollowUp(FollowUpLine),
}

/// A result of a tool, with arguments of `portion_read` or `portion_query`.
#[derive(Debug, Deserialize)]
struct ResultLine {
    text: String,
    tool: Option<String>,
    #[serde(flatten)]
    arguments: Map<String, Value>,
}

/// Arguments of `portion_read` or `portion_query`.
#[derive(Debug, Deserialize)]
struct FollowUpLine {
    cursor: String,
    #[serde(flatten)]
    arguments: Map<String, Value>,
}

/// Answers lines until stdin ends.
pub(super) fn answer_all(config: Config) -> CommandResult {
    let shaper = Shaper::new(&Arc::new(config), None)?;
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => answer(&shaper, request).unwrap_or_else(|fault| fault.to_json()),
            Err(error) => {
                let message = format!("a line of stdin is no request: {error}");
                json!({ "error": Failure::from_message(message).to_json() }).to_string()
            }
        };
        print_stdout(&format!("{answer}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the reply as a line of JSON. A result that passes unchanged is not repeated.
fn answer(shaper: &Shaper, request: RequestLine) -> Result<String, Fault> {
    let reply = match request {
        RequestLine::Result(ResultLine { text, tool, arguments }) => {
            let tool = tool.as_deref().map(|name| ToolName { server: None, name });
            let has_arguments = !arguments.is_empty();
            let texts = [text];
            let reply = shaper.shape(tool, &texts, false, &Value::Object(arguments).to_string())?;
            // The notice of a result that fits the budget it was asked for has no news.
            let has_news =
                |reply: &Shaped| reply.next_cursor.is_some() || reply.texts.first() != texts.first();
            reply.filter(|reply| !has_arguments || has_news(reply))
        }
        RequestLine::FollowUp(FollowUpLine { cursor, mut arguments }) => {
            arguments.insert("cursor".to_owned(), cursor.as_str().into());
            shaper.follow_up(&cursor, &Value::Object(arguments).to_string())?
        }
    };
    let answer = match reply {
        None => json!({ "shortened": false }),
        Some(Shaped { texts, notice, cursor, next_cursor, tokens, .. }) => json!({
            "shortened": true,
            "text": texts.join("\n"),
            "notice": notice,
            "cursor": cursor,
            "nextCursor": next_cursor,
            "tokens": tokens,
        }),
    };
    Ok(answer.to_string())
}
