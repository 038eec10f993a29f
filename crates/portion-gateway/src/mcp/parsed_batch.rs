//! What a transport must know of a message to carry it: whose it is, not what is in it.

use std::borrow::Cow;

use portion_core::scan::JsonKind;
use portion_core::span::Span;

use super::envelope::{Envelope, parse};
pub use super::envelope::{InvalidMessage, MessageKind};
use super::splice::Splice;
use super::walk::{self, Sequence};

/// The `_meta` key of 2026-07-28 that carries the revision of each request.
const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key with which a request of 2026-07-28 asks for log messages.
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key by which a program asks for a result as it came.
pub(super) const WHOLE_RESULT_KEY: &str = "io.portion/whole";
/// The `_meta` key that says which `subscriptions/listen` a notification belongs to.
const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Methods with a name that HTTP carries in `Mcp-Name`, and the parameter that it is.
const NAMED_METHODS: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
];

/// The messages of a text: one, or a batch.
#[derive(Debug)]
pub struct ParsedBatch<'a> {
    /// In order.
    pub messages: Vec<MessageView<'a>>,
    /// In an array, as 2025-03-26 had it.
    pub is_batch: bool,
}

/// A message, as far as a transport reads it.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    text: &'a str,
    envelope: Envelope,
}

/// A text with something else in some of its places.
pub fn replace_spans(text: &str, places: Vec<(Span, String)>) -> String {
    let mut splice = Splice::new(text);
    for (place, with) in places {
        splice.replace(place, with);
    }
    splice.apply()
}

/// The same text with every call of a tool asking for its result whole; `None` where there is none.
pub fn request_whole_results(text: &str) -> Option<String> {
    let heard = ParsedBatch::parse(text).ok()?;
    let mut splice = Splice::new(text);
    for call in heard.requests().filter(|note| note.method() == "tools/call") {
        let asked = format!("\"{WHOLE_RESULT_KEY}\":true");
        let params = call.envelope.params.filter(|params| walk::kind(text, *params) == JsonKind::Object);
        let Some(params) = params else { continue };
        let (whole, added) = match call.meta_span().filter(|meta| walk::kind(text, *meta) == JsonKind::Object)
        {
            Some(meta) => (meta, asked),
            None => (params, format!("\"_meta\":{{{asked}}}")),
        };
        let items = walk::members(text, whole).iter().map(|member| member.span()).collect();
        splice.append(&Sequence { span: whole, items }, &[added]);
    }
    (!splice.is_empty()).then(|| splice.apply())
}

impl<'a> ParsedBatch<'a> {
    /// Reads a text, all of it.
    ///
    /// # Errors
    /// [`InvalidMessage`] for everything that is no JSON-RPC 2.0 message, or batch of such.
    pub fn parse(text: &'a str) -> Result<Self, InvalidMessage> {
        use super::envelope::MessageOrBatch;
        let (envelopes, batch) = match parse(text)? {
            MessageOrBatch::Single(envelope) => (vec![envelope], false),
            MessageOrBatch::Batch(envelopes) => (envelopes, true),
        };
        let messages = envelopes.into_iter().map(|envelope| MessageView { text, envelope }).collect();
        Ok(Self { messages, is_batch: batch })
    }

    /// The requests among them.
    pub fn requests(&self) -> impl Iterator<Item = &MessageView<'a>> {
        self.messages.iter().filter(|note| note.kind() == MessageKind::Request)
    }
}

impl<'a> MessageView<'a> {
    /// What it is.
    pub fn kind(&self) -> MessageKind {
        // `parse` lets nothing else through.
        self.envelope.kind().unwrap_or(MessageKind::Notification)
    }

    /// The id as it was written; `null` where there is none.
    pub fn id(&self) -> &'a str {
        self.envelope.raw_id(self.text)
    }

    /// The method; empty in a response.
    pub fn method(&self) -> Cow<'a, str> {
        self.envelope.method(self.text)
    }

    /// What it names: a tool, a prompt, a resource, a task.
    pub fn name(&self) -> Option<String> {
        let method = self.method();
        let (_, parameter) = NAMED_METHODS.iter().find(|(named, _)| *named == method)?;
        self.envelope.string_param(self.text, parameter)
    }

    /// The revision that a request of 2026-07-28 or later says it is of.
    pub fn protocol_version(&self) -> Option<String> {
        walk::string_member(self.text, self.meta_span()?, PROTOCOL_VERSION_KEY)
    }

    /// Whether it asks for log messages, as requests of 2026-07-28 do.
    pub fn wants_logs(&self) -> bool {
        self.meta_span().is_some_and(|meta| walk::member_value(self.text, meta, LOG_LEVEL_KEY).is_some())
    }

    /// The token under which a request wants to hear of its progress, or which a report of progress is for.
    pub fn progress_token(&self) -> Option<Span> {
        let holder =
            if self.method() == "notifications/progress" { self.envelope.params? } else { self.meta_span()? };
        walk::member_value(self.text, holder, "progressToken")
    }

    /// The request that a cancellation is about.
    pub fn cancelled_id(&self) -> Option<Span> {
        let params = self.envelope.params.filter(|_| self.method() == "notifications/cancelled")?;
        walk::member_value(self.text, params, "requestId")
    }

    /// The `subscriptions/listen` that a notification belongs to, or that a result ends.
    pub fn subscription_id(&self) -> Option<Span> {
        let holder = self.envelope.params.or(self.envelope.result)?;
        walk::value_at(self.text, holder, &["_meta", SUBSCRIPTION_ID_KEY])
    }

    /// The code of an answer that is an error.
    pub fn error_code(&self) -> Option<i64> {
        let code = walk::member_value(self.text, self.envelope.error?, "code")?;
        code.slice(self.text).parse().ok()
    }

    /// Whether it is an error that names no request.
    pub fn is_error_without_id(&self) -> bool {
        self.kind() == MessageKind::Response && self.id() == "null" && self.envelope.error.is_some()
    }

    /// Whether an answer is a result.
    pub fn is_result(&self) -> bool {
        self.envelope.result.is_some()
    }

    /// A place of the text that it was read from.
    pub fn slice(&self, place: Span) -> &'a str {
        place.slice(self.text)
    }

    /// Where its id lies.
    pub fn id_span(&self) -> Option<Span> {
        self.envelope.id
    }

    /// Where it lies itself.
    pub fn span(&self) -> Span {
        self.envelope.span
    }

    /// The arguments of a call.
    pub fn arguments(&self) -> Option<&'a str> {
        let arguments = walk::member_value(self.text, self.envelope.params?, "arguments")?;
        Some(arguments.slice(self.text))
    }

    /// The revision that an answer to `initialize` settles on.
    pub fn negotiated_version(&self) -> Option<String> {
        walk::string_member(self.text, self.result_span()?, "protocolVersion")
    }

    /// The text that it was read from.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Where its result lies.
    pub(super) fn result_span(&self) -> Option<Span> {
        self.envelope.result
    }

    fn meta_span(&self) -> Option<Span> {
        walk::member_value(self.text, self.envelope.params?, "_meta")
    }
}

#[cfg(test)]
mod tests {
    use super::request_whole_results;

    #[test]
    fn calls_of_tools_ask_for_the_whole() {
        let check = |params: &str, expect: &str| {
            let call = |params: &str| {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
            };
            assert_eq!(request_whole_results(&call(params)), Some(call(expect)));
        };
        check(r#"{"name":"x"}"#, r#"{"name":"x","_meta":{"io.portion/whole":true}}"#);
        check(
            r#"{"_meta":{ "a":1 },"name":"x"}"#,
            r#"{"_meta":{ "a":1,"io.portion/whole":true },"name":"x"}"#,
        );
        assert_eq!(
            request_whole_results(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#),
            None
        );
    }
}
