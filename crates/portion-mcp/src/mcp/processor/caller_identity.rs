//! Finds the client and the trace of a request, from `_meta` or from `initialize`, and other members of `_meta`.

use portion_core::event::{self, TraceContext, TraceParent};
use portion_json::span::Span;
use portion_policy::client::ClientProfile;

use super::McpProcessor;
use crate::mcp::envelope::Envelope;
use crate::mcp::parsed_batch::WHOLE_RESULT_KEY;
use crate::mcp::walk::{self, Splice};

/// `_meta` key with the client of a request of 2026-07-28.
const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// `_meta` key with the trace context of a request:
/// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#context-propagation>.
const TRACEPARENT_KEY: &str = "traceparent";

/// `_meta` key of Codex with facts about a turn, such as its `model`:
/// <https://github.com/openai/codex/pull/21219>.
const CODEX_TURN_KEY: &str = "x-codex-turn-metadata";

/// Client and trace of a request.
#[derive(Clone, Copy)]
pub(super) struct CallerIdentity {
    pub(super) client: Option<&'static ClientProfile>,
    pub(super) trace: Option<TraceContext>,
}

impl McpProcessor {
    /// Returns the client and the trace of a request.
    pub(super) fn caller_identity(
        &self,
        text: &str,
        envelope: &Envelope,
        method: &str,
        meta: Option<Span>,
    ) -> CallerIdentity {
        let parent = meta.and_then(|meta| parse_traceparent(text, meta));
        let trace = parent.map(|(parent, _)| parent.child(self.gateway.next_span_id()));
        let client = self.resolve_client(text, envelope, method, meta);
        let turn = meta.and_then(|meta| walk::member_value(text, meta, CODEX_TURN_KEY));
        let model = turn.and_then(|turn| walk::string_member(text, turn, "model"));
        let client = client.map(|client| model.map_or(client, |model| client.for_model(&model)));
        CallerIdentity { client, trace }
    }

    /// Replaces the client's span id by the gateway's, if both are recorded. The length is the same, and no
    /// other byte changes.
    pub(super) fn continue_trace(
        &self,
        identity: CallerIdentity,
        text: &str,
        meta: Span,
        splice: &mut Splice<'_>,
    ) {
        let recorded = identity.trace.filter(|trace| self.exports_traces && trace.sampled);
        if let (Some(ours), Some((_, place))) = (recorded, parse_traceparent(text, meta)) {
            splice.replace(place, event::format_span_id(ours.span));
        }
    }

    /// Returns the client of a request: a request of 2026-07-28 may name it in `_meta`, otherwise
    /// `initialize` did.
    fn resolve_client(
        &self,
        text: &str,
        envelope: &Envelope,
        method: &str,
        meta: Option<Span>,
    ) -> Option<&'static ClientProfile> {
        let begins = method == "initialize";
        let (holder, key) = if begins { (envelope.params, "clientInfo") } else { (meta, CLIENT_INFO_KEY) };
        let info = holder.and_then(|holder| walk::member_value(text, holder, key));
        let name = info.and_then(|info| walk::string_member(text, info, "name"));
        if let Some(name) = &name {
            self.session.set_client_name(name);
        }
        if name.is_none()
            && let Some(client) = self.client.get()
        {
            return Some(client);
        }
        let client = self.gateway.rules().resolve_client(name.as_deref());
        if begins {
            client.map(|client| self.client.get_or_init(|| client));
        }
        client
    }
}

/// Returns the client's span and the position of its id. A value with escapes is ignored, because nobody
/// needs them.
fn parse_traceparent(text: &str, meta: Span) -> Option<(TraceParent, Span)> {
    let value = walk::member_value(text, meta, TRACEPARENT_KEY)?;
    let header = value.slice(text).strip_prefix('"')?.strip_suffix('"')?;
    let start = value.start as usize + 1;
    let place = Span::new(start + event::PARENT_ID_RANGE.start, start + event::PARENT_ID_RANGE.end);
    TraceParent::parse(header).map(|parent| (parent, place))
}

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
    splice.retain_members(meta, &members, |member| !is_ours(member));
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
