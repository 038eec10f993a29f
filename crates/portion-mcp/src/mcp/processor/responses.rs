//! Builds the messages that the gateway itself writes, and combines the outcomes of a line's messages into the
//! outcome of the line.

use std::fmt::Display;
use std::time::Duration;

use portion_core::error_code::ErrorCode;
use portion_gateway::call::{Fault, Reply};
use portion_json::scan::quote;

use super::super::envelope::Envelope;
use super::super::result::{self, StructuredForm};
use super::super::walk::{Sequence, Splice, document_span};
use super::pending::PendingRequest;

/// Error code of MCP before 2026-07-28 for an unknown resource URI. Later revisions use invalid params.
const RESOURCE_NOT_FOUND: i32 = -32002;

/// Advice for a call whose outcome is unknown.
const MAY_HAVE_ACTED: &str = "the call may have acted; check its outcome before you repeat it";

/// Builds a response with a JSON result.
pub(super) fn success_response(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// Builds a response with an error of this code, from a fault.
fn error_response(id: &str, code: i32, fault: &Fault) -> String {
    let (message, data) = (quote(&fault.short_message()), fault.to_json());
    let error = format!("{{\"code\":{code},\"message\":{message},\"data\":{data}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// Builds an error response from a fault, for methods other than `tools/call`.
pub(super) fn fault_response(id: &str, fault: &Fault) -> String {
    error_response(id, fault.code.info().json_rpc, fault)
}

/// Builds a response from a fault, in the form that the pending request expects.
pub(super) fn refusal_response(pending: &PendingRequest, reason: &Fault) -> String {
    if pending.kind.expects_tool_result() {
        success_response(&pending.id, &result::fault_result(reason, pending.is_stateless))
    } else {
        fault_response(&pending.id, reason)
    }
}

/// Builds a `tools/call` response from a reply without an upstream result.
pub(super) fn tool_response(
    id: &str,
    reply: &Reply,
    structured: StructuredForm,
    is_stateless: bool,
) -> String {
    let text = match reply {
        Reply::Portion(portion) => result::tool_result(portion, structured, is_stateless),
        Reply::Fault(reason) => result::fault_result(reason, is_stateless),
        Reply::Untouched => result::fault_result(&nothing_to_show_fault(), is_stateless),
    };
    success_response(id, &text)
}

/// Builds a `tools/call` response with this text, unshortened.
pub(super) fn text_response(id: &str, text: &str, is_stateless: bool) -> String {
    success_response(id, &result::text_result(text, is_stateless))
}

/// Builds a `resources/read` response from a reply without an upstream result.
pub(super) fn resource_response(id: &str, reply: &Reply, is_stateless: bool) -> String {
    match reply {
        Reply::Portion(portion) => success_response(id, &result::resource_result(portion, is_stateless)),
        Reply::Fault(reason)
            if !is_stateless
                && matches!(reason.code, ErrorCode::CursorExpired | ErrorCode::CursorInvalid) =>
        {
            error_response(id, RESOURCE_NOT_FOUND, reason)
        }
        Reply::Fault(reason) => fault_response(id, reason),
        Reply::Untouched => fault_response(id, &nothing_to_show_fault()),
    }
}

/// Returns the fault for a request whose response was lost, or cannot be used.
pub(super) fn lost_response_fault(cause: &dyn Display) -> Fault {
    Fault::new(ErrorCode::UpstreamGone, cause.to_string(), MAY_HAVE_ACTED.into())
}

/// Returns the fault for a request that the server will no longer answer.
pub(super) fn server_gone_fault(cause: &dyn Display) -> Fault {
    // The server's last output follows the first line.
    let cause = cause.to_string();
    let (sentence, rest) = cause.split_at(cause.find('\n').unwrap_or(cause.len()));
    Fault::new(
        ErrorCode::UpstreamGone,
        format!("{sentence} before it responded{rest}"),
        MAY_HAVE_ACTED.into(),
    )
}

/// Returns the fault for a request that did not reach the server.
pub(super) fn server_unreachable_fault(cause: &dyn Display) -> Fault {
    let advice = "the call did not reach the server; check that the server runs, then call again".into();
    Fault::new(ErrorCode::UpstreamGone, cause.to_string(), advice)
}

/// Returns the fault for a request that timed out.
pub(super) fn timeout_fault(after: Duration) -> Fault {
    let message = format!("the server did not respond within {} s (requestTimeout)", after.as_secs());
    let advice = "the call may have acted; check its outcome before you repeat it (operator: raise \
                  requestTimeout for longer calls)"
        .into();
    Fault::new(ErrorCode::UpstreamTimeout, message, advice)
}

/// Returns the fault for a queued call that was not sent, because the server did not list its tools in time.
pub(super) fn unsent_call_fault(after: Duration) -> Fault {
    let message = format!("the server did not list its tools within {} s (requestTimeout)", after.as_secs());
    let advice = "the call was not sent; check that the server runs, then call again, or call without \
         limit, cursor and fields"
        .into();
    Fault::new(ErrorCode::UpstreamTimeout, message, advice)
}

/// Outcome of a message.
pub(super) enum MessageOutcome {
    /// Forwarded, with the edits of the splice if there are any.
    Forward,
    /// Not forwarded; answered with this response.
    Respond(String),
    /// Not forwarded.
    Discard,
}

/// Forwarded part of a line.
pub(super) enum ForwardedLine {
    Nothing,
    /// The bytes that were received.
    Unchanged,
    Changed(String),
}

impl ForwardedLine {
    /// Replaces the received line by `text`, if they may differ and the line is otherwise unchanged.
    pub(super) fn ensure_text(self, text: &str, is_line: bool) -> Self {
        match self {
            Self::Unchanged if !is_line => Self::Changed(text.to_owned()),
            other => other,
        }
    }

    /// Returns the line to send, if any.
    pub(super) fn into_line(self, received: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Nothing => None,
            Self::Unchanged => Some(received),
            Self::Changed(text) => Some(text.into_bytes()),
        }
    }
}

/// Returns the forwarded part of a line, and the response line.
pub(super) fn combine_outcomes(
    text: &str,
    mut splice: Splice<'_>,
    envelopes: &[Envelope],
    outcomes: Vec<MessageOutcome>,
    batch: bool,
) -> (ForwardedLine, Option<Vec<u8>>) {
    let passing: Vec<bool> =
        outcomes.iter().map(|outcome| matches!(outcome, MessageOutcome::Forward)).collect();
    let answers = outcomes.into_iter().filter_map(|outcome| match outcome {
        MessageOutcome::Respond(answer) => Some(answer),
        MessageOutcome::Forward | MessageOutcome::Discard => None,
    });
    let response = join_answers(answers.collect(), batch);
    if batch && passing.contains(&false) {
        let items = envelopes.iter().map(|envelope| envelope.span).collect();
        splice.edit_sequence(&Sequence { span: document_span(text), items }, |i| passing[i], &[]);
    }
    let forwarded = match (passing.contains(&true), splice.is_empty()) {
        (false, _) => ForwardedLine::Nothing,
        (true, true) => ForwardedLine::Unchanged,
        (true, false) => ForwardedLine::Changed(splice.apply()),
    };
    (forwarded, response)
}

/// Returns the response line of a batch, or of a single message, if there is one.
pub(super) fn join_answers(mut answers: Vec<String>, batch: bool) -> Option<Vec<u8>> {
    let line =
        if batch && !answers.is_empty() { Some(format!("[{}]", answers.join(","))) } else { answers.pop() };
    line.map(String::into_bytes)
}

/// Returns the fault for a reply without content where no upstream result exists.
fn nothing_to_show_fault() -> Fault {
    let advice = "call the tool again without a cursor".into();
    Fault::new(ErrorCode::Internal, "there is no content".into(), advice)
}
