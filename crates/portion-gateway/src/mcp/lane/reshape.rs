//! Answers of the server: content is shaped, everything else that can hold some is bounded.

use std::sync::Arc;

use portion_core::payload::Payload;
use portion_core::redact::Redact;
use portion_core::scan::{Kind, quote};
use portion_core::span::Span;
use portion_core::view::Request;

use super::super::bound::{self, Bound, Bounded};
use super::super::envelope::Envelope;
use super::super::forged;
use super::super::result::{Failure, Odd, Outline, Read, Shape, fault};
use super::super::splice::Splice;
use super::super::walk;
use super::McpLane;
use super::line::Step;
use super::method::is_catalogue;
use super::pending::{Asked, What};
use super::upstream::refuse;
use super::who::Who;
use crate::call::{Call, Caller, Endpoint, EndpointKind, Fault, Intent, Reply};
use crate::dropped::Dropped;

/// Bytes of members that the protocol does not name, up to which they pass.
const ASIDE: usize = 4096;
/// Bytes of a message of the server up to which nothing in it is looked into, where nothing is hidden.
pub(super) const SMALL: usize = 2048;
/// Bytes of a question back up to which it is relayed: the state that comes with it is the client's to return, unread.
const QUESTION: usize = 1 << 20;
/// Members of a message that the protocol names.
const NAMED: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// An answer as it came, and what is to be changed in it.
pub(super) struct Answer<'a, 's> {
    pub text: &'a str,
    pub invalid_utf8: usize,
    pub envelope: Envelope,
    pub splice: &'s mut Splice<'a>,
}

impl McpLane {
    /// The one place where content is shaped: what is switched off is left alone here. Returns whether it was.
    pub(super) async fn reshape(&self, came: &mut Answer<'_, '_>, asked: &Asked) -> bool {
        let What::Content { shape, caller, endpoint, inside, .. } = &asked.what else { return false };
        let (text, envelope) = (came.text, came.envelope);
        if let Some(error) = said(text, envelope.error) {
            return self.fail(came, error, caller, endpoint).await;
        }
        let Some(result) = envelope.result else {
            self.gateway.failed(caller, endpoint, envelope.whole.len());
            return false;
        };
        if !inside || walk::kind(text, result) != Kind::Object {
            return self.shape(came, asked, result, *shape).await;
        }
        let terms = &caller.terms;
        let limit = terms.policy.hard_byte_limit;
        forged_of(text, result, came.splice);
        let bound = Bound { most: ASIDE, redact: terms.redact.as_deref() };
        match bound.members(text, result, &["result", "error"], came.splice) {
            Bounded::Fits => {}
            Bounded::Shortened(bytes) => self.gateway.drops(Dropped::Oversized, bytes, "parts of a task"),
            Bounded::TooLarge => {
                let reason = Fault::upstream_too_large(limit, Some(endpoint));
                refuse(came.splice, text, &envelope, &self.told(asked, reason));
                return true;
            }
        }
        // A task that has failed has its error where another has its result.
        let inner = |name: &str| said(text, walk::member(text, result, name));
        match (inner("error"), inner("result")) {
            (Some(error), None) => self.fail(came, error, caller, endpoint).await,
            (Some(_), Some(_)) => {
                let reason = Fault::upstream_invalid("a task with both a result and an error");
                refuse(came.splice, text, &envelope, &self.told(asked, reason));
                true
            }
            (None, Some(result)) => self.shape(came, asked, result, *shape).await,
            (None, None) => false,
        }
    }

    /// Shapes the result at a place.
    async fn shape(&self, came: &mut Answer<'_, '_>, asked: &Asked, result: Span, shape: Shape) -> bool {
        let What::Content { caller, endpoint, request, reuse, .. } = &asked.what else { return false };
        let (text, envelope) = (came.text, came.envelope);
        let redact = caller.terms.redact.clone();
        let answer = |payload, request: Request| {
            let intent = Intent::Fresh { payload, request, reuse: *reuse };
            let caller = Caller { read_uri: shape.read_uri(), ..(**caller).clone() };
            self.gateway.answer(Call { caller, endpoint: Some((**endpoint).clone()), intent })
        };
        let reply = match Outline::read(text, result, shape, redact.as_deref()) {
            Read::Question => return self.question(came, asked, result),
            Read::Odd => {
                let odd = Odd::of(text, result, shape);
                let reply = answer(odd.payload(came.invalid_utf8), (**request).clone()).await;
                match &reply {
                    Reply::Portion(portion) => {
                        came.splice.replace(result, odd.served(portion, asked.modern));
                    }
                    Reply::Untouched => forged_of(text, result, came.splice),
                    Reply::Fault(_) => {}
                }
                reply
            }
            Read::Content(outline) => {
                // What was asked of the result is not asked of an error in its place.
                let request = if outline.is_error() {
                    Request { max_tokens: request.max_tokens, ..Request::default() }
                } else {
                    (**request).clone()
                };
                let payload = Payload { paging: self.paging(endpoint), ..outline.payload(came.invalid_utf8) };
                let reply = answer(payload, request).await;
                match &reply {
                    Reply::Untouched => outline.disown(came.splice),
                    Reply::Portion(portion) => outline.serve(portion, came.splice),
                    Reply::Fault(_) => {}
                }
                reply
            }
        };
        match reply {
            Reply::Untouched => return false,
            Reply::Portion(_) => {}
            Reply::Fault(reason) if shape == Shape::Tool => {
                came.splice.replace(result, fault(&reason, asked.modern));
            }
            Reply::Fault(reason) => refuse(came.splice, text, &envelope, &reason),
        }
        true
    }

    /// The arguments by which a tool walks its own pages, as far as it is known.
    fn paging(&self, endpoint: &Endpoint) -> Arc<[String]> {
        let known = self.known();
        let tool = known.catalogue.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool);
        tool.map_or_else(Arc::default, |tool| tool.paging().into())
    }

    /// A result that is no content but something for the client to act on, and so is never shortened: a question back, the
    /// handle of a task. Too large a one is an error.
    fn question(&self, came: &mut Answer<'_, '_>, asked: &Asked, result: Span) -> bool {
        let What::Content { caller, endpoint, .. } = &asked.what else { return false };
        let policy = &caller.terms.policy;
        let json = result.of(came.text);
        let bytes = bound::bytes_beside_media(json, policy.media_byte_limit);
        let kind = walk::member(came.text, result, "resultType");
        let asks = kind.is_some_and(|kind| walk::is(kind.of(came.text), "input_required"));
        let most = if asks { policy.hard_byte_limit.max(QUESTION) } else { policy.hard_byte_limit };
        if bytes > most {
            let reason = Fault::upstream_too_large(most, Some(endpoint));
            refuse(came.splice, came.text, &came.envelope, &self.told(asked, reason));
            return true;
        }
        forged_of(came.text, result, came.splice);
        let hidden = caller.terms.redact.as_deref();
        if let Some(json) = hidden.and_then(|redact| bound::hidden_texts(redact, json, bound::is_text)) {
            came.splice.replace(result, json);
        }
        false
    }

    /// Shapes the error at a place.
    async fn fail(
        &self,
        came: &mut Answer<'_, '_>,
        error: Span,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> bool {
        let failure = Failure::of(came.text, error, caller.terms.redact.as_deref());
        let payload = failure.payload(came.invalid_utf8);
        let intent = Intent::Fresh { payload, request: Request::default(), reuse: None };
        let call = Call { caller: caller.clone(), endpoint: Some(endpoint.clone()), intent };
        match self.gateway.answer(call).await {
            Reply::Untouched => {
                failure.pass(came.splice);
                return false;
            }
            Reply::Portion(portion) => failure.serve(&portion, came.splice),
            Reply::Fault(reason) => refuse(came.splice, came.text, &came.envelope, &reason),
        }
        true
    }

    /// An answer that is relayed: errors in it are bounded, and what a model may read.
    pub(super) async fn relay(&self, came: &mut Answer<'_, '_>, asked: &Asked) {
        let (text, envelope) = (came.text, came.envelope);
        let method = asked.what.method();
        let endpoint = || Endpoint {
            name: method.to_owned(),
            kind: EndpointKind::Tool,
            read_only: is_catalogue(method),
            idempotent: is_catalogue(method),
        };
        if let Some(error) = said(text, envelope.error) {
            let redacts = self.general().terms.redact.is_some();
            if error.len() > SMALL || redacts {
                let endpoint = endpoint();
                let caller = self.caller(self.who_asked(), Some(&endpoint));
                self.fail(came, error, &caller, &endpoint).await;
            }
            return;
        }
        let Some(result) = envelope.result else { return };
        forged_of(text, result, came.splice);
        if is_catalogue(method) {
            self.bound_instructions(text, result, came.splice);
            return;
        }
        let caller = self.general();
        let redact = caller.terms.redact.as_deref();
        if result.len() <= SMALL && redact.is_none() {
            return;
        }
        if let Some(shape) = Shape::guess(text, result) {
            let asked = self.guessed(&asked.id, asked.modern, shape, endpoint());
            self.shape(came, &asked, result, shape).await;
        } else if let Some((hidden, _)) = redact.and_then(|redact| redact.apply(result.of(text))) {
            came.splice.replace(result, hidden);
        }
    }

    /// An answer to a request that this process has not seen, of a client that resumes a stream: shaped by what it looks like.
    pub(super) async fn unseen(&self, came: &mut Answer<'_, '_>) {
        let (text, envelope) = (came.text, came.envelope);
        let shape = envelope.result.and_then(|result| Shape::guess(text, result)).unwrap_or(Shape::Tool);
        let endpoint = Endpoint {
            name: "unasked".to_owned(),
            kind: EndpointKind::Tool,
            read_only: false,
            idempotent: false,
        };
        let asked = self.guessed(envelope.raw_id(text), false, shape, endpoint);
        self.reshape(came, &asked).await;
    }

    /// A request of which only the answer is known.
    fn guessed(&self, id: &str, modern: bool, shape: Shape, endpoint: Endpoint) -> Asked {
        let caller = Box::new(self.caller(self.who_asked(), Some(&endpoint)));
        let (endpoint, request) = (Box::new(endpoint), Box::default());
        let what = What::Content { shape, caller, endpoint, request, reuse: None, inside: false };
        Asked { id: id.to_owned(), modern, what, timer: None }
    }

    /// Bounds what stands beside the members that the protocol names.
    pub(super) fn bound_beside(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        // A result beside an error is not read by anybody who follows the protocol.
        let both = said(text, envelope.error).and(said(text, envelope.result));
        if envelope.beside == 0 && both.is_none() {
            return;
        }
        let caller = self.general();
        let bound = Bound { most: ASIDE, redact: caller.terms.redact.as_deref() };
        let except: Vec<&str> =
            NAMED.into_iter().filter(|name| both.is_none() || *name != "result").collect();
        match bound.members(text, envelope.whole, &except, splice) {
            Bounded::Fits => {}
            Bounded::Shortened(bytes) => {
                self.gateway.drops(Dropped::Oversized, bytes, "large members beside a result");
            }
            Bounded::TooLarge => {
                self.gateway.drops(
                    Dropped::Oversized,
                    envelope.whole.len(),
                    "very many members beside a result",
                );
                let members = walk::members(text, envelope.whole);
                let items = members.iter().map(|member| member.whole()).collect();
                let is_named = |i: usize| except.iter().any(|name| walk::is(members[i].key.of(text), name));
                splice.edit(&walk::Sequence { whole: envelope.whole, items }, is_named, &[]);
            }
        }
    }

    /// Cuts the instructions of a server, which clients show to their models, to the byte limit.
    fn bound_instructions(&self, text: &str, result: Span, splice: &mut Splice<'_>) {
        let Some(place) = walk::member(text, result, "instructions") else { return };
        let policy = &self.general().terms.policy;
        if place.len() <= policy.fallback_byte_limit || walk::kind(text, place) != Kind::String {
            return;
        }
        let said = portion_core::scan::decoded(place.of(text));
        // In JSON a byte of text can take six.
        let kept = said.floor_char_boundary(policy.fallback_byte_limit / 2);
        let left_out = said[kept..].chars().count();
        let cut = format!("{} … [{left_out} characters left out]", &said[..kept]);
        splice.replace(place, quote(&cut));
        self.gateway.drops(Dropped::Oversized, said.len() - kept, "the end of long instructions");
    }

    /// Whom a message is for that answers no request in particular.
    pub(super) fn general(&self) -> Caller {
        self.caller(self.who_asked(), None)
    }

    /// Who asks here, as `initialize` has said.
    pub(super) fn who_asked(&self) -> Who {
        Who { client: self.client.get().copied(), trace: None }
    }

    /// A fault in place of an answer, taken note of.
    fn told(&self, asked: &Asked, reason: Fault) -> Fault {
        let What::Content { caller, endpoint, request, .. } = &asked.what else { return reason };
        let request = Request { max_tokens: request.max_tokens, ..Request::default() };
        self.gateway.refuse(reason, caller, &request, endpoint)
    }
}

/// A member that says something: `null` says nothing.
fn said(text: &str, member: Option<Span>) -> Option<Span> {
    member.filter(|place| walk::kind(text, *place) != Kind::Null)
}

/// Takes our prefix out of the `_meta` of a result that nobody else looks into.
fn forged_of(text: &str, result: Span, splice: &mut Splice<'_>) {
    if let Some(meta) = walk::member(text, result, "_meta") {
        forged::disown(text, meta, splice);
    }
}

/// What becomes of an answer that nobody waits for.
pub(super) fn unasked(lane: &McpLane, came: &Answer<'_, '_>) -> Step {
    let (id, bytes) = (came.envelope.raw_id(came.text), came.envelope.whole.len());
    let (dropped, why) = if lane.waiting().was_cancelled(id) {
        (Dropped::Cancelled, "an answer to a request that its client has cancelled")
    } else {
        (Dropped::Unasked, "an answer that no pending request has asked for")
    };
    lane.gateway.drops(dropped, bytes, why);
    Step::Stop
}

/// What is hidden in JSON, applied to the texts of what a server asks its client.
pub(super) fn hidden_in_question(redact: &Redact, json: &str) -> Option<String> {
    bound::hidden_texts(redact, json, bound::is_text)
}
