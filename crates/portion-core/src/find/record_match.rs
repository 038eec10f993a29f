//! Text of a scalar in JSON, and matches in a record.

use std::borrow::Cow;
use std::ops::Range;

use portion_json::scan::unescape;
use portion_json::span::Span;

use super::FindError;
use super::candidates::Candidates;
use super::error::Fuel;
use super::leaf_tokens::{LeafTokens, Token};
use super::pattern::Matcher;

/// Returns the text of a scalar: a string without escapes, other values as written, and empty text for
/// `null`.
pub(super) fn value_text(value: &str) -> Cow<'_, str> {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
        Some(_) => Cow::Owned(unescape(value)),
        None if value == "null" => Cow::Borrowed(""),
        None => Cow::Borrowed(value),
    }
}

/// A match in a record.
#[derive(Debug)]
pub(super) struct RecordMatch {
    /// Dotted path of the field; empty if the record is not an object.
    pub field_path: String,
    /// Column of the match, if the record is an array.
    pub column: Option<u32>,
    /// True if the value is in an array.
    pub in_array: bool,
    /// The value.
    pub value: Span,
    /// Range of the match in the text of the value.
    pub match_range: Range<usize>,
    /// True if the whole value matches.
    pub is_exact: bool,
}

/// Returns the first match in a record, or the first exact one.
pub(super) fn first_match(
    text: &str,
    record: Span,
    matcher: &mut Matcher,
    candidates: &mut Candidates,
    fuel: &mut Fuel<'_>,
) -> Result<Option<RecordMatch>, FindError> {
    let mut leaves = LeafTokens::new(text, record, &[]);
    let mut first: Option<RecordMatch> = None;
    while let Some(token) = leaves.next() {
        let Token::Value(value) = token else { continue };
        let Some(next) = candidates.next_from(text, value.start as usize, fuel)? else { break };
        if next >= value.end as usize {
            if next >= record.end as usize {
                break;
            }
            continue;
        }
        let content = value_text(value.slice(text));
        let Some(found) = matcher.find(&content, 0, fuel)? else { continue };
        let exact = matcher.matches_whole(&content);
        if exact || first.is_none() {
            first = Some(RecordMatch {
                field_path: leaves.field_path(),
                column: leaves.outermost_index(),
                in_array: leaves.in_array(),
                value,
                match_range: found,
                is_exact: exact,
            });
        }
        if exact {
            break;
        }
    }
    fuel.burn(leaves.at().saturating_sub(record.start as usize) / 2 + 16)?;
    Ok(first)
}
