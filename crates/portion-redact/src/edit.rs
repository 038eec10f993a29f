//! Replacements in a text, and the names of the fields that they hide.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Replacement for a string.
pub const REDACTED: &str = "[redacted]";
/// Replacement for a JSON string.
pub(super) const REDACTED_STRING: &str = "\"[redacted]\"";
/// Mark that some programs write at the beginning of a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';
/// Maximum names that are reported; further ones are reported as `…`.
const MAX_REPORTED_NAMES: usize = 64;

/// A replacement for a range of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextEdit {
    pub start: usize,
    pub end: usize,
    pub replacement: Cow<'static, str>,
}

/// Names of redacted fields, each once, in order.
#[derive(Debug, Default)]
pub(super) struct RedactedNames {
    unique_names: BTreeSet<String>,
    ordered_names: Vec<String>,
    is_truncated: bool,
}

impl RedactedNames {
    pub(super) fn add(&mut self, name: String) {
        if self.ordered_names.len() >= MAX_REPORTED_NAMES {
            self.is_truncated |= !self.unique_names.contains(&name);
        } else if self.unique_names.insert(name.clone()) {
            self.ordered_names.push(name);
        }
    }

    pub(super) fn into_names(mut self) -> Vec<String> {
        if self.is_truncated {
            self.ordered_names.push("…".into());
        }
        self.ordered_names
    }
}

/// Applies edits to a text, or returns `None` if there are none. Of overlapping edits, the replacement of
/// the one that begins first counts, then of the longer one; all their ranges are removed. Adapts `ranges`
/// of the text, which are in order, to the result.
pub(super) fn apply_edits(
    text: &str,
    mut edits: Vec<TextEdit>,
    ranges: &mut [Range<usize>],
) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
    let mut out = String::with_capacity(text.len() + edits.len() * REDACTED.len());
    let mut done = 0;
    let mut bounds = ranges.iter_mut().flat_map(|range| [&mut range.start, &mut range.end]).peekable();
    for edit in edits {
        if let Some(kept) = text.get(done..edit.start) {
            while let Some(bound) = bounds.next_if(|bound| **bound <= edit.start) {
                *bound = out.len() + bound.saturating_sub(done);
            }
            out.push_str(kept);
            out.push_str(&edit.replacement);
        }
        done = done.max(edit.end);
    }
    bounds.for_each(|bound| *bound = out.len() + bound.saturating_sub(done));
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}
