//! Sessions of `OpenCode`: the database `opencode.db`, the folder `storage` of earlier versions, and what `opencode export`
//! writes. All have messages, and parts of messages.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::session::{Event, Session, Tool};

/// The client's own tools. Those of a server have its name before theirs.
const OWN_TOOLS: [&str; 24] = [
    "apply_patch",
    "bash",
    "batch",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "invalid",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "plan_enter",
    "plan_exit",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
    "StructuredOutput",
];

/// Reads the database.
pub(super) fn read_database(path: &Path) -> Result<Vec<Session>, Box<dyn Error>> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut parts = database.prepare(
        "SELECT m.session_id, m.data, p.message_id, p.data FROM part p JOIN message m ON m.id = p.message_id \
         ORDER BY m.session_id, m.id, p.id",
    )?;
    let mut rows = parts.query([])?;
    let mut sessions: BTreeMap<String, Vec<(String, Value, Vec<Value>)>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (session, message, id, part): (String, String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let messages = sessions.entry(session).or_default();
        if messages.last().is_none_or(|(last, ..)| *last != id) {
            messages.push((id, serde_json::from_str(&message)?, Vec::new()));
        }
        if let Some((.., parts)) = messages.last_mut() {
            parts.push(serde_json::from_str(&part)?);
        }
    }
    let read = |(id, messages): (String, Vec<(String, Value, Vec<Value>)>)| {
        read_messages(id, messages.iter().map(|(_, info, parts)| (info, parts.as_slice())))
    };
    Ok(sessions.into_iter().map(read).collect())
}

/// Reads the folder `storage`: `message/SESSION/MESSAGE.json` and `part/MESSAGE/PART.json`.
pub(super) fn read_folder(storage: &Path) -> Result<Vec<Session>, Box<dyn Error>> {
    let mut sessions = Vec::new();
    for folder in entries(&storage.join("message"))? {
        let mut messages = Vec::new();
        for file in entries(&folder)? {
            let parts = entries(&storage.join("part").join(file.file_stem().unwrap_or_default()));
            let parts = parts
                .unwrap_or_default()
                .iter()
                .map(|part| read_json(part))
                .collect::<Result<Vec<_>, _>>()?;
            messages.push((read_json(&file)?, parts));
        }
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sessions.push(read_messages(id, messages.iter().map(|(info, parts)| (info, parts.as_slice()))));
    }
    Ok(sessions)
}

/// Reads what `opencode export` writes.
pub(super) fn read_export(document: &Value) -> Session {
    let id = document["info"]["id"].as_str().unwrap_or_default().to_owned();
    let messages = document["messages"].as_array().into_iter().flatten();
    read_messages(
        id,
        messages
            .map(|message| (&message["info"], message["parts"].as_array().map_or(&[][..], Vec::as_slice))),
    )
}

/// Returns what a folder contains, in order: ids begin with their time.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let found: std::io::Result<Vec<PathBuf>> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    found.map(|mut paths| {
        paths.sort();
        paths
    })
}

fn read_json(file: &Path) -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

fn read_messages<'a>(id: String, messages: impl Iterator<Item = (&'a Value, &'a [Value])>) -> Session {
    let mut events = Vec::new();
    for (info, parts) in messages {
        if info["role"] == "user" {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            events.push(Event::Prompt(texts.join("\n")));
            continue;
        }
        if info["summary"] == true {
            events.push(Event::Compaction);
            continue;
        }
        // A message has the usage of its last step, and each step that ends has its own.
        if !parts.iter().any(|part| part["type"] == "step-start") {
            events.push(Event::Turn(context(&info["tokens"])));
        }
        for part in parts {
            match part["type"].as_str() {
                Some("step-start") => events.push(Event::Turn(None)),
                Some("step-finish") => {
                    if let Some(Event::Turn(used)) =
                        events.iter_mut().rev().find(|event| matches!(event, Event::Turn(_)))
                    {
                        *used = context(&part["tokens"]);
                    }
                }
                Some("tool") => read_tool(part, &mut events),
                _ => {}
            }
        }
    }
    Session { client: "opencode", id, events }
}

fn read_tool(part: &Value, events: &mut Vec<Event>) {
    let (id, state) = (part["callID"].as_str().unwrap_or_default(), &part["state"]);
    let name = part["tool"].as_str().unwrap_or_default();
    let tool = match name.split_once('_').filter(|_| !OWN_TOOLS.contains(&name)) {
        Some((server, name)) => Tool { server: Some(server.to_owned()), name: name.to_owned() },
        None => Tool { server: None, name: name.to_owned() },
    };
    events.push(Event::Call { id: id.to_owned(), tool, arguments: state["input"].clone() });
    let text = state["output"].as_str().or(state["error"].as_str());
    events.extend(text.map(|text| Event::Result {
        id: id.to_owned(),
        texts: vec![text.to_owned()],
        sent: None,
        is_error: state["status"] == "error",
    }));
}

/// Returns the tokens of a request. What is read from a cache is counted separately.
fn context(tokens: &Value) -> Option<u64> {
    let cache = &tokens["cache"];
    let cached = cache["read"].as_u64().unwrap_or(0) + cache["write"].as_u64().unwrap_or(0);
    tokens["input"].as_u64().map(|input| input + cached)
}
