//! Replacements in a text, and the names of the fields that they hide.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// Replacement for a string.
pub const REDACTED: &str = "[redacted]";
/// Replacement for a JSON string.
pub(super) const REDACTED_STRING: &str = "\"[redacted]\"";
/// Mark that some programs write at the beginning of a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';
/// Maximum names that are reported; further ones are reported as `…`.
const MAX_REPORTED_NAMES: usize = 64;

/// The text in place of a range.
pub(super) type Replacement = Cow<'static, str>;

/// A replacement for a range of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextEdit {
    pub range: Range<usize>,
    pub replacement: Replacement,
}

impl TextEdit {
    /// Orders edits by their start, then the longer one first.
    pub(super) fn order(&self) -> (usize, Reverse<usize>) {
        (self.range.start, Reverse(self.range.end))
    }
}

/// A part of a text that was read as JSON.
#[derive(Clone, Debug)]
pub(super) struct JsonRange {
    pub range: Range<usize>,
    /// False if it is cut off or faulty.
    pub is_complete: bool,
}

/// The hidden parts of a text: the edits, and the names of the hidden fields, each once, in order.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub edits: Vec<TextEdit>,
    pub names: Vec<String>,
}

impl Findings {
    /// Hides a range of the text, which has this name.
    pub(super) fn hide(&mut self, name: &str, range: Range<usize>) {
        self.replace(name, range, REDACTED);
    }

    /// Replaces a range of the text, which has this name.
    pub(super) fn replace(&mut self, name: &str, range: Range<usize>, replacement: impl Into<Replacement>) {
        self.edits.push(TextEdit { range, replacement: replacement.into() });
        add_name(&mut self.names, name);
    }
}

/// Adds a name to those of the hidden fields, which are each reported once, in order.
pub(super) fn add_name(names: &mut Vec<String>, name: &str) {
    if names.len() <= MAX_REPORTED_NAMES && !names.iter().any(|known| known == name) {
        names.push(if names.len() < MAX_REPORTED_NAMES { name } else { "…" }.to_owned());
    }
}

/// Applies edits to a text, or returns `None` if there are none. Of overlapping edits, the replacement of
/// the one that begins first counts, then of the longer one; all their ranges are removed. Adapts `ranges`
/// of the text, which are in order, to the result.
pub(super) fn apply_edits(text: &str, mut edits: Vec<TextEdit>, ranges: &mut [JsonRange]) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(TextEdit::order);
    let mut out = String::with_capacity(text.len() + edits.len() * REDACTED.len());
    let mut done = 0;
    let mut bounds =
        ranges.iter_mut().flat_map(|json| [&mut json.range.start, &mut json.range.end]).peekable();
    for TextEdit { range: Range { start, end }, replacement } in edits {
        if let Some(kept) = text.get(done..start) {
            while let Some(bound) = bounds.next_if(|bound| **bound <= start) {
                *bound = out.len() + bound.saturating_sub(done);
            }
            out.push_str(kept);
            out.push_str(&replacement);
        }
        done = done.max(end);
    }
    bounds.for_each(|bound| *bound = out.len() + bound.saturating_sub(done));
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
