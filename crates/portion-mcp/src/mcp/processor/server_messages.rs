//! Handles notifications and requests of the server.

use portion_core::payload::{Block, Content, Payload};
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::dropped_messages::DropReason;
use portion_json::scan::{JsonKind, unescape_into};
use portion_json::span::Span;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::catalog::ToolCatalog;
use super::super::envelope::Envelope;
use super::super::member_limits::{self, LimitOutcome, MemberLimiter};
use super::super::result::{self, ResultShape};
use super::super::splice::Splice;
use super::super::walk;
use super::line_outcome::MessageOutcome;
use super::pending::{PendingKind, PendingRequest};
use super::reshape::{MessageEdit, SMALL_MESSAGE_BYTES, redact_server_request};
use super::{McpProcessor, responses};
use crate::message_processor::OutgoingMessage;

/// Address of the content of a log message.
const DATA_ADDRESS: &str = "/params/data";

impl McpProcessor {
    /// Shapes the content of a notification and limits its other members.
    pub(super) async fn process_server_notification(&self, edit: &mut MessageEdit<'_, '_>) -> MessageOutcome {
        let (text, envelope) = (edit.text, edit.envelope);
        let method = envelope.method(text);
        if method == "notifications/tools/list_changed" {
            self.server_info().edit_catalog(ToolCatalog::clear);
        }
        self.update_timers(text, &envelope, &method);
        let caller = self.general_caller();
        if envelope.span.len() <= SMALL_MESSAGE_BYTES && caller.effective_policy.redact.is_none() {
            return MessageOutcome::Forward;
        }
        let Some(params) = envelope.params else {
            return self.limit_notification_members(envelope.span, &caller, edit, &[]);
        };
        if walk::kind(text, params) != JsonKind::Object {
            return self.limit_non_object_params(params, &caller, edit);
        }
        match &*method {
            "notifications/message" => {
                if let Some(data) = walk::member_value(text, params, "data") {
                    self.shape_log_data(edit, data, &caller).await;
                }
                self.limit_notification_members(params, &caller, edit, &["data"])
            }
            task if task.starts_with("notifications/tasks") => {
                let pending = self.task_request(&method);
                // The task is in `params` like in the result of `tasks/get`.
                let envelope = Envelope { result: Some(params), error: None, ..envelope };
                let mut inside = MessageEdit { envelope, splice: &mut *edit.splice, ..*edit };
                if self.shape_response(&mut inside, &pending).await
                    && inside.splice.has_edit_at(envelope.span)
                {
                    return self.drop_oversized_notification(envelope.span.len());
                }
                MessageOutcome::Forward
            }
            _ => self.limit_notification_members(params, &caller, edit, &[]),
        }
    }

    /// Handles a server request to the client. Its texts are for a model or a person, and cannot be
    /// shortened.
    pub(super) fn process_server_request(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        out: &mut Vec<OutgoingMessage>,
    ) -> MessageOutcome {
        let caller = self.general_caller();
        let (policy, redact) = (&caller.effective_policy.policy, caller.effective_policy.redact.as_deref());
        let whole = envelope.span.slice(text);
        if whole.len() > policy.hard_byte_limit
            && member_limits::non_media_bytes(whole, policy.media_byte_limit) > policy.hard_byte_limit
        {
            self.gateway.record_drop(DropReason::Oversized, whole.len(), "a server request to the client");
            let reason = Fault::server_request_too_large(policy.hard_byte_limit);
            let refusal = responses::fault_response(envelope.raw_id(text), &reason);
            out.push(OutgoingMessage::ToServer(refusal.into_bytes()));
            return MessageOutcome::Discard;
        }
        if let (Some(redact), Some(params)) = (redact, envelope.params)
            && let Some(redacted) = redact_server_request(redact, params.slice(text))
        {
            splice.replace(params, redacted);
        }
        self.timeouts.pause(envelope.raw_id(text), self.gateway.now());
        MessageOutcome::Forward
    }

    /// Shapes the data of a log message.
    async fn shape_log_data(&self, edit: &mut MessageEdit<'_, '_>, data: Span, caller: &Caller) {
        let json = data.slice(edit.text);
        if json.len() <= SMALL_MESSAGE_BYTES && caller.effective_policy.redact.is_none() {
            return;
        }
        let mut payload = Payload { invalid_utf8_count: edit.invalid_utf8, ..Payload::default() };
        let content = if json.starts_with('"') {
            let mut text = String::new();
            payload.lone_surrogate_count = unescape_into(json, &mut text);
            Content::Text(text)
        } else {
            Content::Structured(json.to_owned())
        };
        payload.blocks.push(Block::new(DATA_ADDRESS, content));
        let endpoint = notification_endpoint("notifications/message");
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        let call =
            Call { caller, endpoint: Some(endpoint), payload, request: Request::default(), reuse: None };
        match self.gateway.answer(call).await {
            Reply::Untouched => {}
            Reply::Portion(portion) => edit.splice.replace(data, result::part_json(&portion, DATA_ADDRESS)),
            Reply::Fault(reason) => edit.splice.replace(data, reason.to_json()),
        }
    }

    /// Builds the pending request for a task that a notification reports.
    fn task_request(&self, method: &str) -> PendingRequest {
        let endpoint = notification_endpoint(method);
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        let kind = PendingKind::content(ResultShape::Tool, caller, endpoint, true);
        PendingRequest { id: "null".to_owned(), is_stateless: false, kind, timer: None }
    }

    /// Limits the members of a notification's object, except those in `except`.
    fn limit_notification_members(
        &self,
        object: Span,
        caller: &Caller,
        edit: &mut MessageEdit<'_, '_>,
        except: &[&str],
    ) -> MessageOutcome {
        let effective_policy = &caller.effective_policy;
        let limiter = MemberLimiter {
            max_bytes: effective_policy.policy.fallback_byte_limit,
            redact: effective_policy.redact.as_deref(),
        };
        let members = walk::members_except(edit.text, object, except);
        match limiter.limit_members(edit.text, &members, edit.splice) {
            LimitOutcome::Fits => {}
            LimitOutcome::Shortened(bytes) => {
                self.gateway.record_drop(DropReason::Oversized, bytes, "large members of a notification");
            }
            LimitOutcome::TooLarge => return self.drop_oversized_notification(object.len()),
        }
        MessageOutcome::Forward
    }

    /// Forwards params that are not an object if they are small, redacted.
    fn limit_non_object_params(
        &self,
        params: Span,
        caller: &Caller,
        edit: &mut MessageEdit<'_, '_>,
    ) -> MessageOutcome {
        let (effective_policy, json) = (&caller.effective_policy, params.slice(edit.text));
        if json.len() > effective_policy.policy.fallback_byte_limit {
            return self.drop_oversized_notification(json.len());
        }
        let redact = effective_policy.redact.as_deref();
        if let Some((redacted, _)) = redact.and_then(|redact| redact.redact_json(json)) {
            edit.splice.replace(params, redacted);
        }
        MessageOutcome::Forward
    }

    fn drop_oversized_notification(&self, bytes: usize) -> MessageOutcome {
        self.gateway.record_drop(DropReason::Oversized, bytes, "a server notification");
        MessageOutcome::Discard
    }
}

/// Returns the endpoint of a notification, which cannot be requested again.
fn notification_endpoint(method: &str) -> Endpoint {
    let (read_only, idempotent) = (false, false);
    Endpoint { name: method.to_owned(), kind: EndpointKind::Tool, read_only, idempotent }
}
