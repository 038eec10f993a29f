//! The type of the envelope that holds a rendering.

use portion_json::scan::JsonKind;

use super::rendering::Rendering;

/// Type of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnvelopeType {
    /// Items of a list.
    Page,
    /// An object, or fields of it.
    Summary,
    /// A text, a range of bytes, or a single value.
    Chunk,
}

impl Rendering {
    /// Returns the type of the envelope that holds this rendering.
    pub(super) fn envelope_type(&self) -> EnvelopeType {
        if self.page_parts.is_some() {
            EnvelopeType::Page
        } else if self.is_json && JsonKind::of_value(self.body.trim_start()) == JsonKind::Object {
            EnvelopeType::Summary
        } else {
            EnvelopeType::Chunk
        }
    }

    /// Returns true if all of an object is shown.
    pub(super) fn is_full(&self) -> bool {
        self.next.is_none() && self.meta.offset.unwrap_or(0) == 0 && !self.needs_notice()
    }
}
