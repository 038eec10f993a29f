//! Who asks, and in which trace: what a request says of that itself, or `initialize` has said.

use portion_core::event::Trace;
use portion_core::span::Span;
use portion_core::trace::{self, Parent};

use super::super::envelope::Envelope;
use super::super::splice::Splice;
use super::super::walk;
use super::McpLane;
use crate::client::Client;

/// Where a request of 2026-07-28 says who asks.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// Where a request says in which trace it is:
/// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#context-propagation>.
const TRACEPARENT: &str = "traceparent";

/// Whoever asks.
#[derive(Clone, Copy)]
pub(super) struct Who {
    pub(super) client: Option<&'static Client>,
    pub(super) trace: Option<Trace>,
}

impl McpLane {
    /// Who asks, and in which trace.
    pub(super) fn who(&self, text: &str, envelope: &Envelope, method: &str, meta: Option<Span>) -> Who {
        let parent = meta.and_then(|meta| parent(text, meta));
        let trace = parent.map(|(parent, _)| parent.with(self.gateway.span()));
        Who { client: self.client(text, envelope, method, meta), trace }
    }

    /// Tells the server of our span in place of the client's, where both are kept: as many bytes, and no other is changed.
    pub(super) fn continue_trace(&self, who: Who, text: &str, meta: Span, splice: &mut Splice<'_>) {
        let kept = who.trace.filter(|trace| self.traces && trace.sampled);
        if let (Some(ours), Some((_, place))) = (kept, parent(text, meta)) {
            splice.replace(place, trace::span_id(ours.span));
        }
    }

    /// A request of 2026-07-28 may say in its `_meta` who asks; of the others, `initialize` has said it.
    fn client(
        &self,
        text: &str,
        envelope: &Envelope,
        method: &str,
        meta: Option<Span>,
    ) -> Option<&'static Client> {
        let begins = method == "initialize";
        let (holder, key) = if begins { (envelope.params, "clientInfo") } else { (meta, CLIENT_INFO) };
        let info = holder.and_then(|holder| walk::member(text, holder, key));
        let name = info.and_then(|info| walk::string(text, info, "name"));
        if name.is_none()
            && let Some(client) = self.client.get()
        {
            return Some(client);
        }
        let client = self.gateway.rules().client(name.as_deref());
        if begins {
            client.map(|client| self.client.get_or_init(|| client));
        }
        client
    }
}

/// The client's span, and where its id stands. One that is written with escapes, which nobody does, is not seen.
fn parent(text: &str, meta: Span) -> Option<(Parent, Span)> {
    let value = walk::member(text, meta, TRACEPARENT)?;
    let said = value.of(text).strip_prefix('"')?.strip_suffix('"')?;
    let start = value.start as usize + 1;
    let place = Span::new(start + trace::SPAN.start, start + trace::SPAN.end);
    Parent::of(said).map(|parent| (parent, place))
}
