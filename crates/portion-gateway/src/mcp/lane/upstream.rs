//! What the server says.

use std::sync::Arc;

use portion_core::payload::Payload;
use portion_core::scan::{Kind, quote};
use portion_core::span::Span;
use portion_core::view::Request;

use super::super::envelope::{Envelope, Role, parse, text_of};
use super::super::result::{Failure, Outline, Shape, fault};
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};
use super::line::{Onward, Step, messages, settle};
use super::pending::{Asked, Pending, What};
use super::{McpLane, answer};
use crate::call::{Call, Caller, Endpoint, EndpointKind, Fault, Intent, Reply};
use crate::relay::Outgoing;

impl McpLane {
    pub(super) async fn server_says(&self, line: Vec<u8>) -> Vec<Outgoing> {
        let mut out = Vec::new();
        let (onward, back) = {
            let (text, invalid_utf8) = text_of(&line);
            match parse(&text) {
                Err(why) => {
                    let beginning: String = text.chars().take(200).collect();
                    tracing::warn!(%why, beginning, "dropped a line of the server that is no message");
                    (Onward::Nothing, None)
                }
                Ok(message) => {
                    let (envelopes, batch) = messages(message);
                    let mut splice = Splice::new(&text);
                    let mut steps = Vec::with_capacity(envelopes.len());
                    for envelope in &envelopes {
                        steps.push(match envelope.role() {
                            Some(Role::Response) => {
                                self.response(&text, invalid_utf8, envelope, &mut splice, &mut out).await
                            }
                            Some(Role::Notification) => self.server_notifies(&text, envelope),
                            _ => Step::Pass,
                        });
                    }
                    settle(&text, splice, &envelopes, steps, batch)
                }
            }
        };
        debug_assert!(back.is_none(), "nothing the server says is answered here");
        onward.line(line).map(Outgoing::ToClient).into_iter().chain(out).collect()
    }

    /// A message over the limit was dropped: whoever waits for it is told.
    pub(super) fn server_said_too_much(&self, id: Option<&str>, has_method: bool) -> Vec<Outgoing> {
        tracing::warn!(limit = self.message_limit, "dropped a message of the server that is too large");
        let reason = |asked: &Asked| Fault::message_too_large(self.message_limit, asked.what.endpoint());
        match (id, has_method) {
            (Some(id), true) => {
                let reason = Fault::message_too_large(self.message_limit, None);
                vec![Outgoing::ToServer(answer::fault(id, &reason).into_bytes())]
            }
            (Some(id), false) => {
                let asked = self.waiting().take(id);
                let answer = asked.map(|asked| self.refusal(&asked, reason(&asked)));
                answer.map(|answer| Outgoing::ToClient(answer.into_bytes())).into_iter().collect()
            }
            (None, _) => Vec::new(),
        }
    }

    fn server_notifies(&self, text: &str, envelope: &Envelope) -> Step {
        if envelope.method(text) == "notifications/tools/list_changed" {
            self.known().catalogue.forget();
        }
        Step::Pass
    }

    async fn response(
        &self,
        text: &str,
        invalid_utf8: usize,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        out: &mut Vec<Outgoing>,
    ) -> Step {
        let Some(asked) = self.waiting().take(envelope.raw_id(text)) else { return Step::Pass };
        match asked.what {
            What::Relay | What::Held { .. } => {}
            What::Advertise => self.advertise(text, envelope, splice),
            What::ListTools => {
                if let Some(result) = envelope.result.filter(|result| is_complete(text, *result)) {
                    self.learn(splice, text, result);
                }
            }
            What::Content { .. } => {
                if self.reshape(text, invalid_utf8, envelope, &asked, splice).await {
                    out.extend(self.get_to_know_tools(&asked));
                }
            }
            What::Listing { meta } => {
                out.extend(self.listed(text, envelope, meta).await);
                return Step::Stop;
            }
        }
        Step::Pass
    }

    /// The one place where content is shaped: what is switched off is left alone here. Returns whether it was.
    async fn reshape(
        &self,
        text: &str,
        invalid_utf8: usize,
        envelope: &Envelope,
        asked: &Asked,
        splice: &mut Splice<'_>,
    ) -> bool {
        let What::Content { shape, caller, endpoint, request, reuse, inside } = &asked.what else {
            return false;
        };
        let answer = |payload, request: Request, reuse| {
            let intent = Intent::Fresh { payload, request, reuse };
            let caller = Caller { read_uri: shape.read_uri(), ..(**caller).clone() };
            self.gateway.answer(Call { caller, endpoint: Some((**endpoint).clone()), intent })
        };
        // A task that has failed has its error where another has its result.
        let inner = |name: &str| {
            let result = envelope.result.filter(|_| *inside)?;
            walk::member(text, result, name)
        };
        if let Some(error) = envelope.error.or_else(|| inner("error")) {
            let Some(failure) = Failure::of(text, error) else {
                self.gateway.failed(caller, endpoint, error.len());
                return false;
            };
            match answer(failure.payload(invalid_utf8), Request::default(), None).await {
                Reply::Untouched => return false,
                Reply::Portion(portion) => failure.serve(&portion, splice),
                Reply::Fault(reason) => refuse(splice, text, envelope, &reason),
            }
            return true;
        }
        let result = if *inside { inner("result") } else { envelope.result };
        let Some((result, outline)) = result.and_then(|span| Some((span, Outline::of(text, span, *shape)?)))
        else {
            return false;
        };
        // What was asked of the result is not asked of an error in its place.
        let request = if outline.is_error() {
            Request { max_tokens: request.max_tokens, ..Request::default() }
        } else {
            (**request).clone()
        };
        let payload = Payload { paging: self.paging(endpoint), ..outline.payload(invalid_utf8) };
        match answer(payload, request, *reuse).await {
            Reply::Untouched => {
                outline.disown(splice);
                return false;
            }
            Reply::Portion(portion) => outline.serve(&portion, splice),
            Reply::Fault(reason) if *shape == Shape::Tool => {
                splice.replace(result, fault(&reason, asked.modern));
            }
            Reply::Fault(reason) => refuse(splice, text, envelope, &reason),
        }
        true
    }

    /// The arguments by which a tool walks its own pages, as far as it is known.
    fn paging(&self, endpoint: &Endpoint) -> Arc<[String]> {
        let known = self.known();
        let tool = known.catalogue.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool);
        tool.map_or_else(Arc::default, |tool| tool.paging().into())
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
            .then(|| ask_for_tools(&mut waiting, String::new(), None))
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
                return vec![ask_for_tools(&mut self.waiting(), meta, Some(&next))];
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
                out.extend(self.client_says(line.into_bytes()).await);
            }
        }
        out
    }
}

/// Our own question for a page of the tools.
pub(super) fn ask_for_tools(pending: &mut Pending, meta: String, cursor: Option<&str>) -> Outgoing {
    let id = pending.own_id();
    let mut params = Vec::new();
    params.extend(cursor.map(|cursor| format!("\"cursor\":{}", quote(cursor))));
    params.extend((!meta.is_empty()).then(|| format!("\"_meta\":{{{meta}}}")));
    let params =
        if params.is_empty() { String::new() } else { format!(",\"params\":{{{}}}", params.join(",")) };
    let question = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"{params}}}");
    pending.add(Asked { id, modern: false, what: What::Listing { meta } });
    Outgoing::Question(question.into_bytes())
}

/// Answers with an error instead.
fn refuse(splice: &mut Splice<'_>, text: &str, envelope: &Envelope, reason: &Fault) {
    splice.replace(envelope.whole, answer::fault(envelope.raw_id(text), reason));
}

fn is_complete(text: &str, result: Span) -> bool {
    walk::member(text, result, "resultType").is_none_or(|kind| walk::is(kind.of(text), "complete"))
}
