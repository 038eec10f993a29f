//! View of a message for transports: ids, methods and tokens, but not the content.

use std::borrow::Cow;

use portion_json::scan::JsonKind;
use portion_json::span::Span;

use super::envelope::{Envelope, MessageOrBatch, decode_owned, parse};
use super::walk::{self, Sequence, Splice};
use crate::frame::{DroppedLine, Frame};

pub use super::envelope::{InvalidMessage, MessageKind};

/// `_meta` key of 2026-07-28 that carries the revision of each request.
const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` key with which a request of 2026-07-28 enables log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// `_meta` key with which a program requests an unshaped result.
pub(super) const WHOLE_RESULT_KEY: &str = "io.portion/whole";
/// `_meta` key that names the `subscriptions/listen` request of a notification.
const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Methods whose name or URI HTTP repeats in `Mcp-Name`, and the parameter that holds it.
const NAMED_METHODS: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
];

/// Messages of a text: a single one, or a batch.
#[derive(Debug)]
pub struct ParsedBatch<'a> {
    /// Messages in order.
    pub messages: Vec<MessageView<'a>>,
    /// True if the messages form an array, as in 2025-03-26.
    pub is_batch: bool,
}

/// View of a message for a transport.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    text: &'a str,
    envelope: Envelope,
}

/// Replaces spans of a text.
pub fn replace_spans(text: &str, places: Vec<(Span, String)>) -> String {
    let mut splice = Splice::new(text);
    for (place, with) in places {
        splice.replace(place, with);
    }
    splice.apply()
}

/// Requests an unshaped result for every tool call of the text; `None` if there is no tool call.
pub(super) fn request_whole_results(text: &str, batch: &ParsedBatch<'_>) -> Option<String> {
    let mut splice = Splice::new(text);
    for call in batch.requests().filter(|message| message.method() == "tools/call") {
        let flag_member = format!("\"{WHOLE_RESULT_KEY}\":true");
        let params = call.envelope.params.filter(|params| walk::kind(text, *params) == JsonKind::Object);
        let Some(params) = params else { continue };
        let (whole, added) = match call.meta_span().filter(|meta| walk::kind(text, *meta) == JsonKind::Object)
        {
            Some(meta) => (meta, flag_member),
            None => (params, format!("\"_meta\":{{{flag_member}}}")),
        };
        splice.append(&Sequence::of_members(whole, &walk::members(text, whole)), &[added]);
    }
    (!splice.is_empty()).then(|| splice.apply())
}

impl<'a> ParsedBatch<'a> {
    /// Parses a whole text.
    ///
    /// # Errors
    /// [`InvalidMessage`] if the text is not a JSON-RPC 2.0 message or a batch of such messages.
    pub fn parse(text: &'a str) -> Result<Self, InvalidMessage> {
        let (envelopes, is_batch) = parse(text)?.into_envelopes();
        Ok(Self::new(text, &envelopes, is_batch))
    }

    /// Parses bytes, with invalid UTF-8 replaced, and returns what `read` finds in them; `None` if they are no message.
    pub fn read<T>(bytes: &[u8], read: impl FnOnce(&ParsedBatch<'_>) -> T) -> Option<T> {
        let text = String::from_utf8_lossy(bytes);
        ParsedBatch::parse(&text).ok().map(|batch| read(&batch))
    }

    /// Returns the view of messages that are parsed already.
    pub(super) fn new(text: &'a str, envelopes: &[Envelope], is_batch: bool) -> Self {
        let messages = envelopes.iter().map(|envelope| MessageView { text, envelope: *envelope }).collect();
        Self { messages, is_batch }
    }

    /// Returns the message if it is a single error without an id.
    pub fn error_without_id(&self) -> Option<&MessageView<'a>> {
        match self.messages.as_slice() {
            [message] if !self.is_batch && message.is_error_without_id() => Some(message),
            _ => None,
        }
    }

    /// Returns the requests of the batch.
    pub fn requests(&self) -> impl Iterator<Item = &MessageView<'a>> {
        self.messages.iter().filter(|message| message.kind() == MessageKind::Request)
    }
}

impl<'a> MessageView<'a> {
    /// Returns the kind of the message.
    pub fn kind(&self) -> MessageKind {
        // `parse` accepts nothing else.
        self.envelope.kind().unwrap_or(MessageKind::Notification)
    }

    /// Returns the id as written; `null` if there is none.
    pub fn id(&self) -> &'a str {
        self.envelope.raw_id(self.text)
    }

    /// Returns the method; empty for a response.
    pub fn method(&self) -> Cow<'a, str> {
        self.envelope.method(self.text)
    }

    /// Returns the name of the tool or prompt, the URI of the resource, or the id of the task.
    pub fn name(&self) -> Option<String> {
        let method = self.method();
        let (_, parameter) = NAMED_METHODS.iter().find(|(named, _)| *named == method)?;
        self.envelope.string_param(self.text, parameter)
    }

    /// Returns the protocol revision of a request of 2026-07-28 or later.
    pub fn protocol_version(&self) -> Option<String> {
        walk::string_member(self.text, self.meta_span()?, PROTOCOL_VERSION_KEY)
    }

    /// Returns true if the request enables log messages, as requests of 2026-07-28 do.
    pub fn wants_logs(&self) -> bool {
        self.meta_span().is_some_and(|meta| walk::member_value(self.text, meta, LOG_LEVEL_KEY).is_some())
    }

    /// Returns the progress token of a request, or of a progress notification.
    pub fn progress_token(&self) -> Option<Span> {
        let holder =
            if self.method() == "notifications/progress" { self.envelope.params? } else { self.meta_span()? };
        walk::member_value(self.text, holder, "progressToken")
    }

    /// Returns the id of the request that a cancellation names.
    pub fn cancelled_id(&self) -> Option<Span> {
        let params = self.envelope.params.filter(|_| self.method() == "notifications/cancelled")?;
        walk::member_value(self.text, params, "requestId")
    }

    /// Returns the id of the `subscriptions/listen` request that a notification belongs to, or that a result
    /// ends.
    pub fn subscription_id(&self) -> Option<Span> {
        let holder = self.envelope.params.or(self.envelope.result)?;
        walk::value_at(self.text, holder, &["_meta", SUBSCRIPTION_ID_KEY])
    }

    /// Returns the code of an error response.
    pub fn error_code(&self) -> Option<i64> {
        let code = walk::member_value(self.text, self.envelope.error?, "code")?;
        code.slice(self.text).parse().ok()
    }

    /// Returns true for an error response without an id.
    fn is_error_without_id(&self) -> bool {
        self.kind() == MessageKind::Response && self.id() == "null" && self.envelope.error.is_some()
    }

    /// Returns true if the response has a result.
    pub fn is_result(&self) -> bool {
        self.envelope.result.is_some()
    }

    /// Returns the text at a span.
    pub fn slice(&self, place: Span) -> &'a str {
        place.slice(self.text)
    }

    /// Returns the span of the id.
    pub fn id_span(&self) -> Option<Span> {
        self.envelope.id
    }

    /// Returns the span of the message.
    pub fn span(&self) -> Span {
        self.envelope.span
    }

    /// Returns a string member of the params.
    pub fn string_param(&self, name: &str) -> Option<String> {
        self.envelope.string_param(self.text, name)
    }

    /// Returns the arguments of a call.
    pub fn arguments(&self) -> Option<&'a str> {
        let arguments = walk::member_value(self.text, self.envelope.params?, "arguments")?;
        Some(arguments.slice(self.text))
    }

    /// Returns the revision that a response to `initialize` selects.
    pub fn negotiated_version(&self) -> Option<String> {
        walk::string_member(self.text, self.result_span()?, "protocolVersion")
    }

    /// Returns the text that contains the message.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the span of the result.
    pub(super) fn result_span(&self) -> Option<Span> {
        self.envelope.result
    }

    fn meta_span(&self) -> Option<Span> {
        walk::member_value(self.text, self.envelope.params?, "_meta")
    }
}

/// A text of messages, parsed once: a single message, or a batch.
#[derive(Debug)]
pub struct OwnedBatch {
    pub(super) text: String,
    /// The messages as spans of the text.
    pub(super) envelopes: Vec<Envelope>,
    /// True if the messages form an array.
    pub(super) is_batch: bool,
}

impl OwnedBatch {
    /// Parses a whole text.
    ///
    /// # Errors
    /// [`InvalidMessage`] if the text is not a JSON-RPC 2.0 message or a batch of such messages.
    pub fn parse(text: String) -> Result<Self, InvalidMessage> {
        let message = parse(&text)?;
        Ok(Self::new(text, message))
    }

    /// Joins a text and its parsed messages.
    pub(super) fn new(text: String, message: MessageOrBatch) -> Self {
        let (envelopes, is_batch) = message.into_envelopes();
        Self { text, envelopes, is_batch }
    }

    /// Returns the messages.
    pub fn view(&self) -> ParsedBatch<'_> {
        ParsedBatch::new(&self.text, &self.envelopes, self.is_batch)
    }

    /// Requests an unshaped result for every tool call.
    #[must_use]
    pub fn with_whole_results(self) -> Self {
        let rewritten = request_whole_results(&self.text, &self.view());
        rewritten.and_then(|text| Self::parse(text).ok()).unwrap_or(self)
    }

    /// Returns the bytes of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// Returns the only message; `None` for a batch.
    pub(super) fn single(&self) -> Option<&Envelope> {
        self.envelopes.first().filter(|_| !self.is_batch)
    }
}

/// A message of the client, parsed once.
#[derive(Debug)]
pub enum ClientMessage {
    /// A message or a batch of messages.
    Valid(OwnedBatch),
    /// A line that is not a message.
    Invalid {
        /// The line; invalid UTF-8 sequences are replaced.
        text: String,
        /// The reason for which it is not a message.
        cause: InvalidMessage,
    },
    /// A line over the limit, which was dropped.
    TooLarge(DroppedLine),
}

impl ClientMessage {
    /// Parses a received frame.
    pub(super) fn parse(frame: Frame) -> Self {
        match frame {
            Frame::Message(line) => {
                let text = decode_owned(line);
                match parse(&text) {
                    Ok(message) => Self::Valid(OwnedBatch::new(text, message)),
                    Err(cause) => Self::Invalid { text, cause },
                }
            }
            Frame::TooLarge(dropped) => Self::TooLarge(dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ParsedBatch, request_whole_results};

    #[test]
    fn tool_calls_request_unshaped_results() {
        let rewritten =
            |text: &str| request_whole_results(text, &ParsedBatch::parse(text).expect("a message"));
        let check = |params: &str, expect: &str| {
            let call = |params: &str| {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
            };
            assert_eq!(rewritten(&call(params)), Some(call(expect)));
        };
        check(r#"{"name":"x"}"#, r#"{"name":"x","_meta":{"io.portion/whole":true}}"#);
        check(
            r#"{"_meta":{ "a":1 },"name":"x"}"#,
            r#"{"_meta":{ "a":1,"io.portion/whole":true },"name":"x"}"#,
        );
        assert_eq!(rewritten(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#), None);
    }
}
