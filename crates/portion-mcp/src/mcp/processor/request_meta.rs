//! Members of the `_meta` of a request.

use portion_json::span::Span;

use super::super::envelope::Envelope;
use super::super::parsed_batch::WHOLE_RESULT_KEY;
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};

/// Prefix of the `_meta` keys that every request of 2026-07-28 carries.
const PROTOCOL_META_PREFIX: &str = "io.modelcontextprotocol/";

/// Returns the span of `_meta`.
pub(super) fn meta_span(text: &str, envelope: &Envelope) -> Option<Span> {
    envelope.params.and_then(|params| walk::member_value(text, params, "_meta"))
}

/// Returns true if the `_meta` of a call requests an unshaped result. The flag is meant for the gateway, and
/// is removed.
pub(super) fn take_whole_flag(text: &str, meta: Span, splice: &mut Splice<'_>) -> bool {
    let members = walk::members(text, meta);
    let is_ours = |member: &walk::Member| walk::string_equals(member.key.slice(text), WHOLE_RESULT_KEY);
    let Some(flag) = members.iter().rfind(|member| is_ours(member)) else { return false };
    let items = members.iter().map(|member| member.span()).collect();
    splice.edit_sequence(&Sequence { span: meta, items }, |i| !is_ours(&members[i]), &[]);
    flag.value.slice(text) == "true"
}

/// Returns true for a request of 2026-07-28, which names its protocol version.
pub(super) fn is_stateless_request(text: &str, meta: Span) -> bool {
    walk::member_value(text, meta, "io.modelcontextprotocol/protocolVersion").is_some()
}

/// Returns the protocol's members of a request's `_meta`.
pub(super) fn protocol_meta_members(text: &str, envelope: &Envelope) -> String {
    let members = meta_span(text, envelope).map(|meta| walk::members(text, meta)).unwrap_or_default();
    let protocol = |member: &&walk::Member| {
        member.key.slice(text).trim_start_matches('"').starts_with(PROTOCOL_META_PREFIX)
    };
    members.iter().filter(protocol).map(|member| member.span().slice(text)).collect::<Vec<_>>().join(",")
}
