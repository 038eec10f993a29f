//! Builds the notice of a walk's reply.

use std::sync::LazyLock;

use super::{PartWalk, ReplyContent};
use crate::render::notice::{self, Notice};
use crate::render::portion::PortionKind;
use crate::render::rendering::Rendering;
use crate::view::media;

impl<'a> PartWalk<'a> {
    /// Builds the notice of a reply.
    pub(in crate::render) fn notice<'b>(
        &'b self,
        channel: &'b ReplyContent<'a>,
        budget: usize,
    ) -> Notice<'b> {
        let issue_cursor = self.cx.issue_cursor;
        let nothing = &*EMPTY_RENDERING;
        let description = self.description.filter(|description| description.describes(channel));
        Notice {
            rendering: channel.notice_part.as_ref().map_or(nothing, |shaped| &shaped.rendering),
            answer: self.snapshot.answer(),
            facts: description.map(|description| &description.facts),
            field_types: description.map(|description| &description.field_types),
            start_cursor: issue_cursor(self.request.start),
            next_cursor: channel.next_position.and_then(issue_cursor),
            read_call: self.cx.read_call,
            query_tool: self.cx.query_tool,
            block_tables: self.block_tables,
            missing_parts: &channel.missing_parts,
            parts: self.snapshot.parts(),
            missing_media: self.first_missing_media(channel),
            replaced_count: self.snapshot.replacement_count(),
            redacted_fields: self.snapshot.redacted(),
            unshown: self.unshown,
            read_as: self.read_as(channel),
            part_address: channel.notice_address,
            piece_owners: self.piece_owners(&channel.pieces),
            read_uri: self.cx.read_uri,
            budget,
            warning_threshold: self.cx.policy.warning_share(self.request.token_budget),
            key_style: self.cx.policy.render_options.metadata_style,
            is_enveloped: self.uses_envelope(),
            is_whole: self.is_whole,
            structured_gap: None,
            is_first_reply: self.is_first_reply,
            describes_whole: self.is_first_reply && self.request.view.is_whole(),
            is_full_in_text: notice::is_full_in_text(self.cx.policy, self.cx.read_call),
        }
    }

    /// Returns the address of the first image or audio that the reply does not show.
    fn first_missing_media(&self, channel: &ReplyContent<'a>) -> Option<&'a str> {
        if self.cx.read_uri.is_some() {
            return None;
        }
        let parts = self.snapshot.parts();
        let media = (0..parts.len()).filter(|at| media::is_displayable(self.snapshot, *at, self.cx.policy));
        let mut missing = media.map(|at| parts[at].address.as_str()).filter(|address| {
            channel
                .missing_parts
                .iter()
                .any(|(path, _)| path.strip_prefix(address).is_some_and(|rest| matches!(rest, "" | "/data")))
        });
        missing.next()
    }
}

/// Rendering of a reply without content.
static EMPTY_RENDERING: LazyLock<Rendering> =
    LazyLock::new(|| Rendering::new(PortionKind::Whole, String::new()));
