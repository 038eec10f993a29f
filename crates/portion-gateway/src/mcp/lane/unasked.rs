//! What the server says unasked: notifications, and requests to the client.

use portion_core::payload::{Block, Content, Payload};
use portion_core::scan::{Kind, decode};
use portion_core::span::Span;
use portion_core::view::Request;

use super::super::bound::{self, Bound, Bounded};
use super::super::envelope::Envelope;
use super::super::result::{self, Shape};
use super::super::splice::Splice;
use super::super::walk;
use super::line::Step;
use super::pending::{Asked, What};
use super::reshape::{Answer, SMALL, hidden_in_question};
use super::{McpLane, answer};
use crate::call::{Call, Caller, Endpoint, EndpointKind, Fault, Intent, Reply};
use crate::dropped::Dropped;
use crate::relay::Outgoing;

/// Where the content of a log message stands.
const DATA: &str = "/params/data";

impl McpLane {
    /// A notification of the server. Content in it is shaped, the rest of it bounded.
    pub(super) async fn server_notifies(&self, came: &mut Answer<'_, '_>) -> Step {
        let (text, envelope) = (came.text, came.envelope);
        let method = envelope.method(text);
        if method == "notifications/tools/list_changed" {
            self.known().catalogue.forget();
        }
        self.heed(text, &envelope, &method);
        let caller = self.general();
        if envelope.whole.len() <= SMALL && caller.terms.redact.is_none() {
            return Step::Pass;
        }
        let Some(params) = envelope.params else { return self.bounded(envelope.whole, &caller, came, &[]) };
        if walk::kind(text, params) != Kind::Object {
            return self.no_object(params, &caller, came);
        }
        match &*method {
            "notifications/message" => {
                if let Some(data) = walk::member(text, params, "data") {
                    self.log_data(came, data, &caller).await;
                }
                self.bounded(params, &caller, came, &["data"])
            }
            task if task.starts_with("notifications/tasks") => {
                let asked = self.task(&method);
                // It lies in `params` as in the result of `tasks/get`.
                let envelope = Envelope { result: Some(params), error: None, ..envelope };
                let mut inside = Answer { envelope, splice: &mut *came.splice, ..*came };
                if self.reshape(&mut inside, &asked).await && inside.splice.replaces(envelope.whole) {
                    return self.too_large(envelope.whole.len());
                }
                Step::Pass
            }
            _ => self.bounded(params, &caller, came, &[]),
        }
    }

    /// A request of the server to its client: what it says is for a model or a person, and nothing of it can be left out.
    pub(super) fn server_asks(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        out: &mut Vec<Outgoing>,
    ) -> Step {
        let caller = self.general();
        let (policy, redact) = (&caller.terms.policy, caller.terms.redact.as_deref());
        let whole = envelope.whole.of(text);
        if whole.len() > policy.hard_byte_limit
            && bound::bytes_beside_media(whole, policy.media_byte_limit) > policy.hard_byte_limit
        {
            self.gateway.drops(Dropped::Oversized, whole.len(), "a request of the server to its client");
            let reason = Fault::question_too_large(policy.hard_byte_limit);
            let refusal = answer::fault(envelope.raw_id(text), &reason);
            out.push(Outgoing::ToServer(refusal.into_bytes()));
            return Step::Stop;
        }
        if let (Some(redact), Some(params)) = (redact, envelope.params)
            && let Some(hidden) = hidden_in_question(redact, params.of(text))
        {
            splice.replace(params, hidden);
        }
        self.timeouts.pause(envelope.raw_id(text));
        Step::Pass
    }

    /// Shapes the data of a log message.
    async fn log_data(&self, came: &mut Answer<'_, '_>, data: Span, caller: &Caller) {
        let json = data.of(came.text);
        if json.len() <= SMALL && caller.terms.redact.is_none() {
            return;
        }
        let mut payload = Payload { invalid_utf8: came.invalid_utf8, ..Payload::default() };
        let content = if json.starts_with('"') {
            let mut said = String::new();
            payload.lone_surrogates = decode(json, &mut said);
            Content::Text(said)
        } else {
            Content::Structured(json.to_owned())
        };
        payload.blocks.push(Block::new(DATA, content));
        let endpoint = notified("notifications/message");
        let caller = self.caller(self.who_asked(), Some(&endpoint));
        let intent = Intent::Fresh { payload, request: Request::default(), reuse: None };
        match self.gateway.answer(Call { caller, endpoint: Some(endpoint), intent }).await {
            Reply::Untouched => {}
            Reply::Portion(portion) => came.splice.replace(data, result::beside(&portion, DATA)),
            Reply::Fault(reason) => came.splice.replace(data, reason.to_json()),
        }
    }

    /// The request that would have brought a task of which a notification tells.
    fn task(&self, method: &str) -> Asked {
        let endpoint = notified(method);
        let caller = Box::new(self.caller(self.who_asked(), Some(&endpoint)));
        let (endpoint, request) = (Box::new(endpoint), Box::default());
        let what = What::Content { shape: Shape::Tool, caller, endpoint, request, reuse: None, inside: true };
        Asked { id: "null".to_owned(), modern: false, what, timer: None }
    }

    /// Bounds an object of a notification, but for some of its members.
    fn bounded(&self, object: Span, caller: &Caller, came: &mut Answer<'_, '_>, except: &[&str]) -> Step {
        let terms = &caller.terms;
        let bound = Bound { most: terms.policy.fallback_byte_limit, redact: terms.redact.as_deref() };
        match bound.members(came.text, object, except, came.splice) {
            Bounded::Fits => {}
            Bounded::Shortened(bytes) => {
                self.gateway.drops(Dropped::Oversized, bytes, "large members of a notification");
            }
            Bounded::TooLarge => return self.too_large(object.len()),
        }
        Step::Pass
    }

    /// Parameters that are no object pass while they are small, without what is hidden.
    fn no_object(&self, params: Span, caller: &Caller, came: &mut Answer<'_, '_>) -> Step {
        let (terms, json) = (&caller.terms, params.of(came.text));
        if json.len() > terms.policy.fallback_byte_limit {
            return self.too_large(json.len());
        }
        if let Some((hidden, _)) = terms.redact.as_deref().and_then(|redact| redact.apply(json)) {
            came.splice.replace(params, hidden);
        }
        Step::Pass
    }

    fn too_large(&self, bytes: usize) -> Step {
        self.gateway.drops(Dropped::Oversized, bytes, "a notification of the server");
        Step::Stop
    }
}

/// What a notification is as an endpoint: it cannot be asked for again.
fn notified(method: &str) -> Endpoint {
    let (read_only, idempotent) = (false, false);
    Endpoint { name: method.to_owned(), kind: EndpointKind::Tool, read_only, idempotent }
}
