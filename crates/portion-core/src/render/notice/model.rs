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
        let is_kept = match key {
            "pageSize" | "hasMore" | "rows" | "strategy" | "chunkIndex" | "totalChunks" | "totalTokens"
            | "bytesInChunk" | "projectedFields" | "startByte" => false,
            "served" => self.is_first_reply && self.next_cursor.is_some(),
            // At the end of a list, it follows from the total and the shown items.
            "offset" => {
                value.as_u64() != Some(0) && (self.is_first_reply || rendering.meta.contains_key("pastEnd"))
            }
            "startLine" => !goes_on,
            "totalBytes" => {
                rendering.kind == PortionKind::Raw
                    || rendering.meta.get("totalLines").is_some_and(|lines| *lines == 1)
            }
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
            _ => Some(value.clone()),
        }
    }
}
