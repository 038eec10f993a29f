//! Limits what is relayed in server responses: members, errors and instructions that can be large.

use std::borrow::Cow;

use portion_gateway::dropped_messages::DropReason;
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;
use portion_policy::endpoint::Endpoint;

use super::super::envelope::Envelope;
use super::super::member_limits::{Excess, LimitOutcome, MemberLimiter, strip_reserved_of_result};
use super::super::result::ResultShape;
use super::super::walk::{self, Sequence, Splice};
use super::McpProcessor;
use super::method::{has_empty_result, is_catalog_method};
use super::pending::PendingRequest;
use super::reshape::{MessageEdit, SMALL_MESSAGE_BYTES, non_null};

/// Largest total size, in bytes, of members that the protocol does not name.
pub(super) const MAX_EXTRA_BYTES: usize = 4096;
/// Members that the protocol gives a response.
const RESPONSE_MEMBERS: [&str; 4] = ["jsonrpc", "id", "result", "error"];

impl McpProcessor {
    /// Limits a relayed response: errors, and everything that a model may read.
    pub(super) async fn relay_response(&self, edit: &mut MessageEdit<'_, '_>, pending: &PendingRequest) {
        let (text, envelope) = (edit.text, edit.envelope);
        let method = pending.kind.method();
        let endpoint = || Endpoint::tool(method, is_catalog_method(method));
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
        strip_reserved_of_result(text, result, edit.splice);
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
        // The whole result is replaced, so that the edits of the message do not apply to it.
        let mut stripped = Splice::new(text);
        strip_reserved_of_result(text, result, &mut stripped);
        let mut json = Cow::Borrowed(result.slice(text));
        if !stripped.is_empty() {
            json = stripped.apply_within(result).into();
        }
        if let Some(redact) = redact {
            json = redact.redact_json(&json).map_or(json, |(redacted, _)| redacted.into());
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
        let limiter = MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact: None, excess: Excess::Mark };
        self.limit_members(limiter, (json, result), &["completion"], &mut splice, "members of a completion");
        if let Some(completion) = walk::member_value(json, result, "completion") {
            let known = ["values", "total", "hasMore"];
            self.limit_members(limiter, (json, completion), &known, &mut splice, "members of a completion");
        }
        (!splice.is_empty()).then(|| splice.apply())
    }

    /// Limits the members of a response that the protocol does not name.
    pub(super) fn limit_unknown_members(&self, text: &str, envelope: &Envelope, splice: &mut Splice<'_>) {
        if envelope.unknown_member_count == 0 && envelope.params.is_none() {
            return;
        }
        let caller = self.general_caller();
        let redact = caller.effective_policy.redact.as_deref();
        let limiter = MemberLimiter { max_bytes: MAX_EXTRA_BYTES, redact, excess: Excess::Mark };
        let what = "members next to a result";
        self.limit_members(limiter, (text, envelope.span), &RESPONSE_MEMBERS, splice, what);
    }

    /// Limits the members of an object, except the known ones. If they are too many, one mark replaces all. `members`: what they
    /// are, for the log.
    fn limit_members(
        &self,
        limiter: MemberLimiter<'_>,
        (text, object): (&str, Span),
        known: &[&str],
        splice: &mut Splice<'_>,
        members: &str,
    ) {
        let others = walk::members_except(text, object, known);
        let (bytes, problem) = match limiter.limit_members(text, &others, splice) {
            LimitOutcome::Fits => return,
            LimitOutcome::Shortened(bytes) => (bytes, "large"),
            LimitOutcome::TooLarge => {
                replace_members(text, object, known, splice);
                (object.len(), "too many")
            }
        };
        self.gateway.record_drop(DropReason::Oversized, bytes, &format!("{problem} {members}"));
    }

    /// Shortens the server's instructions, which clients show to their models, to the byte limit.
    fn truncate_instructions(&self, text: &str, result: Span, splice: &mut Splice<'_>) {
        let Some(place) = walk::member_value(text, result, "instructions") else { return };
        let policy = &self.general_caller().effective_policy.policy;
        if place.len() <= policy.fallback_byte_limit || walk::kind(text, place) != JsonKind::String {
            return;
        }
        let instructions = unescape(place.slice(text));
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
}

/// Replaces all members of an object except those in `known` by a mark that says how many they were.
fn replace_members(text: &str, object: Span, known: &[&str], splice: &mut Splice<'_>) {
    let members = walk::members(text, object);
    let is_known = |i: usize| known.iter().any(|name| walk::string_equals(members[i].key.slice(text), name));
    let left_out = (0..members.len()).filter(|i| !is_known(*i)).count();
    let mark = format!("\"…\":\"[+{left_out} members]\"");
    splice.edit_sequence(&Sequence::of_members(object, &members), is_known, &[mark]);
}
