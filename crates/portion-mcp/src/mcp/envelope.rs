//! Parses a JSON-RPC message once: the spans of its id, method, params, result and error. Maps by request id, and
//! the error codes of JSON-RPC 2.0 and MCP.
//!
//! ```
//! use portion_mcp::mcp::envelope::{METHOD_NOT_FOUND, json_rpc_error};
//!
//! let error = json_rpc_error("7", METHOD_NOT_FOUND, "unknown method");
//! assert_eq!(error, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown method"}}"#);
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use portion_json::scan::{JsonKind, JsonReader, ScanError, quote, unescape};
use portion_json::span::Span;
use thiserror::Error;

use super::walk;
use crate::frame::MAX_BATCH_MESSAGES;

/// The message is not JSON.
pub const PARSE_ERROR: i32 = -32700;

/// The message is not a valid request.
pub const INVALID_REQUEST: i32 = -32600;

/// The method is unknown.
pub const METHOD_NOT_FOUND: i32 = -32601;

/// A parameter is invalid.
pub const INVALID_PARAMS: i32 = -32602;

/// Internal error; the request is not the cause.
pub const INTERNAL_ERROR: i32 = -32603;

/// Too busy for the request now; it can be sent again later.
pub const SERVER_BUSY: i32 = -32000;

/// MCP 2026-07-28: the header fields contradict the body.
pub const HEADER_MISMATCH: i32 = -32020;

/// MCP 2026-07-28: the client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i32 = -32021;

/// MCP 2026-07-28: the server does not support this revision.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// A parsed line: a message or a batch.
#[derive(Debug)]
pub(super) enum MessageOrBatch {
    Single(Envelope),
    /// A JSON-RPC batch, part of revision 2025-03-26 only.
    Batch(Vec<Envelope>),
}

/// Byte order mark that some programs write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A JSON-RPC 2.0 message as spans of its text. Members not named here are relayed unread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Envelope {
    pub span: Span,
    pub id: Option<Span>,
    pub method: Option<Span>,
    pub params: Option<Span>,
    pub result: Option<Span>,
    pub error: Option<Span>,
    /// Number of members with other names.
    pub unknown_member_count: u32,
}

/// Kind of a JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Expects a response.
    Request,
    /// Expects no response.
    Notification,
    /// A result or an error.
    Response,
}

/// Reason why a line is not a message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidMessage {
    /// Not JSON.
    #[error(transparent)]
    Json(#[from] ScanError),
    /// JSON, but not a JSON-RPC 2.0 message.
    #[error("not JSON-RPC 2.0: {0}")]
    NotJsonRpc(&'static str),
    /// A batch of too many messages.
    #[error("a batch of more than {MAX_BATCH_MESSAGES} messages; send at most {MAX_BATCH_MESSAGES} at once")]
    BatchTooLarge,
}

/// Reason to reject a request whose id is `null`: nobody could recognize its response.
pub(crate) const NULL_ID: &str = "the id of a request must be a string or a number, not null";

impl MessageOrBatch {
    /// Returns the messages, and true if they form an array.
    pub(super) fn into_envelopes(self) -> (Vec<Envelope>, bool) {
        match self {
            Self::Single(envelope) => (vec![envelope], false),
            Self::Batch(batch) => (batch, true),
        }
    }
}

impl Envelope {
    /// Returns the kind of the message; `None` if it is not JSON-RPC, which [`parse`] rejects.
    pub(super) fn kind(&self) -> Option<MessageKind> {
        match (self.method, self.id) {
            (Some(_), Some(_)) => Some(MessageKind::Request),
            (Some(_), None) => Some(MessageKind::Notification),
            (None, _) if self.result.is_some() || self.error.is_some() => Some(MessageKind::Response),
            _ => None,
        }
    }

    /// Returns the name of the method.
    pub(super) fn method<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let quoted = self.method.map(|span| span.slice(text)).unwrap_or_default();
        if quoted.contains('\\') { unescape(quoted).into() } else { quoted.trim_matches('"').into() }
    }

    /// Returns the id as written; `null` if there is none.
    pub(super) fn raw_id<'a>(&self, text: &'a str) -> &'a str {
        self.id.map_or("null", |span| span.slice(text))
    }

    /// Returns a string member of the params.
    pub(super) fn string_param(&self, text: &str, name: &str) -> Option<String> {
        walk::string_member(text, self.params?, name)
    }

    /// Returns the arguments of a call; an empty span if there are none.
    pub(super) fn arguments(&self, text: &str) -> Span {
        self.params.and_then(|params| walk::member_value(text, params, "arguments")).unwrap_or_default()
    }
}

/// Decodes a line without its byte order mark. Returns the text and the number of invalid UTF-8 sequences,
/// which are replaced.
pub(super) fn decode_line(line: &[u8]) -> (Cow<'_, str>, usize) {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if let Ok(text) = std::str::from_utf8(line) {
        return (Cow::Borrowed(text), 0);
    }
    let replaced = line.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    (String::from_utf8_lossy(line), replaced)
}

/// Decodes a line as [`decode_line`] does. A valid line is not copied.
pub(super) fn decode_owned(line: Vec<u8>) -> String {
    if line.starts_with(BYTE_ORDER_MARK) {
        return decode_line(&line).0.into_owned();
    }
    String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Parses and validates a whole message.
///
/// # Errors
/// [`InvalidMessage`] if the text is not a JSON-RPC 2.0 message or a batch of such messages.
pub(super) fn parse(text: &str) -> Result<MessageOrBatch, InvalidMessage> {
    parse_message(text).map_err(|error| match error {
        // The text after the first violation of JSON-RPC may not even be JSON.
        InvalidMessage::NotJsonRpc(_) => validate_json(text).err().map_or(error, InvalidMessage::Json),
        InvalidMessage::Json(_) | InvalidMessage::BatchTooLarge => error,
    })
}

fn validate_json(text: &str) -> Result<(), ScanError> {
    let mut reader = JsonReader::new(text);
    reader.skip()?;
    reader.expect_end()
}

fn parse_message(text: &str) -> Result<MessageOrBatch, InvalidMessage> {
    let mut reader = JsonReader::new(text);
    let message = if reader.peek()? == JsonKind::Array {
        let mut batch = Vec::new();
        reader.enter_array()?;
        while reader.next_item()? {
            if batch.len() == MAX_BATCH_MESSAGES {
                return Err(InvalidMessage::BatchTooLarge);
            }
            batch.push(parse_envelope(&mut reader)?);
        }
        if batch.is_empty() {
            return Err(InvalidMessage::NotJsonRpc("an empty batch"));
        }
        MessageOrBatch::Batch(batch)
    } else {
        MessageOrBatch::Single(parse_envelope(&mut reader)?)
    };
    reader.expect_end()?;
    Ok(message)
}

fn parse_envelope(reader: &mut JsonReader<'_>) -> Result<Envelope, InvalidMessage> {
    if reader.peek()? != JsonKind::Object {
        return Err(InvalidMessage::NotJsonRpc("not an object"));
    }
    let start = reader.at();
    reader.enter_object()?;
    let mut envelope = Envelope::default();
    let mut version = None;
    while let Some(key) = reader.next_key()? {
        let kind = reader.peek()?;
        let value = reader.skip()?;
        let key = reader.text(key);
        let name: Cow<'_, str> =
            if key.contains('\\') { unescape(key).into() } else { key.trim_matches('"').into() };
        // Parsers disagree on duplicate members: a message would mean one thing here and another thing
        // elsewhere.
        let (place, twice) = match &*name {
            "jsonrpc" => (&mut version, "two members `jsonrpc`"),
            "id" => (&mut envelope.id, "two members `id`"),
            "method" => (&mut envelope.method, "two members `method`"),
            "params" => (&mut envelope.params, "two members `params`"),
            "result" => (&mut envelope.result, "two members `result`"),
            "error" => (&mut envelope.error, "two members `error`"),
            _ => {
                envelope.unknown_member_count = envelope.unknown_member_count.saturating_add(1);
                continue;
            }
        };
        if place.replace(value).is_some() {
            return Err(InvalidMessage::NotJsonRpc(twice));
        }
        match &*name {
            "id" if !matches!(kind, JsonKind::String | JsonKind::Number | JsonKind::Null) => {
                return Err(InvalidMessage::NotJsonRpc("an id that is not a string, number or null"));
            }
            "method" if kind != JsonKind::String => {
                return Err(InvalidMessage::NotJsonRpc("a method that is not a string"));
            }
            _ => {}
        }
    }
    envelope.span = Span::new(start, reader.at());
    if !version.is_some_and(|version| walk::string_equals(reader.text(version), "2.0")) {
        return Err(InvalidMessage::NotJsonRpc("`jsonrpc` is not \"2.0\""));
    }
    let is_error =
        envelope.error.is_some_and(|error| JsonKind::of_value(reader.text(error)) != JsonKind::Null);
    if is_error && envelope.result.is_some() && envelope.method.is_none() {
        return Err(InvalidMessage::NotJsonRpc("both a result and an error"));
    }
    envelope.kind().ok_or(InvalidMessage::NotJsonRpc("not a request, notification or response"))?;
    Ok(envelope)
}

/// Returns the key that identifies a request: the id as written, with the escapes of a string normalized.
pub(super) fn id_key(raw: &str) -> String {
    if raw.contains('\\') { quote(&unescape(raw)) } else { raw.to_owned() }
}

/// Returns a JSON-RPC error response.
pub fn json_rpc_error(raw_id: &str, code: i32, message: &str) -> String {
    let message = quote(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{raw_id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}

/// Builds the cancellation of a request.
pub(crate) fn cancellation_notification(id: &str, reason: &str) -> String {
    let params = format!("{{\"requestId\":{id},\"reason\":{}}}", quote(reason));
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}")
}

/// Values by request id; a string id matches in any escaping.
///
/// Servers that read numbers as doubles respell large ids, so a number without an exact match is looked up by
/// value.
#[derive(Debug)]
pub struct RequestIdMap<T>(HashMap<String, T>);

impl<T> Default for RequestIdMap<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> RequestIdMap<T> {
    /// Returns true if the map contains exactly this id.
    pub fn contains(&self, raw_id: &str) -> bool {
        self.0.contains_key(&id_key(raw_id))
    }

    /// Inserts or replaces the value of an id.
    pub fn insert(&mut self, raw_id: &str, thing: T) {
        self.0.insert(id_key(raw_id), thing);
    }

    /// Returns the value for the id of a response.
    pub fn get(&self, raw_id: &str) -> Option<&T> {
        self.0.get(&self.find_key(raw_id)?)
    }

    /// Removes and returns the value for the id of a response.
    pub fn take(&mut self, raw_id: &str) -> Option<T> {
        self.0.remove(&self.find_key(raw_id)?)
    }

    /// Retains the values for which `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|_, thing| keep(thing));
    }

    /// Returns all values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    fn find_key(&self, raw_id: &str) -> Option<String> {
        let key = id_key(raw_id);
        if self.0.contains_key(&key) { Some(key) } else { self.find_equal_number(&key) }
    }

    fn find_equal_number(&self, key: &str) -> Option<String> {
        let number = |key: &str| key.parse::<f64>().ok().filter(|_| !key.starts_with('"'));
        let wanted = number(key)?;
        // Zero equals negative zero, which JavaScript writes as `0`.
        let is_equal =
            |key: &&String| number(key).and_then(|n| n.partial_cmp(&wanted)).is_some_and(Ordering::is_eq);
        let mut equal = self.0.keys().filter(is_equal);
        let found = equal.next()?;
        equal.next().is_none().then(|| found.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        InvalidMessage, MAX_BATCH_MESSAGES, MessageKind, MessageOrBatch, decode_line, id_key, parse,
    };

    /// `expect`: the kind, and the id as written.
    fn check(text: &str, expect: Option<(MessageKind, &str)>) {
        match (parse(text), expect) {
            (Ok(MessageOrBatch::Single(envelope)), Some((role, id))) => {
                assert_eq!(envelope.kind(), Some(role), "{text}");
                assert_eq!(envelope.raw_id(text), id, "{text}");
            }
            (Err(_), None) => {}
            (other, expect) => panic!("{text}: {other:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn recognizes_the_kinds_of_messages() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Some((MessageKind::Request, "1")));
        check(r#" {"method":"x","\u0069d":"a","jsonrpc":"2.0"} "#, Some((MessageKind::Request, "\"a\"")));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Some((MessageKind::Request, "null")));
        check(r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#, Some((MessageKind::Notification, "null")));
        let huge = "123456789012345678901234567890.0e0";
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":{huge},"result":null}}"#),
            Some((MessageKind::Response, huge)),
        );
        check(r#"{"jsonrpc":"2.0","error":{},"id":null}"#, Some((MessageKind::Response, "null")));
        // Some servers write it beside every result.
        check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, Some((MessageKind::Response, "1")));
    }

    #[test]
    fn rejects_invalid_messages() {
        for text in [
            "",
            "server listening on 8080",
            "[]",
            "{}",
            "null",
            "\"2.0\"",
            r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"x"}"#,
            r#"{"id":1,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","\u006dethod":"y"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#,
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x"} {}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":}}"#,
        ] {
            check(text, None);
        }
        for text in ["[[]]", "7", "null", r#"[{"jsonrpc":"2.0","id":1}]"#] {
            assert!(matches!(parse(text), Err(InvalidMessage::NotJsonRpc(_))), "{text}");
        }
        for text in ["no", "[[", "nil", r#"{"jsonrpc":"2.0","id":{}"#, "7 7"] {
            assert!(matches!(parse(text), Err(InvalidMessage::Json(_))), "{text}");
        }
    }

    #[test]
    fn parses_batches() {
        let text = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
        let Ok(MessageOrBatch::Batch(batch)) = parse(text) else { panic!("a batch") };
        assert_eq!(batch.iter().map(|e| e.method(text)).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(batch[1].span.slice(text), r#"{"jsonrpc":"2.0","method":"b"}"#);
    }

    #[test]
    fn the_size_of_a_batch_is_limited() {
        let batch = |count: usize| {
            let message = r#"{"jsonrpc":"2.0","method":"b"}"#;
            format!("[{}]", vec![message; count].join(","))
        };
        assert!(
            matches!(parse(&batch(MAX_BATCH_MESSAGES)), Ok(MessageOrBatch::Batch(all)) if all.len() == MAX_BATCH_MESSAGES)
        );
        let error = parse(&batch(MAX_BATCH_MESSAGES + 1)).err();
        assert_eq!(error, Some(InvalidMessage::BatchTooLarge));
        assert!(error.is_some_and(|error| error.to_string().contains("at most 1000")));
    }

    #[test]
    fn replaces_and_counts_invalid_utf8() {
        let (text, replaced) = decode_line(b"a\xff\xfeb\xc3");
        assert_eq!((&*text, replaced), ("a\u{fffd}\u{fffd}b\u{fffd}", 3));
        assert_eq!(decode_line("é".as_bytes()), ("é".into(), 0));
    }

    #[test]
    fn an_id_is_the_same_however_it_is_escaped() {
        assert_eq!(id_key(r#""\u00e9""#), id_key("\"é\""));
        assert_ne!(id_key("1"), id_key("\"1\""));
        assert_ne!(id_key("1"), id_key("1.0"));
    }
}
