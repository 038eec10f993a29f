//! Sessions of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, a line for each block of a message.

use std::collections::HashMap;

use serde_json::Value;

use super::session::{Event, Session, Tool, texts_of};

/// Reads the lines of a file. Agents that share it with the session are sessions of their own.
pub(super) fn read_lines(name: &str, lines: Vec<Value>) -> Vec<Session> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut sessions: Vec<(Session, String)> = Vec::new();
    for line in lines {
        let agent = match line["agentId"].as_str() {
            None if line["isSidechain"] == true => "agents",
            agent => agent.unwrap_or_default(),
        };
        let place = *places.entry(agent.to_owned()).or_insert_with(|| {
            let id = if agent.is_empty() { name.to_owned() } else { format!("{name} {agent}") };
            sessions.push((Session { client: "claude-code", id, events: Vec::new() }, String::new()));
            sessions.len() - 1
        });
        let (session, turn) = &mut sessions[place];
        read_line(&line, turn, &mut session.events);
    }
    sessions.into_iter().map(|(session, _)| session).filter(|session| !session.events.is_empty()).collect()
}

/// Reads a line. `turn`: the id of the last reply of the model, which has a line for each of its blocks.
fn read_line(line: &Value, turn: &mut String, events: &mut Vec<Event>) {
    let message = &line["message"];
    match line["type"].as_str() {
        Some("assistant") => {
            let id = message["id"].as_str().or(line["uuid"].as_str()).unwrap_or_default();
            if *turn != id {
                id.clone_into(turn);
                let usage = &message["usage"];
                let figures = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
                let figures: Vec<u64> = figures.iter().filter_map(|name| usage[name].as_u64()).collect();
                events.push(Event::Turn((!figures.is_empty()).then(|| figures.iter().sum())));
            }
            for block in blocks(message).filter(|block| block["type"] == "tool_use") {
                events.push(Event::Call {
                    id: block["id"].as_str().unwrap_or_default().to_owned(),
                    tool: Tool::from_mcp_name(block["name"].as_str().unwrap_or_default()),
                    arguments: block["input"].clone(),
                });
            }
        }
        Some("user") if line["isCompactSummary"] == true => events.push(Event::Compaction),
        Some("user") => {
            let results: Vec<&Value> =
                blocks(message).filter(|block| block["type"] == "tool_result").collect();
            if results.is_empty() {
                events.push(Event::Prompt(texts_of(&message["content"]).join("\n")));
            }
            events.extend(results.into_iter().map(|block| Event::Result {
                id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
                texts: texts_of(&block["content"]),
                sent: None,
                is_error: block["is_error"] == true,
            }));
        }
        Some("system") if line["subtype"] == "compact_boundary" => events.push(Event::Compaction),
        _ => {}
    }
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}
