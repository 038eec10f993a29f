//! Reads a log of any length entry by entry: JSON Lines, or one JSON array. An entry has the texts of a request,
//! and the tokens charged for them.
//!
//! Formats differ. Request and response are side by side, or under `request` and `response`, with bodies as JSON or as
//! text. An entry is skipped if it contains tokens that cannot be counted: images, reasoning, state on the server.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error;

/// Longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Most bytes skipped of a longer line.
const MAX_SKIPPED_BYTES: u64 = 256 << 20;

/// Usable content of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogEntry {
    /// Name of the model, if it is given.
    pub(super) model: Option<String>,
    /// All texts of the request.
    pub(super) texts: Vec<String>,
    /// Tokens charged for the request.
    pub(super) charged_tokens: u64,
}

/// Reason that an entry is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub(super) enum UnusableReason {
    #[error("not JSON")]
    NotJson,
    #[error("not an object")]
    NotAnObject,
    #[error("too long")]
    TooLong,
    #[error("no usage figures (usage.input_tokens, usage.prompt_tokens, input_tokens)")]
    NoUsage,
    #[error("no request text (messages, input, system, text)")]
    NoTexts,
    #[error("images, audio, documents or other non-text content")]
    NonTextContent,
    #[error("reasoning, or context stored on the server: these tokens are charged but not in the log")]
    HiddenTokens,
    #[error("no known model; name its tokenizer with --tokenizer")]
    UnknownModel,
}

impl LogEntry {
    /// Parses an entry.
    ///
    /// # Errors
    /// Returns the reason that it is skipped.
    pub(super) fn from_json(entry: &Value) -> Result<Self, UnusableReason> {
        let entry = entry.as_object().ok_or(UnusableReason::NotAnObject)?;
        let (request, response) = (entry_side(entry, "request"), entry_side(entry, "response"));
        let charged =
            charged_tokens(&response).or_else(|| charged_tokens(entry)).ok_or(UnusableReason::NoUsage)?;
        let model = [&request, &response, entry].into_iter().find_map(|side| side.get("model")?.as_str());
        let model = model.map(str::to_owned);
        let mut texts = TextCollector::default();
        if let Some(Value::String(text)) = entry.get("text").filter(|_| entry.contains_key("tokens")) {
            texts.0.push(text.clone());
        } else {
            texts.add_request(&request)?;
        }
        if texts.0.iter().all(String::is_empty) {
            Err(UnusableReason::NoTexts)
        } else {
            Ok(Self { model, texts: texts.0, charged_tokens: charged })
        }
    }
}

/// Passes each entry with its place to a function: its line, or its position in the array, from 1.
///
/// # Errors
/// Returns an error if the log cannot be read, or is an invalid array.
pub(super) fn for_each_entry(
    log: impl BufRead,
    mut show: impl FnMut(u64, Result<Value, UnusableReason>),
) -> io::Result<()> {
    let mut log = log;
    match first_byte(&mut log)? {
        Some(b'[') => Ok(serde_json::Deserializer::from_reader(log).deserialize_seq(EntryVisitor(show))?),
        Some(_) => for_each_line(log, &mut show),
        None => Ok(()),
    }
}

/// Returns one side of an entry: under its name, with or without a body, or the entry itself.
fn entry_side(entry: &Map<String, Value>, name: &str) -> Map<String, Value> {
    let found = entry.get(name).and_then(parse_object);
    let Some(found) = found else { return entry.clone() };
    found.get("body").and_then(parse_object).unwrap_or(found)
}

/// Returns an object, parsed if it is a text.
fn parse_object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Returns the tokens charged for the input. Anthropic lists cached tokens separately; `OpenAI` includes them.
fn charged_tokens(response: &Map<String, Value>) -> Option<u64> {
    let usage = response.get("usage").and_then(Value::as_object).unwrap_or(response);
    let figure = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached =
        ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|name| figure(name).unwrap_or(0));
    let sent = figure("input_tokens").map(|tokens| tokens + cached.iter().sum::<u64>());
    sent.or_else(|| figure("prompt_tokens")).or_else(|| figure("tokens"))
}

#[derive(Default)]
struct TextCollector(Vec<String>);

impl TextCollector {
    fn add_request(&mut self, request: &Map<String, Value>) -> Result<(), UnusableReason> {
        let remembered = ["previous_response_id", "conversation", "container"];
        if remembered.iter().any(|name| request.get(*name).is_some_and(|value| !value.is_null())) {
            return Err(UnusableReason::HiddenTokens);
        }
        for name in ["system", "instructions", "messages", "input"] {
            if let Some(request_value) = request.get(name) {
                self.add_content(request_value)?;
            }
        }
        let tools = request.get("tools").and_then(Value::as_array);
        self.0.extend(tools.into_iter().flatten().map(Value::to_string));
        Ok(())
    }

    /// Adds the texts of a text, a block, a message, or a list of these.
    fn add_content(&mut self, request_value: &Value) -> Result<(), UnusableReason> {
        match request_value {
            Value::Null => Ok(()),
            Value::String(text) => {
                self.0.push(text.clone());
                Ok(())
            }
            Value::Array(several) => several.iter().try_for_each(|one| self.add_content(one)),
            Value::Object(block) => self.add_block(block),
            Value::Bool(_) | Value::Number(_) => Err(UnusableReason::NonTextContent),
        }
    }

    fn add_block(&mut self, block: &Map<String, Value>) -> Result<(), UnusableReason> {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("message");
        let members: &[&str] = match kind {
            "text" | "input_text" | "output_text" => &["text"],
            "message" => &["content", "tool_calls"],
            "tool_result" => &["content"],
            "tool_use" | "function_call" => &["name", "input", "arguments"],
            "function" => &["function"],
            "function_call_output" => &["output"],
            "refusal" => &["refusal"],
            "thinking" | "redacted_thinking" | "reasoning" | "item_reference" | "compaction" => {
                return Err(UnusableReason::HiddenTokens);
            }
            _ => return Err(UnusableReason::NonTextContent),
        };
        for name in members {
            match block.get(*name) {
                // Arguments of a tool call are counted as JSON.
                Some(called @ Value::Object(_)) if matches!(*name, "input" | "arguments" | "function") => {
                    self.0.push(called.to_string());
                }
                Some(request_value) => self.add_content(request_value)?,
                None => {}
            }
        }
        Ok(())
    }
}

/// Returns the first byte after white space and a byte order mark.
fn first_byte(log: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let seen = log.fill_buf()?;
        let Some(first) = seen.first().copied() else { return Ok(None) };
        if !first.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(&first) {
            return Ok(Some(first));
        }
        log.consume(1);
    }
}

fn for_each_line(
    mut log: impl BufRead,
    show: &mut impl FnMut(u64, Result<Value, UnusableReason>),
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = log.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        if read == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            skip_line(&mut log)?;
            show(number, Err(UnusableReason::TooLong));
        } else if !line.trim_ascii().is_empty() {
            show(number, serde_json::from_slice(&line).map_err(|_| UnusableReason::NotJson));
        }
    }
    Ok(())
}

/// Skips the rest of a line.
///
/// # Errors
/// Returns an error if the line does not end, as that of a device.
fn skip_line(log: &mut impl BufRead) -> io::Result<()> {
    let mut rest = log.take(MAX_SKIPPED_BYTES);
    rest.skip_until(b'\n')?;
    if rest.limit() > 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("a line is longer than {MAX_SKIPPED_BYTES} bytes")))
}

/// Passes the entries of an array to a function.
struct EntryVisitor<F>(F);

impl<'de, F: FnMut(u64, Result<Value, UnusableReason>)> Visitor<'de> for EntryVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(entry) = entries.next_element()? {
            number += 1;
            (self.0)(number, Ok(entry));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LogEntry, UnusableReason};

    fn check(entry: &Value, model: &str, texts: &[&str], charged: u64) {
        let found = LogEntry::from_json(entry).unwrap_or_else(|why| panic!("{why}: {entry}"));
        assert_eq!((found.model.as_deref(), found.charged_tokens), (Some(model), charged), "{entry}");
        assert_eq!(found.texts, texts, "{entry}");
    }

    fn refuse(entry: &Value, why: UnusableReason) {
        assert_eq!(LogEntry::from_json(entry), Err(why), "{entry}");
    }

    #[test]
    fn anthropic_side_by_side_and_apart() {
        let request = json!({
            "model": "claude-x", "system": [{"type": "text", "text": "be brief"}],
            "messages": [
                {"role": "user", "content": "list them"},
                {"role": "assistant", "content": [{"type": "text", "text": "so"},
                    {"type": "tool_use", "id": "1", "name": "list", "input": {"a": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1",
                    "content": [{"type": "text", "text": "rows"}]}]}],
            "tools": [{"name": "list"}]
        });
        let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7,
            "output_tokens": 1_000});
        let texts = ["be brief", "list them", "so", "list", r#"{"a":1}"#, "rows", r#"{"name":"list"}"#];
        let mut beside = request.clone();
        beside["usage"] = usage.clone();
        check(&beside, "claude-x", &texts, 102);
        let response = json!({"model": "claude-x", "usage": usage});
        check(&json!({"request": request, "response": response}), "claude-x", &texts, 102);
        let bodies = json!({"request": {"method": "POST", "body": request.to_string()},
            "response": {"status": 200, "body": response}});
        check(&bodies, "claude-x", &texts, 102);
        check(&json!({"request": request, "response": {"input_tokens": 77}}), "claude-x", &texts, 77);
    }

    #[test]
    fn openai_chats_and_responses() {
        let chat = json!({"model": "gpt-4o", "usage": {"prompt_tokens": 12}, "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "rows"}]});
        check(&chat, "gpt-4o", &["be brief", "hi", r#"{"name":"f"}"#, "rows"], 12);
        let response = json!({"request": {"model": "gpt-5", "instructions": "be brief", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "output": "rows"}]},
            "response": {"usage": {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 20}}}});
        check(&response, "gpt-5", &["be brief", "hi", "f", "{}", "rows"], 30);
        check(&json!({"model": "gpt-5", "input": "hi", "usage": {"input_tokens": 3}}), "gpt-5", &["hi"], 3);
    }

    #[test]
    fn plain_texts_with_their_tokens() {
        let entry = LogEntry::from_json(&json!({"text": "hi", "tokens": 1})).expect("of use");
        assert_eq!(entry, LogEntry { model: None, texts: vec!["hi".into()], charged_tokens: 1 });
    }

    #[test]
    fn what_cannot_be_counted_is_of_no_use() {
        let with = |content: Value| json!({"model": "claude-x", "usage": {"input_tokens": 9}, "messages": [{"role": "user", "content": content}]});
        for kind in ["image", "document", "image_url", "input_audio", "file", "video"] {
            refuse(
                &with(json!([{"type": "text", "text": "see"}, {"type": kind}])),
                UnusableReason::NonTextContent,
            );
        }
        let within = json!([{"type": "tool_result", "content": [{"type": "image"}]}]);
        refuse(&with(within), UnusableReason::NonTextContent);
        refuse(&with(json!([{"type": "thinking", "thinking": "hm"}])), UnusableReason::HiddenTokens);
        refuse(
            &json!({"input": "hi", "previous_response_id": "r1", "usage": {"input_tokens": 9}}),
            UnusableReason::HiddenTokens,
        );
        refuse(&json!({"messages": [{"content": "hi"}]}), UnusableReason::NoUsage);
        refuse(&json!({"usage": {"input_tokens": 9}}), UnusableReason::NoTexts);
        refuse(&json!([]), UnusableReason::NotAnObject);
    }
}

#[cfg(test)]
mod log_tests {
    use serde_json::{Value, json};

    use super::UnusableReason;
    use super::for_each_entry;

    fn check(log: &str, expect: &[(u64, Result<Value, UnusableReason>)]) {
        let mut seen = Vec::new();
        for_each_entry(log.as_bytes(), |at, entry| seen.push((at, entry))).expect("readable");
        assert_eq!(seen, expect, "{log}");
    }

    #[test]
    fn lines_and_arrays_are_read() {
        check("", &[]);
        check(" \n", &[]);
        check("{}\n{\"a\":1}", &[(1, Ok(json!({}))), (2, Ok(json!({"a": 1})))]);
        check("{}\n\nnot\n5\n", &[(1, Ok(json!({}))), (3, Err(UnusableReason::NotJson)), (4, Ok(json!(5)))]);
        check("\u{feff}[{}, {\"a\":\n1}]", &[(1, Ok(json!({}))), (2, Ok(json!({"a": 1})))]);
    }

    #[test]
    fn a_broken_array_is_told_with_what_was_read() {
        let mut seen = 0;
        let error = for_each_entry(&b"[{},{},oh"[..], |_, _| seen += 1).expect_err("broken");
        assert_eq!(seen, 2);
        assert!(error.to_string().contains("line 1"), "{error}");
    }
}
