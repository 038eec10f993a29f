//! Selects what a notice in text holds. A model pays for each token of it, so it holds what a model can act on:
//! cursors, totals, missing content and the next call. Programs find the rest in `_meta`.

use serde_json::Value;

use super::Notice;
use crate::policy::{MetadataMode, Policy};
use crate::render::follow_up_call::FollowUpCall;
use crate::render::portion::PortionKind;

/// Returns true if the text form has the full notice: the operator wants all metadata, or the text is the body of
/// an HTTP response, which has no `_meta`.
pub(in crate::render) fn is_full_in_text(policy: &Policy, read_call: FollowUpCall<'_>) -> bool {
    policy.render_options.metadata != MetadataMode::WhenShaped || matches!(read_call, FollowUpCall::Http(_))
}

impl Notice<'_> {
    /// Returns true if a model can do something with the cursor of this reply that it cannot do with the cursor of
    /// the next page or with a cursor that it has.
    pub(super) fn needs_handle(&self) -> bool {
        let rendering = self.rendering;
        // The pages of a walk lack the same fields, which the cursors of other replies return.
        let lacks_fields = rendering.meta.contains_key("condensed") || rendering.stripped.has_any();
        let omits = ["elided", "omitted"].iter().any(|key| rendering.meta.contains_key(*key))
            || lacks_fields && self.next_cursor.is_none()
            || rendering.sections.is_some()
            || !self.missing_parts.is_empty()
            || self.unshown.is_some();
        let is_later_page =
            rendering.meta.get("offset").and_then(Value::as_u64).is_some_and(|offset| offset > 0);
        self.is_first_reply || omits || self.next_cursor.is_none() && is_later_page
    }

    /// Returns a member of `meta` for a model, or `None` if it is omitted.
    pub(super) fn value_for_model(&self, key: &str, value: &Value) -> Option<Value> {
        let rendering = self.rendering;
        // In a walk, the model knows where the previous reply ended.
        let goes_on = !self.is_first_reply && self.next_cursor.is_some();
        let number = |key: &str| rendering.meta.get(key).and_then(Value::as_u64);
        let is_one_line = number("totalLines") == Some(1);
        let is_whole = !self.is_first_reply
            && number("bytesInChunk").is_some_and(|bytes| Some(bytes) == number("totalBytes"));
        let is_kept = match key {
            "pageSize" | "hasMore" | "rows" | "strategy" | "chunkIndex" | "totalChunks" | "totalTokens"
            | "bytesInChunk" | "projectedFields" | "startByte" => false,
            "omitted" => !goes_on,
            "upstreamTotal" => self.is_first_reply || !rendering.meta.contains_key("upstreamNext"),
            "served" => self.is_first_reply && self.next_cursor.is_some(),
            // At the end of a list, it follows from the total and the shown items.
            "offset" => {
                value.as_u64() != Some(0) && (self.is_first_reply || rendering.meta.contains_key("pastEnd"))
            }
            // The first reply told that there is one line.
            "startLine" | "endLine" | "totalLines" if is_one_line && !self.is_first_reply => false,
            "startLine" | "totalLines" => !goes_on && !is_whole,
            "endLine" => !is_whole,
            "totalBytes" => rendering.kind == PortionKind::Raw || is_one_line && !is_whole,
            // A raw item is a part of a list.
            "path" => self.is_first_reply || rendering.total_count.is_some(),
            "sort" => self.describes_whole,
            _ => true,
        };
        match (key, value) {
            _ if !is_kept => None,
            // A first reply names all fields.
            ("condensed", _) => Some(rendering.condensed_count.into()),
            ("omitted", Value::Object(paths)) if !self.is_first_reply => Some(paths.len().into()),
            ("upstreamNext", Value::String(next)) => Some(shortened_url(next).into()),
            _ => Some(value.clone()),
        }
    }
}

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
