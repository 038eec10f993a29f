//! Selects what a notice in text holds. A model pays for each token of it, so it holds what a model can act on:
//! cursors, totals, missing content and the next call. Programs find the rest in `_meta`.

use serde_json::Value;

use super::{Audience, Detail, Notice};
use crate::policy::{MetadataMode, Policy};
use crate::render::follow_up_call::FollowUpCall;
use crate::render::meta::MetaKey;
use crate::render::portion::PortionKind;

/// Returns true if the text form has the full notice: the operator wants all metadata, or the text is the body of
/// an HTTP response, which has no `_meta`.
pub(in crate::render) fn is_full_in_text(policy: &Policy, read_call: FollowUpCall<'_>) -> bool {
    policy.render_options.metadata != MetadataMode::WhenShaped || matches!(read_call, FollowUpCall::Http(_))
}

impl Notice<'_> {
    /// Returns true if a model can do something with the cursor of this reply that it cannot do with the cursor of
    /// the next page or with a cursor that it has.
    pub(super) fn needs_cursor(&self) -> bool {
        let rendering = self.rendering;
        // The pages of a walk lack the same fields, which the cursors of other replies return.
        let lacks_fields = rendering.meta.condensed.is_some() || rendering.stripped.has_any();
        let omits = rendering.meta.elided_count > 0
            || !rendering.meta.omitted_members.is_empty()
            || lacks_fields && self.next_cursor.is_none()
            || rendering.sections.is_some()
            || !self.missing_parts.is_empty()
            || self.unshown.is_some();
        let is_later_page = rendering.meta.offset.is_some_and(|offset| offset > 0);
        self.is_first_reply || omits || self.next_cursor.is_none() && is_later_page
    }

    /// Returns true if a model can act on a member of `meta`.
    pub(super) fn is_for_model(&self, key: MetaKey) -> bool {
        let meta = &self.rendering.meta;
        // In a walk, the model knows where the previous reply ended.
        let goes_on = !self.is_first_reply && self.next_cursor.is_some();
        let is_one_line = meta.total_lines == Some(1);
        let is_whole =
            !self.is_first_reply && meta.chunk_bytes.is_some() && meta.chunk_bytes == meta.total_bytes;
        match key {
            MetaKey::PageSize
            | MetaKey::HasMore
            | MetaKey::Rows
            | MetaKey::Strategy
            | MetaKey::ChunkIndex
            | MetaKey::TotalChunks
            | MetaKey::TotalChunksEstimated
            | MetaKey::TotalTokens
            | MetaKey::BytesInChunk
            | MetaKey::ProjectedFields
            | MetaKey::StartByte => false,
            MetaKey::Omitted => !goes_on,
            MetaKey::UpstreamTotal => self.is_first_reply || meta.upstream_next.is_none(),
            MetaKey::Served => self.is_first_reply && self.next_cursor.is_some(),
            // At the end of a list, it follows from the total and the shown items.
            MetaKey::Offset => meta.offset != Some(0) && (self.is_first_reply || meta.is_past_end),
            // The first reply has said that there is one line.
            MetaKey::StartLine | MetaKey::EndLine | MetaKey::TotalLines
                if is_one_line && !self.is_first_reply =>
            {
                false
            }
            MetaKey::StartLine | MetaKey::TotalLines => !goes_on && !is_whole,
            MetaKey::EndLine => !is_whole,
            MetaKey::TotalBytes => self.kind() == PortionKind::Raw || is_one_line && !is_whole,
            // A raw item is a part of a list.
            MetaKey::Path => self.is_first_reply || self.rendering.total_count.is_some(),
            MetaKey::Sort => self.describes_whole,
            _ => true,
        }
    }

    /// Returns a member of `meta`, as short as the detail and the audience ask for.
    pub(super) fn value(&self, key: MetaKey, detail: Detail, audience: Audience) -> Option<Value> {
        let meta = &self.rendering.meta;
        let is_for_model = audience == Audience::Model;
        let is_minimal = detail == Detail::Minimal;
        let value = match key {
            MetaKey::TotalTokens if is_minimal => return None,
            // A first reply names all fields.
            MetaKey::Condensed if is_for_model => meta.condensed.as_ref()?.total_count().into(),
            // A program need not ask if a page has all fields.
            MetaKey::Condensed
                if self.kind() == PortionKind::Page && meta.served > Some(0) && meta.condensed.is_none() =>
            {
                Value::Array(Vec::new())
            }
            MetaKey::Omitted
                if !meta.omitted_members.is_empty()
                    && (is_minimal || is_for_model && !self.is_first_reply) =>
            {
                meta.omitted_members.len().into()
            }
            // The summary itself shows its fields, so a short notice lists only the first names.
            MetaKey::ProjectedFields if detail > Detail::Full => {
                let characters = if is_minimal { MAX_MINIMAL_BYTES } else { MAX_ESSENTIAL_NAMES };
                meta.projected_fields.as_ref()?.shortened(characters).to_json()
            }
            MetaKey::UpstreamNext if is_for_model => shortened_url(meta.upstream_next.as_ref()?).into(),
            _ => meta.value(key)?,
        };
        match value {
            // A truncated value would name another call.
            Value::String(next)
                if is_minimal && key == MetaKey::UpstreamNext && next.len() > MAX_MINIMAL_BYTES =>
            {
                None
            }
            Value::String(text) if is_minimal && text.len() > MAX_MINIMAL_BYTES => {
                Some(format!("{}…", &text[..text.floor_char_boundary(MAX_MINIMAL_BYTES)]).into())
            }
            value => Some(value),
        }
    }
}

/// Characters of a list of names in a notice without facts.
const MAX_ESSENTIAL_NAMES: usize = 250;

/// Bytes of a string or of a list of names in the shortest notice.
pub(super) const MAX_MINIMAL_BYTES: usize = 60;

/// Longest call with a URL that is written in full, in bytes.
const MAX_URL_BYTES: usize = 40;

/// Returns how to request the upstream's next page, a long URL reduced to its query: the payload, or the request that was
/// sent, has the rest.
fn shortened_url(call: &str) -> String {
    let url = call.find("://").map(|at| call[..at].rfind(' ').map_or(0, |space| space + 1));
    match url.zip(call.rfind('?')).filter(|(start, query)| start < query && call.len() > MAX_URL_BYTES) {
        Some((start, query)) => format!("{}…{}", &call[..start], &call[query..]),
        None => call.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened_url;

    #[test]
    fn long_urls_are_reduced_to_their_query() {
        for (call, short) in [
            ("page=2", "page=2"),
            ("next: https://a.example/?page=2", "next: https://a.example/?page=2"),
            ("next: https://api.example.org/api/v1/schools/2013/?page=2", "next: …?page=2"),
            ("https://api.example.org/api/v1/schools/2013/?page=2&x=1", "…?page=2&x=1"),
            (
                "https://api.example.org/api/v1/schools/2013/pages/two/",
                "https://api.example.org/api/v1/schools/2013/pages/two/",
            ),
        ] {
            assert_eq!(shortened_url(call), short);
        }
    }
}
