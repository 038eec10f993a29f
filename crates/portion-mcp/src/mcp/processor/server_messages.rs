//! Handles notifications and requests of the server.

use portion_core::payload::Payload;
use portion_core::redact::RedactionRules;
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::dropped_messages::DropReason;
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_policy::endpoint::Endpoint;

use super::super::catalog::ToolCatalog;
use super::super::envelope::Envelope;
use super::super::member_limits::{self, Excess, LimitOutcome, MemberLimiter};
use super::super::result::{self, ResultShape};
use super::super::walk::{self, Member, Splice};
use super::McpProcessor;
use super::pending::{PendingKind, PendingRequest};
use super::reshape::{MessageEdit, SMALL_MESSAGE_BYTES};
use super::responses::{self, MessageOutcome};
use crate::message_processor::OutgoingMessage;

/// Members that the protocol gives a request.
const REQUEST_MEMBERS: [&str; 4] = ["jsonrpc", "id", "method", "params"];
/// Members that the protocol gives a notification.
const NOTIFICATION_MEMBERS: [&str; 3] = ["jsonrpc", "method", "params"];
/// Address of the content of a log message.
const DATA_ADDRESS: &str = "/params/data";

impl McpProcessor {
    /// Shapes the content of a notification and limits the rest of it.
    pub(super) async fn process_server_notification(&self, edit: &mut MessageEdit<'_, '_>) -> MessageOutcome {
        let (text, envelope) = (edit.text, edit.envelope);
        let method = envelope.method(text);
        if method == "notifications/tools/list_changed" {
            self.server_info.lock().edit_catalog(ToolCatalog::clear);
        }
        self.update_timers(text, &envelope, &method);
        let caller = self.general_caller();
        if envelope.span.len() <= SMALL_MESSAGE_BYTES && caller.effective_policy.redact.is_none() {
            return MessageOutcome::Forward;
        }
        let params = envelope.params.filter(|params| walk::kind(text, *params) == JsonKind::Object);
        let data = params
            .filter(|_| method == "notifications/message")
            .and_then(|params| walk::member_value(text, params, "data"));
        let task = params.filter(|_| method.starts_with("notifications/tasks"));
        if !self.limit_notification(edit, &caller, data.or(task)) {
            return self.drop_oversized_notification(envelope.span.len());
        }
        if let Some(data) = data {
            self.shape_log_data(edit, data, &caller).await;
        }
        match task {
            Some(task) => self.shape_reported_task(edit, task, &method).await,
            None => MessageOutcome::Forward,
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
        let (whole, params) = (envelope.span.len(), envelope.params.unwrap_or_default().slice(text));
        // Images and recordings in the params have a limit of their own.
        let non_media = || member_limits::non_media_bytes(params, policy.media_byte_limit);
        if whole > policy.hard_byte_limit && whole - params.len() + non_media() > policy.hard_byte_limit {
            self.gateway.record_drop(DropReason::Oversized, whole, "a server request to the client");
            let reason = Fault::server_request_too_large(policy.hard_byte_limit);
            let refusal = responses::fault_response(envelope.raw_id(text), &reason);
            out.push(OutgoingMessage::ToServer(refusal.into_bytes()));
            return MessageOutcome::Discard;
        }
        if let Some(redact) = redact {
            redact_request(redact, text, envelope, splice);
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
        result::add_value(&mut payload, DATA_ADDRESS, json);
        // It cannot be requested again.
        let endpoint = Endpoint::tool("notifications/message", false);
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        match self.gateway.answer(Call::new(caller, endpoint, payload)).await {
            Reply::Untouched => {}
            Reply::Portion(portion) => edit.splice.replace(data, result::part_json(&portion, DATA_ADDRESS)),
            Reply::Fault(reason) => edit.splice.replace(data, reason.to_json()),
        }
    }

    /// Shapes the result of a task that a notification reports.
    async fn shape_reported_task(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        task: Span,
        method: &str,
    ) -> MessageOutcome {
        let endpoint = Endpoint::tool(method, false);
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        let kind = PendingKind::content(ResultShape::Tool, caller, endpoint, true);
        let pending = PendingRequest { id: "null".to_owned(), is_stateless: false, kind, timer: None };
        // The task is in `params` like in the result of `tasks/get`.
        let envelope = Envelope { result: Some(task), error: None, ..edit.envelope };
        let mut inside = MessageEdit { envelope, splice: &mut *edit.splice, ..*edit };
        if self.shape_response(&mut inside, &pending).await && inside.splice.has_edit_at(envelope.span) {
            return self.drop_oversized_notification(envelope.span.len());
        }
        MessageOutcome::Forward
    }

    /// Shortens long strings of a notification that is too large as a whole, and redacts it. `served`: what is served in portions,
    /// and does not count. Returns false if the notification stays too large. Its method is never shortened, and nothing is
    /// removed: a client would take the notification for another one.
    fn limit_notification(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        caller: &Caller,
        served: Option<Span>,
    ) -> bool {
        let (text, envelope) = (edit.text, edit.envelope);
        let (policy, redact) = (&caller.effective_policy.policy, caller.effective_policy.redact.as_deref());
        let members = limited_members(text, &envelope, served);
        let member_bytes: usize = members.iter().map(|member| member.span().len() + 1).sum();
        let rest = envelope.span.len().saturating_sub(member_bytes + served.map_or(0, Span::len));
        let Some(max_bytes) = policy.fallback_byte_limit.checked_sub(rest) else { return false };
        let limiter = MemberLimiter { max_bytes, redact, excess: Excess::Refuse };
        match limiter.limit_members(text, &members, edit.splice) {
            LimitOutcome::Fits => {}
            LimitOutcome::Shortened(bytes) => {
                let what = "the ends of long strings of a notification";
                self.gateway.record_drop(DropReason::Oversized, bytes, what);
            }
            LimitOutcome::TooLarge => return false,
        }
        let other_params = envelope.params.filter(|params| walk::kind(text, *params) != JsonKind::Object);
        if let (Some(params), Some(redact)) = (other_params, redact)
            && let Some((redacted, _)) = redact.redact_json(params.slice(text))
        {
            edit.splice.replace(params, redacted);
        }
        true
    }

    fn drop_oversized_notification(&self, bytes: usize) -> MessageOutcome {
        self.gateway.record_drop(DropReason::Oversized, bytes, "a server notification");
        MessageOutcome::Discard
    }
}

/// Redacts the texts in the params of a server request, and the members that the protocol does not name.
fn redact_request(redact: &RedactionRules, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
    if let Some(params) = envelope.params
        && let Some(redacted) = member_limits::redact_request(redact, params.slice(text))
    {
        splice.replace(params, redacted);
    }
    let others = walk::members_except(text, envelope.span, &REQUEST_MEMBERS);
    member_limits::redact_members(redact, text, &others, splice);
}

/// Returns the members of a notification that are limited: those of its params, and those beside the protocol's own, except
/// `served`.
fn limited_members(text: &str, envelope: &Envelope, served: Option<Span>) -> Vec<Member> {
    let mut members = walk::members_except(text, envelope.span, &NOTIFICATION_MEMBERS);
    let params = envelope.params.filter(|params| Some(*params) != served);
    members.extend(params.map(|params| walk::members(text, params)).unwrap_or_default());
    // Of repeated members only the last one is served.
    members.retain(|member| Some(member.value) != served);
    members
}
