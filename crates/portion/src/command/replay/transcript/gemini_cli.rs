//! Sessions of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-….json` or `.jsonl`. A reply of the model contains its calls
//! with their results.

use serde_json::Value;

use super::session::{Event, Session, Tool, texts_of};

/// Reads a file with a line for each message. A message that has changed is written again.
pub(super) fn read_lines(name: &str, lines: Vec<Value>) -> Session {
    let mut messages: Vec<Value> = Vec::new();
    for line in lines {
        let place = |id: &Value| messages.iter().rposition(|message| message["id"] == *id);
        if let Some(target) = line.get("$rewindTo") {
            messages.truncate(place(target).unwrap_or(messages.len()));
        } else if let Some(id) = line.get("id") {
            match place(id) {
                Some(place) => messages[place] = line,
                None => messages.push(line),
            }
        }
    }
    read_messages(name, messages)
}

/// Reads the messages of a session.
pub(super) fn read_messages(name: &str, messages: Vec<Value>) -> Session {
    let mut events = Vec::new();
    for message in messages {
        match message["type"].as_str() {
            Some("user") => events.push(Event::Prompt(texts_of(&message["content"]).join("\n"))),
            Some("gemini") => {
                events.push(Event::Turn(message["tokens"]["input"].as_u64()));
                let calls = message["toolCalls"].as_array().into_iter().flatten();
                let (calls, results): (Vec<_>, Vec<_>) = calls.map(read_call).unzip();
                events.extend(calls.into_iter().chain(results));
            }
            _ => {}
        }
    }
    Session { client: "gemini-cli-mcp-client", id: name.to_owned(), events }
}

fn read_call(call: &Value) -> (Event, Event) {
    let id = call["id"].as_str().unwrap_or_default();
    let name = call["name"].as_str().unwrap_or_default();
    let shown = call["displayName"].as_str().and_then(|shown| shown.strip_suffix(" MCP Server)"));
    let tool = match shown.and_then(|shown| shown.rsplit_once(" (")) {
        Some((name, server)) => Tool { server: Some(server.to_owned()), name: name.to_owned() },
        None => Tool { server: None, name: name.to_owned() },
    };
    let parts = call["result"].as_array().into_iter().flatten();
    let texts = parts.flat_map(|part| match part.get("functionResponse").map(|given| &given["response"]) {
        Some(response) => match [&response["output"], &response["content"]].map(texts_of).concat() {
            texts if texts.is_empty() => vec![response.to_string()],
            texts => texts,
        },
        None => part["text"].as_str().map(str::to_owned).into_iter().collect(),
    });
    let result = Event::Result {
        id: id.to_owned(),
        texts: texts.collect(),
        sent: None,
        is_error: call["status"] == "error",
    };
    (Event::Call { id: id.to_owned(), tool, arguments: call["args"].clone() }, result)
}
