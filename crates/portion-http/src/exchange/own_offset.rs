//! Offsets beyond what an API sent, where nothing says by which parameters it pages.
//!
//! `offset` is a control there, and the API does not see it. If it lies beyond the items that the API sent, and the API has more of
//! them, the API is asked with the parameters of the client. It has a parameter of that name if its page states that offset.

use portion_core::payload::{Content, Payload};
use portion_core::view::Request;
use portion_gateway::call::Reply;
use portion_json::containers;
use portion_json::scan::{JsonReader, unescape};
use portion_json::span::Span;

use super::{Exchange, Received};
use crate::paging::base_arguments;

/// Name of the parameter, and of the member of a page.
pub(super) const OFFSET: &str = "offset";

impl Exchange<'_> {
    /// Returns true if the API has more items than it sent, and the request begins after those.
    pub(super) fn begins_beyond(&self, reply: &Reply, request: &Request) -> bool {
        let Reply::Portion(portion) = reply else { return false };
        let is_beyond = |offset: u32| portion.upstream_total().is_some_and(|total| total > offset as usize);
        let may_ask = self.pages.is_some() && self.paging.is_none();
        may_ask && portion.served_count() == Some(0) && request.offset.is_some_and(is_beyond)
    }

    /// Asks the API with the client's own parameters. Returns `None` if it does not begin at the offset then.
    pub(super) async fn page_at_own_offset(&self, request: &Request) -> Option<Received> {
        let target = base_arguments(&self.target.path, &self.sent_query);
        let response = self.pages.as_ref()?.send(&target).await.ok()?;
        let received = self.read(response).await.ok()?;
        states_offset(&received.payload, request.offset?).then_some(received)
    }
}

/// Returns true if the object of a page, or an object in it, states an offset.
fn states_offset(page: &Payload, offset: u32) -> bool {
    let Some(Content::Text(text)) = page.blocks.first().map(|block| &block.content) else { return false };
    let mut reader = JsonReader::new(text);
    let Ok(root) = reader.skip() else { return false };
    let is_it = |object: Span| {
        let mut members = containers::members(text, object);
        members.any(|member| {
            unescape(member.key.slice(text)) == OFFSET
                && unescape(member.value.slice(text)) == offset.to_string()
        })
    };
    is_it(root) || containers::members(text, root).any(|member| is_it(member.value))
}
