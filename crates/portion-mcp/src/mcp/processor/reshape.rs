//! Shapes the content of server responses.

use std::sync::Arc;

use portion_core::payload::Payload;
use portion_core::render::PortionKind;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::dropped_messages::DropReason;
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_policy::endpoint::Endpoint;

use super::super::envelope::Envelope;
use super::super::member_limits::{
    self, Excess, LimitOutcome, MemberLimiter, redact_client_action, strip_reserved_of_result,
};
use super::super::result::{
    ErrorOutline, ParsedResult, ResultOutline, ResultShape, UnrecognizedResult, fault_result, tool_result,
};
use super::super::walk::{self, Splice};
use super::McpProcessor;
use super::caller_identity::CallerIdentity;
use super::pending::{PendingKind, PendingRequest};
use super::relayed::MAX_EXTRA_BYTES;
use super::responses::MessageOutcome;
use super::upstream::replace_with_fault;

/// Largest server message, in bytes, that is forwarded unread if there are no redaction rules.
pub(super) const SMALL_MESSAGE_BYTES: usize = 2048;
/// Largest input request, in bytes, that is relayed: the client must return its state unread.
const MAX_INPUT_REQUEST_BYTES: usize = 1 << 20;

/// A received message and its edits.
pub(super) struct MessageEdit<'a, 's> {
    pub text: &'a str,
    pub invalid_utf8: usize,
    pub envelope: Envelope,
    pub splice: &'s mut Splice<'a>,
}

impl MessageEdit<'_, '_> {
    /// Returns true if the message is not in a batch.
    pub(super) fn is_single(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// Sets the id of the message, which may have none.
    pub(super) fn set_id(&mut self, raw_id: &str) {
        if let Some(id) = self.envelope.id {
            self.splice.replace(id, raw_id);
        } else {
            let start = self.envelope.span.start + 1;
            self.splice.replace(Span { start, end: start }, format!("\"id\":{raw_id},"));
        }
    }
}

impl McpProcessor {
    /// Shapes a response with content. Returns true if the content was shaped or replaced by a fault.
    pub(super) async fn shape_response(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        pending: &PendingRequest,
    ) -> bool {
        let PendingKind::Content { shape, caller, endpoint, is_nested: inside, .. } = &pending.kind else {
            return false;
        };
        let (text, envelope) = (edit.text, edit.envelope);
        if let Some(error) = non_null(text, envelope.error) {
            return self.shape_error(edit, error, caller, endpoint).await;
        }
        let Some(result) = envelope.result else {
            self.gateway.report_upstream_failure(caller, endpoint, envelope.span.len());
            return false;
        };
        if !inside || walk::kind(text, result) != JsonKind::Object {
            return self.shape_result(edit, pending, result, *shape).await;
        }
        let effective_policy = &caller.effective_policy;
        let limit = effective_policy.policy.hard_byte_limit;
        strip_reserved_of_result(text, result, edit.splice);
        let redact = effective_policy.redact.as_deref();
        let limiter = MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact, excess: Excess::Mark };
        // A failed task has its error in place of a result.
        let inner = |name: &str| non_null(text, walk::member_value(text, result, name));
        let (inner_error, inner_result) = (inner("error"), inner("result"));
        // Of repeated members only the last one is served.
        let mut others = walk::members(text, result);
        others.retain(|member| ![inner_error, inner_result].contains(&Some(member.value)));
        match limiter.limit_members(text, &others, edit.splice) {
            LimitOutcome::Fits => {}
            LimitOutcome::Shortened(bytes) => {
                self.gateway.record_drop(DropReason::Oversized, bytes, "parts of a task");
            }
            LimitOutcome::TooLarge => {
                let reason = Fault::upstream_too_large(limit, Some(endpoint));
                replace_with_fault(edit.splice, text, &envelope, &self.record_refusal(pending, reason));
                return true;
            }
        }
        match (inner_error, inner_result) {
            (Some(error), None) => self.shape_error(edit, error, caller, endpoint).await,
            (Some(_), Some(_)) => {
                let reason = Fault::upstream_invalid("a task with both a result and an error");
                replace_with_fault(edit.splice, text, &envelope, &self.record_refusal(pending, reason));
                true
            }
            (None, Some(result)) => self.shape_result(edit, pending, result, *shape).await,
            (None, None) => false,
        }
    }

    /// Shapes the result at a span.
    pub(super) async fn shape_result(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        pending: &PendingRequest,
        result: Span,
        shape: ResultShape,
    ) -> bool {
        let PendingKind::Content { caller, endpoint, request, reuse_key: reuse, paging, .. } = &pending.kind
        else {
            return false;
        };
        let (text, envelope) = (edit.text, edit.envelope);
        let redact = caller.effective_policy.redact.clone();
        let answer = |payload, request: Request| {
            let caller = Caller { read_uri: shape.read_uri_prefix(), ..(**caller).clone() };
            let endpoint = Some((**endpoint).clone());
            self.gateway.answer(Call { caller, endpoint, payload, request, reuse: *reuse })
        };
        let reply = match ResultOutline::parse(text, result, shape, redact.as_deref()) {
            ParsedResult::ClientAction => return self.limit_client_action(edit, pending, result),
            ParsedResult::Unrecognized => {
                let unrecognized = UnrecognizedResult::new(text, result, shape);
                let reply = answer(unrecognized.payload(edit.invalid_utf8), (**request).clone()).await;
                match &reply {
                    Reply::Portion(portion) => {
                        edit.splice.replace(result, unrecognized.to_result(portion, pending.is_stateless));
                    }
                    Reply::Untouched => strip_reserved_of_result(text, result, edit.splice),
                    Reply::Fault(_) => {}
                }
                reply
            }
            ParsedResult::Content(mut outline) => {
                if caller.leaves_out_structured(outline.has_media()) {
                    outline.leave_out_structured();
                }
                if outline.upstream_notice.is_some() {
                    self.nested_portion.record();
                }
                // Controls apply to the result, not to an error in its place.
                let request = if outline.is_error {
                    Request { max_tokens: request.max_tokens, ..Request::default() }
                } else {
                    (**request).clone()
                };
                let payload =
                    Payload { paging_arguments: Arc::clone(paging), ..outline.payload(edit.invalid_utf8) };
                let reply = answer(payload, request).await;
                match &reply {
                    Reply::Untouched => outline.strip_reserved(edit.splice),
                    // An order of rows in text is a query, too.
                    Reply::Portion(portion) if portion.kind() == PortionKind::Query => {
                        let structured = self.structured_form(caller, endpoint);
                        edit.splice.replace(result, tool_result(portion, structured, pending.is_stateless));
                    }
                    Reply::Portion(portion) => outline.write_portion(portion, edit.splice),
                    Reply::Fault(_) => {}
                }
                reply
            }
        };
        match reply {
            Reply::Untouched => return false,
            Reply::Portion(_) => {}
            Reply::Fault(reason) if shape == ResultShape::Tool => {
                edit.splice.replace(result, fault_result(&reason, pending.is_stateless));
            }
            Reply::Fault(reason) => replace_with_fault(edit.splice, text, &envelope, &reason),
        }
        true
    }

    /// Limits a result that is not content but an instruction to the client: an input request, the handle of
    /// a task. It is never shortened; if it is too large, it becomes an error.
    fn limit_client_action(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        pending: &PendingRequest,
        result: Span,
    ) -> bool {
        let PendingKind::Content { caller, endpoint, .. } = &pending.kind else { return false };
        let policy = &caller.effective_policy.policy;
        let json = result.slice(edit.text);
        let bytes = member_limits::non_media_bytes(json, policy.media_byte_limit);
        let kind = walk::member_value(edit.text, result, "resultType");
        let asks = kind.is_some_and(|kind| walk::string_equals(kind.slice(edit.text), "input_required"));
        let max =
            if asks { policy.hard_byte_limit.max(MAX_INPUT_REQUEST_BYTES) } else { policy.hard_byte_limit };
        if bytes > max {
            let reason = Fault::upstream_too_large(max, Some(endpoint));
            replace_with_fault(edit.splice, edit.text, &edit.envelope, &self.record_refusal(pending, reason));
            return true;
        }
        let mut stripped = Splice::new(edit.text);
        strip_reserved_of_result(edit.text, result, &mut stripped);
        let json = stripped.apply_within(result);
        let rules = caller.effective_policy.redact.as_deref();
        let json = rules.and_then(|redact| redact_client_action(redact, &json)).unwrap_or(json);
        if json != result.slice(edit.text) {
            edit.splice.replace(result, json);
        }
        false
    }

    /// Shapes the error at a span.
    pub(super) async fn shape_error(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        error: Span,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> bool {
        let failure = ErrorOutline::parse(edit.text, error, caller.effective_policy.redact.as_deref());
        let payload = failure.payload(edit.invalid_utf8);
        match self.gateway.answer(Call::new(caller.clone(), endpoint.clone(), payload)).await {
            Reply::Untouched => {
                failure.apply_redactions(edit.splice);
                return false;
            }
            Reply::Portion(portion) => failure.write_portion(&portion, edit.splice),
            Reply::Fault(reason) => replace_with_fault(edit.splice, edit.text, &edit.envelope, &reason),
        }
        true
    }

    /// Shapes a response to a request that this process never received, on a resumed stream, by the form of
    /// the result.
    pub(super) async fn shape_unseen_response(&self, edit: &mut MessageEdit<'_, '_>) {
        let (text, envelope) = (edit.text, edit.envelope);
        let shape =
            envelope.result.and_then(|result| ResultShape::guess(text, result)).unwrap_or(ResultShape::Tool);
        let pending =
            self.guessed_request(envelope.raw_id(text), false, shape, Endpoint::tool("unasked", false));
        self.shape_response(edit, &pending).await;
    }

    /// Builds a pending request from the response alone.
    pub(super) fn guessed_request(
        &self,
        id: &str,
        is_stateless: bool,
        shape: ResultShape,
        endpoint: Endpoint,
    ) -> PendingRequest {
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        let kind = PendingKind::content(shape, caller, endpoint, false);
        PendingRequest { id: id.to_owned(), is_stateless, kind, timer: None }
    }

    /// Returns the caller of messages that answer no particular request.
    pub(super) fn general_caller(&self) -> Caller {
        self.caller(self.session_identity(), None)
    }

    /// Returns the client from `initialize`.
    pub(super) fn session_identity(&self) -> CallerIdentity {
        CallerIdentity { client: self.client.get().copied(), trace: None }
    }

    /// Records a fault that replaces a response.
    fn record_refusal(&self, pending: &PendingRequest, reason: Fault) -> Fault {
        let PendingKind::Content { caller, endpoint, request, .. } = &pending.kind else { return reason };
        let request = Request { max_tokens: request.max_tokens, ..Request::default() };
        self.gateway.report_fault(reason, caller, &request, endpoint)
    }
}

/// Returns a member unless it is `null`.
pub(super) fn non_null(text: &str, member: Option<Span>) -> Option<Span> {
    member.filter(|place| walk::kind(text, *place) != JsonKind::Null)
}

/// Drops a response without a pending request, and records the reason.
pub(super) fn drop_unsolicited_response(
    processor: &McpProcessor,
    edit: &MessageEdit<'_, '_>,
) -> MessageOutcome {
    let (id, bytes) = (edit.envelope.raw_id(edit.text), edit.envelope.span.len());
    let (dropped, description) = if processor.pending_requests.lock().forget_cancelled(id) {
        (DropReason::Cancelled, "a response to a cancelled request")
    } else {
        (DropReason::Unsolicited, "a response without a pending request")
    };
    processor.gateway.record_drop(dropped, bytes, description);
    MessageOutcome::Discard
}
