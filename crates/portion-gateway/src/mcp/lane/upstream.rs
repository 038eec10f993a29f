//! What the server says.

use std::borrow::Cow;
use std::time::Instant;

use portion_core::scan::{Kind, quote};
use portion_core::span::Span;

use super::super::envelope::{Envelope, NotRpc, Role, parse, text_of};
use super::super::forged;
use super::super::result::Shape;
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};
use super::line::{Step, messages, settle};
use super::pending::{Asked, Pending, What};
use super::reshape::Answer;
use super::{McpLane, answer};
use crate::call::Fault;
use crate::dropped::Dropped;
use crate::frame::sniffed;
use crate::relay::Outgoing;

/// What becomes of an answer to no pending request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unasked {
    Drop,
    /// It is shaped by what it looks like.
    Shape,
}

impl McpLane {
    pub(super) async fn server_says(&self, line: Vec<u8>) -> Vec<Outgoing> {
        self.server_said(line, Unasked::Drop).await
    }

    /// What the server says on a stream that a client has resumed: it may answer requests of which nobody here knows any more.
    pub(crate) async fn server_resumes(&self, line: Vec<u8>) -> Vec<Outgoing> {
        self.server_said(line, Unasked::Shape).await
    }

    async fn server_said(&self, line: Vec<u8>, unasked: Unasked) -> Vec<Outgoing> {
        let mut out = Vec::new();
        let (onward, back) = {
            let (text, invalid_utf8) = text_of(&line);
            let text = forged::without(&text).map_or(text, Cow::Owned);
            match parse(&text) {
                Err(why) => return Box::pin(self.server_babbles(&line, why)).await,
                Ok(message) => {
                    let (envelopes, batch) = messages(message);
                    let mut splice = Splice::new(&text);
                    let mut steps = Vec::with_capacity(envelopes.len());
                    for envelope in &envelopes {
                        let mut came =
                            Answer { text: &text, invalid_utf8, envelope: *envelope, splice: &mut splice };
                        steps.push(match envelope.role() {
                            Some(Role::Response) => self.response(&mut came, unasked, &mut out).await,
                            Some(Role::Notification) => self.server_notifies(&mut came).await,
                            Some(Role::Request) => self.server_asks(&text, envelope, &mut splice, &mut out),
                            None => Step::Stop,
                        });
                        if matches!(steps.last(), Some(Step::Pass)) {
                            self.bound_beside(&text, envelope, &mut splice);
                        }
                    }
                    let (onward, back) = settle(&text, splice, &envelopes, steps, batch);
                    let is_line = matches!(text, Cow::Borrowed(said) if said.len() == line.len());
                    (onward.of(&text, is_line), back)
                }
            }
        };
        debug_assert!(back.is_none(), "nothing the server says is answered here");
        onward.line(line).map(Outgoing::ToClient).into_iter().chain(out).collect()
    }

    /// A line that is no message is dropped, and whoever waits for it is told.
    async fn server_babbles(&self, line: &[u8], why: NotRpc) -> Vec<Outgoing> {
        self.gateway.drops(
            Dropped::Invalid,
            line.len(),
            &format!("a line of the server that is no message: {why}"),
        );
        let (Some(id), false) = sniffed(line) else { return Vec::new() };
        if !self.waiting().has(&id) {
            return Vec::new();
        }
        let reason = Fault::upstream_invalid(&format!("what is no JSON-RPC 2.0 message ({why})"));
        self.answered_for(&id, |_| reason).await
    }

    /// Answers in the server's place a request that waits.
    async fn answered_for(&self, id: &str, reason: impl FnOnce(&Asked) -> Fault) -> Vec<Outgoing> {
        let asked = self.waiting().take(id);
        let Some(asked) = asked else { return Vec::new() };
        let reason = reason(&asked);
        if matches!(asked.what, What::Listing { .. }) {
            // Nobody but us waits for that.
            let error = answer::fault(&asked.id, &reason).into_bytes();
            self.waiting().add(asked, self.gateway.now());
            return self.server_says(error).await;
        }
        vec![Outgoing::ToClient(self.refusal(&asked, reason).into_bytes())]
    }

    /// A message over the limit was dropped: whoever waits for it is told.
    pub(super) async fn server_said_too_much(
        &self,
        id: Option<&str>,
        has_method: bool,
        bytes: u64,
    ) -> Vec<Outgoing> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.gateway.drops(Dropped::Oversized, bytes, "a message of the server over upstreamMessageLimit");
        match (id, has_method) {
            (Some(id), true) => {
                let reason = Fault::question_too_large(self.message_limit);
                vec![Outgoing::ToServer(answer::fault(id, &reason).into_bytes())]
            }
            (Some(id), false) => {
                let reason =
                    |asked: &Asked| Fault::message_too_large(self.message_limit, asked.what.endpoint());
                Box::pin(self.answered_for(id, reason)).await
            }
            (None, _) => Vec::new(),
        }
    }

    async fn response(&self, came: &mut Answer<'_, '_>, unasked: Unasked, out: &mut Vec<Outgoing>) -> Step {
        let (text, envelope) = (came.text, came.envelope);
        let asked = self.waiting().take_sent(envelope.raw_id(text));
        let Some(asked) = asked else {
            // An error without an id is about what the server could not read: nobody's answer, but no secret either.
            let about_nothing = envelope.raw_id(text) == "null" && envelope.error.is_some();
            if unasked == Unasked::Drop && !about_nothing {
                return super::reshape::unasked(self, came);
            }
            self.unseen(came).await;
            return Step::Pass;
        };
        match &asked.what {
            What::Relay { .. } => self.relay(came, &asked).await,
            // It was not sent, so nothing answers it.
            What::Held { .. } => return Step::Stop,
            What::Advertise { .. } => {
                self.advertise(text, &envelope, came.splice);
                self.relay(came, &asked).await;
            }
            What::ListTools => {
                if let Some(result) = envelope.result.filter(|result| is_complete(text, *result)) {
                    self.learn(came.splice, text, result);
                }
                self.relay(came, &asked).await;
            }
            What::Content { .. } => {
                if self.reshape(came, &asked).await {
                    out.extend(self.get_to_know_tools(&asked));
                }
            }
            What::Listing { meta } => {
                out.extend(self.listed(text, &envelope, meta.clone()).await);
                return Step::Stop;
            }
        }
        Step::Pass
    }

    /// Learns the tools of a page, and adds what is ours to it. Returns the server's cursor to the next page.
    fn learn(&self, splice: &mut Splice<'_>, text: &str, result: Span) -> Option<String> {
        let rules = self.gateway.rules();
        let offer = |name: &str| self.offer(&rules, name);
        let mut known = self.known();
        if self.lists_as_it_came() {
            return known.catalogue.page(&mut Splice::new(text), text, result, &offer);
        }
        known.catalogue.page(splice, text, result, &offer)
    }

    /// Asks for the tools once one of them has said much and none is known: whether it may be called again will
    /// matter when its snapshot has gone. A request of 2026-07-28 needs what only its client knows.
    fn get_to_know_tools(&self, asked: &Asked) -> Option<Outgoing> {
        let is_tool = matches!(asked.what, What::Content { shape: Shape::Tool, inside: false, .. });
        let unknown = {
            let known = self.known();
            !known.catalogue.is_complete() && !known.toolless
        };
        let mut waiting = self.waiting();
        (is_tool && unknown && !asked.modern && !waiting.is_listing())
            .then(|| ask_for_tools(&mut waiting, String::new(), None, self.gateway.now()))
    }

    /// Tells the client that there are tools, ours at least.
    fn advertise(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        let capabilities = envelope.result.and_then(|result| walk::member(text, result, "capabilities"));
        let Some(whole) = capabilities.filter(|span| walk::kind(text, *span) == Kind::Object) else { return };
        let members = walk::members(text, whole);
        let toolless = walk::find(text, &members, "tools").is_none();
        if toolless && !self.lists_as_it_came() {
            let items = members.iter().map(|member| member.whole()).collect();
            splice.append(&Sequence { whole, items }, &["\"tools\":{}".to_owned()]);
        }
        self.known().toolless = toolless;
    }

    /// The answer to our own question for the tools: the next question, or the calls that waited for it.
    async fn listed(&self, text: &str, envelope: &Envelope, meta: String) -> Vec<Outgoing> {
        {
            let mut nothing = Splice::new(text);
            let result = envelope.result.filter(|result| is_complete(text, *result));
            if let Some(next) = result.and_then(|result| self.learn(&mut nothing, text, result)) {
                return vec![ask_for_tools(&mut self.waiting(), meta, Some(&next), self.gateway.now())];
            }
            let mut known = self.known();
            if !known.catalogue.is_complete() {
                // A server that does not list has no tool that we could know, nor one of our name.
                known.catalogue.ours_alone();
            }
        }
        let held = self.waiting().take_held();
        let mut out = Vec::new();
        for asked in held {
            if let What::Held { line } = asked.what {
                out.extend(self.client_says(line.into_bytes(), None).await);
            }
        }
        out
    }
}

/// Our own question for a page of the tools.
pub(super) fn ask_for_tools(
    pending: &mut Pending,
    meta: String,
    cursor: Option<&str>,
    now: Instant,
) -> Outgoing {
    let id = pending.own_id();
    let mut params = Vec::new();
    params.extend(cursor.map(|cursor| format!("\"cursor\":{}", quote(cursor))));
    params.extend((!meta.is_empty()).then(|| format!("\"_meta\":{{{meta}}}")));
    let params =
        if params.is_empty() { String::new() } else { format!(",\"params\":{{{}}}", params.join(",")) };
    let question = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"{params}}}");
    pending.add(Asked { id, modern: false, what: What::Listing { meta }, timer: None }, now);
    Outgoing::Question(question.into_bytes())
}

/// Answers with an error instead.
pub(super) fn refuse(splice: &mut Splice<'_>, text: &str, envelope: &Envelope, reason: &Fault) {
    splice.replace(envelope.whole, answer::fault(envelope.raw_id(text), reason));
}

fn is_complete(text: &str, result: Span) -> bool {
    walk::member(text, result, "resultType").is_none_or(|kind| walk::is(kind.of(text), "complete"))
}
