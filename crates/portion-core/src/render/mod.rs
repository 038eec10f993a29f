//! Renders portions. Only this module builds a [`Portion`].
//!
//! A reply is a pure function of a snapshot, a view, a position and a budget. It is rendered into a budget
//! that leaves space for the notice, then counted as it will be sent. If it exceeds its limits, it is
//! rendered again with a smaller budget and a shorter notice.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::policy::Policy;
//! use portion_core::render::{Context, FirstReply, first_reply};
//! use portion_core::snapshot::capture;
//! use portion_tokens::Tokenizer;
//! use portion_core::view::ResolvedRequest;
//!
//! let text = Content::Text("A short text.".to_owned());
//! let snapshot = capture(Payload { blocks: vec![Block::new("/content/0/text", text)], ..Payload::default() });
//! let policy = Policy::default();
//! let cx = Context {
//!     policy: &policy,
//!     counter: Tokenizer::Chars4.counter(),
//!     issue_cursor: &|_| None,
//!     read_call: "portion_read".into(),
//!     query_tool: None,
//!     read_uri: None,
//! };
//! // A small payload passes as received.
//! let reply = first_reply(&snapshot, &ResolvedRequest::for_plain_call(&policy), &cx);
//! assert!(matches!(reply, FirstReply::Untouched { .. }));
//! ```

mod budget;
mod candidate;
mod chunk;
mod context;
mod cost_estimate;
mod description;
mod envelope;
mod list_wrapper;
mod meta;
mod notice;
mod numbered_pages;
mod page;
mod pass_through;
mod pieces;
mod portion;
mod query_tables;
mod rendering;
mod reply;
mod structured;
mod structured_records;
mod summary;
mod upstream_paging;
mod walk;

pub use context::{Context, FollowUpCall};
pub(crate) use list_wrapper::item_costs;
pub use pass_through::is_exempt;
pub(crate) use pass_through::{needs_no_notice, passes_through};
pub use portion::{Piece, PieceBody, Plan, Portion, PortionKind, StageName};
pub use query_tables::MAX_LEAVES_BYTES;
pub use structured::nested_notice_key;
pub use upstream_paging::{UpstreamRest, upstream_rest, words_beside};

use page::Measured;

use crate::policy::{MetadataMode, Policy};
use crate::snapshot::Snapshot;
use crate::view::{ResolvedRequest, View};

/// First reply to a call.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each call, and taken apart at once")]
pub enum FirstReply {
    /// The payload is small and the request is plain: pass it on as received.
    Untouched {
        /// Tokens of the more expensive form; `None` if exempt parts were not counted.
        tokens: Option<usize>,
    },
    /// Show this portion instead.
    Portion(Portion),
}

/// Renders the first reply to a call: the payload as received if it is small, or a text that costs no more than its lines and a notice,
/// and the request is plain; otherwise a portion in every form that the payload has.
pub fn first_reply(snapshot: &Snapshot, request: &ResolvedRequest, cx: &Context<'_>) -> FirstReply {
    let always = cx.policy.render_options.metadata == MetadataMode::Always
        || cx.policy.render_options.is_compact && pass_through::has_white_space(snapshot);
    let measured = Measured::default();
    if (always || needs_no_notice(snapshot))
        && let Some(pass_through::PassThroughCost { tokens }) =
            pass_through::pass_through_cost(snapshot, request, cx, &measured)
    {
        if !always {
            return FirstReply::Untouched { tokens };
        }
        if let Some(portion) = reply::render_whole(snapshot, request, cx) {
            return FirstReply::Portion(portion);
        }
    }
    let portion = render_reply(snapshot, request, cx, true, &measured);
    let is_dear = portion.kind == PortionKind::Chunk && portion.tokens > cx.policy.chunk_above;
    if is_dear && !always && needs_no_notice(snapshot) {
        // Lines and a notice may cost more than all lines do, which cost more than the threshold.
        let policy = Policy { chunk_above: portion.tokens, ..cx.policy.clone() };
        let cx = Context { policy: &policy, ..*cx };
        let whole = pass_through::pass_through_cost(snapshot, request, &cx, &measured);
        if let Some(tokens) = whole.and_then(|cost| cost.tokens).filter(|tokens| *tokens <= portion.tokens) {
            return FirstReply::Untouched { tokens: Some(tokens) };
        }
    }
    FirstReply::Portion(portion)
}

/// Renders the whole payload, with a notice if something was replaced or redacted. Returns `None` if it exceeds the limits of
/// the policy. The notice has neither sizes nor calls where `cx` signs no cursors.
pub fn whole_reply(snapshot: &Snapshot, request: &ResolvedRequest, cx: &Context<'_>) -> Option<FirstReply> {
    if needs_no_notice(snapshot) {
        return Some(FirstReply::Untouched { tokens: None });
    }
    reply::render_whole(snapshot, request, cx).map(FirstReply::Portion)
}

/// Renders the reply to a request with a cursor, or to a query. It has text only.
pub fn follow_up_reply(snapshot: &Snapshot, request: &ResolvedRequest, cx: &Context<'_>) -> Portion {
    render_reply(snapshot, request, cx, false, &Measured::default())
}

/// Returns the view with the pagination that its reply fixed. The store keeps it, so that numbered pages
/// continue where the first reply ended.
#[must_use]
pub fn view_with_pagination(view: View, portion: &Portion) -> View {
    view.with_pagination(portion.pagination.clone())
}

/// Renders the reply to a request.
fn render_reply(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
    measured: &Measured,
) -> Portion {
    let (request, unshown) = numbered_pages::resolve_page_size(snapshot, request, cx, fresh);
    reply::render(snapshot, &request, cx, fresh, &unshown, measured)
}
