//! Shapes the content of server responses, and limits everything else in them that can be large.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use portion_core::payload::Payload;
use portion_core::redact::RedactionRules;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply};
use portion_gateway::dropped_messages::DropReason;
use portion_json::scan::{JsonKind, quote};
use portion_json::span::Span;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::envelope::Envelope;
use super::super::member_limits::{self, LimitOutcome, MemberLimiter};
use super::super::member_redaction;
use super::super::reserved_meta;
use super::super::result::{
    ErrorOutline, ParsedResult, ResultOutline, ResultShape, UnrecognizedResult, fault_result,
};
use super::super::splice::Splice;
use super::super::walk;
use super::McpProcessor;
use super::caller_identity::CallerIdentity;
use super::line_outcome::MessageOutcome;
use super::method::{has_empty_result, is_catalog_method};
use super::pending::{PendingKind, PendingRequest};
use super::upstream::replace_with_fault;

/// Largest total size, in bytes, of members that the protocol does not name.
const MAX_EXTRA_BYTES: usize = 4096;
/// Largest server message, in bytes, that is forwarded unread if there are no redaction rules.
pub(super) const SMALL_MESSAGE_BYTES: usize = 2048;
/// Largest input request, in bytes, that is relayed: the client must return its state unread.
const MAX_INPUT_REQUEST_BYTES: usize = 1 << 20;
/// Message members that the protocol names.
const PROTOCOL_MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A received message and its edits.
pub(super) struct MessageEdit<'a, 's> {
    pub text: &'a str,
    pub invalid_utf8: usize,
    pub envelope: Envelope,
    pub splice: &'s mut Splice<'a>,
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
        strip_reserved_meta(text, result, edit.splice);
        let limiter =
            MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact: effective_policy.redact.as_deref() };
        match limiter.limit_members(text, result, &["result", "error"], edit.splice) {
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
        // A failed task has its error in place of a result.
        let inner = |name: &str| non_null(text, walk::member_value(text, result, name));
        match (inner("error"), inner("result")) {
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
    async fn shape_result(
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
                    Reply::Untouched => strip_reserved_meta(text, result, edit.splice),
                    Reply::Fault(_) => {}
                }
                reply
            }
            ParsedResult::Content(outline) => {
                if outline.has_upstream_notice() {
                    self.is_before_portion.store(true, Ordering::Relaxed);
                }
                // Controls apply to the result, not to an error in its place.
                let request = if outline.is_error() {
                    Request { max_tokens: request.max_tokens, ..Request::default() }
                } else {
                    (**request).clone()
                };
                let payload =
                    Payload { paging_arguments: Arc::clone(paging), ..outline.payload(edit.invalid_utf8) };
                let reply = answer(payload, request).await;
                match &reply {
                    Reply::Untouched => outline.strip_reserved(edit.splice),
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
        let most =
            if asks { policy.hard_byte_limit.max(MAX_INPUT_REQUEST_BYTES) } else { policy.hard_byte_limit };
        if bytes > most {
            let reason = Fault::upstream_too_large(most, Some(endpoint));
            replace_with_fault(edit.splice, edit.text, &edit.envelope, &self.record_refusal(pending, reason));
            return true;
        }
        strip_reserved_meta(edit.text, result, edit.splice);
        let rules = caller.effective_policy.redact.as_deref();
        if let Some(json) = rules.and_then(|redact| {
            member_redaction::redact_strings(redact, json, member_redaction::is_text_member)
        }) {
            edit.splice.replace(result, json);
        }
        false
    }

    /// Shapes the error at a span.
    async fn shape_error(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        error: Span,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> bool {
        let failure = ErrorOutline::parse(edit.text, error, caller.effective_policy.redact.as_deref());
        let payload = failure.payload(edit.invalid_utf8);
        let call = Call {
            caller: caller.clone(),
            endpoint: Some(endpoint.clone()),
            payload,
            request: Request::default(),
            reuse: None,
        };
        match self.gateway.answer(call).await {
            Reply::Untouched => {
                failure.apply_redactions(edit.splice);
                return false;
            }
            Reply::Portion(portion) => failure.write_portion(&portion, edit.splice),
            Reply::Fault(reason) => replace_with_fault(edit.splice, edit.text, &edit.envelope, &reason),
        }
        true
    }

    /// Limits a relayed response: errors, and everything that a model may read.
    pub(super) async fn relay_response(&self, edit: &mut MessageEdit<'_, '_>, pending: &PendingRequest) {
        let (text, envelope) = (edit.text, edit.envelope);
        let method = pending.kind.method();
        let endpoint = || Endpoint {
            name: method.to_owned(),
            kind: EndpointKind::Tool,
            read_only: is_catalog_method(method),
            idempotent: is_catalog_method(method),
        };
        if let Some(error) = non_null(text, envelope.error) {
            let redacts = self.general_caller().effective_policy.redact.is_some();
            if error.len() > SMALL_MESSAGE_BYTES || redacts {
                let endpoint = endpoint();
                let caller = self.caller(self.session_identity(), Some(&endpoint));
                self.shape_error(edit, error, &caller, &endpoint).await;
            }
            return;
        }
        let Some(result) = envelope.result else { return };
        strip_reserved_meta(text, result, edit.splice);
        if is_catalog_method(method) {
            self.truncate_instructions(text, result, edit.splice);
            return;
        }
        let caller = self.general_caller();
        let redact = caller.effective_policy.redact.as_deref();
        if result.len() <= SMALL_MESSAGE_BYTES && redact.is_none() {
            return;
        }
        let is_oversized = result.len() > SMALL_MESSAGE_BYTES && has_empty_result(method);
        let shape = ResultShape::guess(text, result).or(is_oversized.then_some(ResultShape::Tool));
        if let Some(shape) = shape {
            let pending = self.guessed_request(&pending.id, pending.is_stateless, shape, endpoint());
            self.shape_result(edit, &pending, result, shape).await;
            return;
        }
        let mut stripped = Splice::new(text);
        strip_reserved_meta(text, result, &mut stripped);
        let mut json = Cow::Borrowed(result.slice(text));
        if !stripped.is_empty() {
            json = stripped.apply_within(result).into();
        }
        if let Some(redact) = redact {
            json = redact.redact_json(&json).map_or(json, |(redacted, _)| redacted.into());
            json = member_redaction::redact_names(redact, &json).map_or(json, Into::into);
        }
        if method == "completion/complete" {
            json = self.limit_completion(&json).map_or(json, Into::into);
        }
        if let Cow::Owned(json) = json {
            edit.splice.replace(result, json);
        }
    }

    /// Limits the members of a completion that the protocol does not name. Returns `None` if nothing changes.
    fn limit_completion(&self, json: &str) -> Option<String> {
        let result = walk::document_span(json);
        let mut splice = Splice::new(json);
        let limiter = MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact: None };
        let objects = [Some(result), walk::member_value(json, result, "completion")];
        for (object, known) in
            objects.into_iter().zip([["completion"].as_slice(), &["values", "total", "hasMore"]])
        {
            let Some(object) = object else { continue };
            match limiter.limit_members(json, object, known, &mut splice) {
                LimitOutcome::Fits => {}
                LimitOutcome::Shortened(bytes) => {
                    self.gateway.record_drop(DropReason::Oversized, bytes, "large members of a completion");
                }
                LimitOutcome::TooLarge => {
                    self.gateway.record_drop(
                        DropReason::Oversized,
                        object.len(),
                        "too many members of a completion",
                    );
                    remove_members(json, object, known, &mut splice);
                }
            }
        }
        (!splice.is_empty()).then(|| splice.apply())
    }

    /// Shapes a response to a request that this process never received, on a resumed stream, by the form of
    /// the result.
    pub(super) async fn shape_unseen_response(&self, edit: &mut MessageEdit<'_, '_>) {
        let (text, envelope) = (edit.text, edit.envelope);
        let shape =
            envelope.result.and_then(|result| ResultShape::guess(text, result)).unwrap_or(ResultShape::Tool);
        let endpoint = Endpoint {
            name: "unasked".to_owned(),
            kind: EndpointKind::Tool,
            read_only: false,
            idempotent: false,
        };
        let pending = self.guessed_request(envelope.raw_id(text), false, shape, endpoint);
        self.shape_response(edit, &pending).await;
    }

    /// Builds a pending request from the response alone.
    fn guessed_request(
        &self,
        id: &str,
        modern: bool,
        shape: ResultShape,
        endpoint: Endpoint,
    ) -> PendingRequest {
        let caller = self.caller(self.session_identity(), Some(&endpoint));
        let kind = PendingKind::content(shape, caller, endpoint, false);
        PendingRequest { id: id.to_owned(), is_stateless: modern, kind, timer: None }
    }

    /// Limits the members that the protocol does not name.
    pub(super) fn limit_unknown_members(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        // Clients that follow the protocol do not read a result beside an error.
        let both = non_null(text, envelope.error).and(non_null(text, envelope.result));
        if envelope.unknown_member_count == 0 && both.is_none() {
            return;
        }
        let caller = self.general_caller();
        let limiter =
            MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact: caller.effective_policy.redact.as_deref() };
        let except: Vec<&str> =
            PROTOCOL_MEMBERS.into_iter().filter(|name| both.is_none() || *name != "result").collect();
        match limiter.limit_members(text, envelope.span, &except, splice) {
            LimitOutcome::Fits => {}
            LimitOutcome::Shortened(bytes) => {
                self.gateway.record_drop(DropReason::Oversized, bytes, "large members next to a result");
            }
            LimitOutcome::TooLarge => {
                self.gateway.record_drop(
                    DropReason::Oversized,
                    envelope.span.len(),
                    "too many members next to a result",
                );
                remove_members(text, envelope.span, &except, splice);
            }
        }
    }

    /// Shortens the server's instructions, which clients show to their models, to the byte limit.
    fn truncate_instructions(&self, text: &str, result: Span, splice: &mut Splice<'_>) {
        let Some(place) = walk::member_value(text, result, "instructions") else { return };
        let policy = &self.general_caller().effective_policy.policy;
        if place.len() <= policy.fallback_byte_limit || walk::kind(text, place) != JsonKind::String {
            return;
        }
        let instructions = portion_json::scan::unescape(place.slice(text));
        // In JSON a byte of text can take six.
        let end = instructions.floor_char_boundary(policy.fallback_byte_limit / 2);
        let left_out = instructions[end..].chars().count();
        let cut = format!("{} … [{left_out} characters omitted]", &instructions[..end]);
        splice.replace(place, quote(&cut));
        self.gateway.record_drop(
            DropReason::Oversized,
            instructions.len() - end,
            "the end of long instructions",
        );
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
fn non_null(text: &str, member: Option<Span>) -> Option<Span> {
    member.filter(|place| walk::kind(text, *place) != JsonKind::Null)
}

/// Removes all members of an object except those in `known`.
fn remove_members(text: &str, object: Span, known: &[&str], splice: &mut Splice<'_>) {
    let members = walk::members(text, object);
    let items = members.iter().map(|member| member.span()).collect();
    let is_known = |i: usize| known.iter().any(|name| walk::string_equals(members[i].key.slice(text), name));
    splice.edit_sequence(&walk::Sequence { span: object, items }, is_known, &[]);
}

/// Removes reserved members from the `_meta` of a result that is not parsed further.
fn strip_reserved_meta(text: &str, result: Span, splice: &mut Splice<'_>) {
    if let Some(meta) = walk::member_value(text, result, "_meta") {
        reserved_meta::strip_reserved_members(text, meta, splice);
    }
}

/// Drops a response without a pending request, and records the reason.
pub(super) fn drop_unsolicited_response(
    processor: &McpProcessor,
    edit: &MessageEdit<'_, '_>,
) -> MessageOutcome {
    let (id, bytes) = (edit.envelope.raw_id(edit.text), edit.envelope.span.len());
    let (dropped, description) = if processor.pending_requests().forget_cancelled(id) {
        (DropReason::Cancelled, "a response to a cancelled request")
    } else {
        (DropReason::Unsolicited, "a response without a pending request")
    };
    processor.gateway.record_drop(dropped, bytes, description);
    MessageOutcome::Discard
}

/// Redacts the texts of a server request.
pub(super) fn redact_server_request(redact: &RedactionRules, json: &str) -> Option<String> {
    member_redaction::redact_strings(redact, json, member_redaction::is_text_member)
}
