//! What a transport must know of a message to carry it: whose it is, not what is in it.

use std::borrow::Cow;

use portion_core::scan::Kind;
use portion_core::span::Span;

use super::envelope::{Envelope, parse};
pub use super::envelope::{NotRpc, Role};
use super::splice::Splice;
use super::walk::{self, Sequence};

/// The `_meta` key of 2026-07-28 that carries the revision of each request.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key with which a request of 2026-07-28 asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key by which a program asks for a result as it came.
pub(super) const WHOLE: &str = "io.portion/whole";
/// The `_meta` key that says which `subscriptions/listen` a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Methods with a name that HTTP carries in `Mcp-Name`, and the parameter that it is.
const NAMED: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
];

/// The messages of a text: one, or a batch.
#[derive(Debug)]
pub struct Heard<'a> {
    /// In order.
    pub messages: Vec<Note<'a>>,
    /// In an array, as 2025-03-26 had it.
    pub batch: bool,
}

/// A message, as far as a transport reads it.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    text: &'a str,
    envelope: Envelope,
}

/// A text with something else in some of its places.
pub fn revised(text: &str, places: Vec<(Span, String)>) -> String {
    let mut splice = Splice::new(text);
    for (place, with) in places {
        splice.replace(place, with);
    }
    splice.apply()
}

/// The same text with every call of a tool asking for its result whole; `None` where there is none.
pub fn asking_for_whole(text: &str) -> Option<String> {
    let heard = Heard::read(text).ok()?;
    let mut splice = Splice::new(text);
    for call in heard.requests().filter(|note| note.method() == "tools/call") {
        let asked = format!("\"{WHOLE}\":true");
        let params = call.envelope.params.filter(|params| walk::kind(text, *params) == Kind::Object);
        let Some(params) = params else { continue };
        let (whole, added) = match call.meta().filter(|meta| walk::kind(text, *meta) == Kind::Object) {
            Some(meta) => (meta, asked),
            None => (params, format!("\"_meta\":{{{asked}}}")),
        };
        let items = walk::members(text, whole).iter().map(|member| member.whole()).collect();
        splice.append(&Sequence { whole, items }, &[added]);
    }
    (!splice.is_empty()).then(|| splice.apply())
}

impl<'a> Heard<'a> {
    /// Reads a text, all of it.
    ///
    /// # Errors
    /// [`NotRpc`] for everything that is no JSON-RPC 2.0 message, or batch of such.
    pub fn read(text: &'a str) -> Result<Self, NotRpc> {
        use super::envelope::Message;
        let (envelopes, batch) = match parse(text)? {
            Message::One(envelope) => (vec![envelope], false),
            Message::Batch(envelopes) => (envelopes, true),
        };
        let messages = envelopes.into_iter().map(|envelope| Note { text, envelope }).collect();
        Ok(Self { messages, batch })
    }

    /// The requests among them.
    pub fn requests(&self) -> impl Iterator<Item = &Note<'a>> {
        self.messages.iter().filter(|note| note.role() == Role::Request)
    }
}

impl<'a> Note<'a> {
    /// What it is.
    pub fn role(&self) -> Role {
        // `parse` lets nothing else through.
        self.envelope.role().unwrap_or(Role::Notification)
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
        let (_, parameter) = NAMED.iter().find(|(named, _)| *named == method)?;
        self.envelope.param(self.text, parameter)
    }

    /// The revision that a request of 2026-07-28 or later says it is of.
    pub fn version(&self) -> Option<String> {
        walk::string(self.text, self.meta()?, VERSION)
    }

    /// Whether it asks for log messages, as requests of 2026-07-28 do.
    pub fn wants_logs(&self) -> bool {
        self.meta().is_some_and(|meta| walk::member(self.text, meta, LOG_LEVEL).is_some())
    }

    /// The token under which a request wants to hear of its progress, or which a report of progress is for.
    pub fn progress_token(&self) -> Option<Span> {
        let holder =
            if self.method() == "notifications/progress" { self.envelope.params? } else { self.meta()? };
        walk::member(self.text, holder, "progressToken")
    }

    /// The request that a cancellation is about.
    pub fn cancelled(&self) -> Option<Span> {
        let params = self.envelope.params.filter(|_| self.method() == "notifications/cancelled")?;
        walk::member(self.text, params, "requestId")
    }

    /// The `subscriptions/listen` that a notification belongs to, or that a result ends.
    pub fn subscription(&self) -> Option<Span> {
        let holder = self.envelope.params.or(self.envelope.result)?;
        walk::at(self.text, holder, &["_meta", SUBSCRIPTION])
    }

    /// The code of an answer that is an error.
    pub fn error_code(&self) -> Option<i64> {
        let code = walk::member(self.text, self.envelope.error?, "code")?;
        code.of(self.text).parse().ok()
    }

    /// Whether it is an error that names no request.
    pub fn is_error_without_id(&self) -> bool {
        self.role() == Role::Response && self.id() == "null" && self.envelope.error.is_some()
    }

    /// Whether an answer is a result.
    pub fn is_result(&self) -> bool {
        self.envelope.result.is_some()
    }

    /// A place of the text that it was read from.
    pub fn at(&self, place: Span) -> &'a str {
        place.of(self.text)
    }

    /// Where its id lies.
    pub fn id_place(&self) -> Option<Span> {
        self.envelope.id
    }

    /// Where it lies itself.
    pub fn whole(&self) -> Span {
        self.envelope.whole
    }

    /// The arguments of a call.
    pub fn arguments(&self) -> Option<&'a str> {
        let arguments = walk::member(self.text, self.envelope.params?, "arguments")?;
        Some(arguments.of(self.text))
    }

    /// The revision that an answer to `initialize` settles on.
    pub fn settled(&self) -> Option<String> {
        walk::string(self.text, self.result()?, "protocolVersion")
    }

    /// The text that it was read from.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Where its result lies.
    pub(super) fn result(&self) -> Option<Span> {
        self.envelope.result
    }

    fn meta(&self) -> Option<Span> {
        walk::member(self.text, self.envelope.params?, "_meta")
    }
}

#[cfg(test)]
mod tests {
    use super::asking_for_whole;

    #[test]
    fn calls_of_tools_ask_for_the_whole() {
        let check = |params: &str, expect: &str| {
            let call = |params: &str| {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
            };
            assert_eq!(asking_for_whole(&call(params)), Some(call(expect)));
        };
        check(r#"{"name":"x"}"#, r#"{"name":"x","_meta":{"io.portion/whole":true}}"#);
        check(
            r#"{"_meta":{ "a":1 },"name":"x"}"#,
            r#"{"_meta":{ "a":1,"io.portion/whole":true },"name":"x"}"#,
        );
        assert_eq!(asking_for_whole(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#), None);
    }
}
