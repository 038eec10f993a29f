//! Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, a line for each item of the conversation.

use std::collections::HashMap;

use portion_policy::client::{ClientProfile, ResultLimit};
use serde_json::Value;

use super::session::{Event, Session, Tool, texts_of};

/// Name that the client gives itself.
const CLIENT: &str = "codex-mcp-client";

/// Returns the most bytes of a result that are sent to a model.
fn sent_bytes(model: &str) -> usize {
    let limits = ClientProfile::find_by_name(CLIENT).map_or(&[][..], |client| client.for_model(model).limits);
    let bytes = limits.iter().find_map(|limit| match limit {
        ResultLimit::Bytes(bytes) => Some(*bytes),
        _ => None,
    });
    bytes.unwrap_or(usize::MAX)
}

/// Returns the beginning and the end of a text that is too long. The record has all of it.
fn cut_in_the_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (start, end) = (text.floor_char_boundary(limit / 2), text.ceil_char_boundary(text.len() - limit / 2));
    format!("{}…{}", &text[..start], &text[end..])
}

/// Reads the lines of a file.
pub(super) fn read_lines(name: &str, lines: &[Value]) -> Session {
    // Early versions wrote the items alone.
    let items = || lines.iter().map(|line| line.get("payload").unwrap_or(line));
    // What a server returned: the client sends only the beginning and the end of what is too long.
    let is_end = |item: &&Value| item["type"] == "mcp_tool_call_end";
    let ended: HashMap<&str, &Value> =
        items().filter(is_end).filter_map(|item| Some((item["call_id"].as_str()?, item))).collect();
    let mut session = Session { client: CLIENT, id: name.to_owned(), events: Vec::new() };
    let mut limit = sent_bytes("");
    let mut is_answering = false;
    for (line, item) in lines.iter().zip(items()) {
        if line["type"] == "compacted" {
            session.events.push(Event::Compaction);
            continue;
        }
        if let Some(model) = item["model"].as_str().filter(|_| line["type"] == "turn_context") {
            limit = sent_bytes(model);
        }
        let id = item["call_id"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or_default();
        let is_of_model = match kind {
            "message" => item["role"] == "assistant",
            "function_call_output" | "custom_tool_call_output" => false,
            _ if line["type"] == "response_item" || line.get("payload").is_none() => {
                kind.ends_with("_call") || kind == "reasoning"
            }
            _ => is_answering,
        };
        if is_of_model && !is_answering {
            session.events.push(Event::Turn(None));
        }
        is_answering = is_of_model;
        match kind {
            "message" if item["role"] == "user" => {
                session.events.push(Event::Prompt(texts_of(&item["content"]).join("\n")));
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let arguments = [&item["arguments"], &item["input"], &item["action"]];
                let arguments = arguments.into_iter().find(|value| !value.is_null()).unwrap_or(&Value::Null);
                let parsed = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
                let tool = match ended.get(id).map(|end| &end["invocation"]) {
                    Some(invocation) => Tool {
                        server: invocation["server"].as_str().map(str::to_owned),
                        name: invocation["tool"].as_str().unwrap_or_default().to_owned(),
                    },
                    None => Tool::from_mcp_name(item["name"].as_str().unwrap_or(kind)),
                };
                session.events.push(Event::Call {
                    id: id.to_owned(),
                    tool,
                    arguments: parsed.unwrap_or_else(|| arguments.clone()),
                });
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = &item["output"];
                let recorded = texts_of(output.get("content").unwrap_or(output));
                let returned = ended.get(id).map(|end| texts_of(&end["result"]["Ok"]["content"]));
                session.events.push(Event::Result {
                    id: id.to_owned(),
                    is_error: output["success"] == false,
                    sent: Some(cut_in_the_middle(&recorded.join("\n"), limit)),
                    texts: returned.filter(|texts| !texts.is_empty()).unwrap_or(recorded),
                });
            }
            "token_count" => {
                let used = item["info"]["last_token_usage"]["input_tokens"].as_u64();
                let turn = session.events.iter_mut().rev().find(|event| matches!(event, Event::Turn(_)));
                if let (Some(Event::Turn(context @ None)), Some(_)) = (turn, used) {
                    *context = used;
                }
            }
            _ => {}
        }
    }
    session
}
