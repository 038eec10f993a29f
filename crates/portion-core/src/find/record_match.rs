//! A plain value of JSON as text, and a match in one.

use std::borrow::Cow;
use std::ops::Range;

use super::FindError;
use super::candidates::Candidates;
use super::fuel::Fuel;
use super::leaf_tokens::{LeafTokens, Token};
use super::pattern::Matcher;
use crate::scan::unescape;
use crate::span::Span;

/// What a plain value says: a string out of its escapes, anything else as it is spelled; nothing for `null`.
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
    /// The field it is in, dots between names; empty where the record is no object.
    pub field_path: String,
    /// The column of a row that it is in, where the record is an array.
    pub column: Option<u32>,
    /// Whether the field holds several values.
    pub in_array: bool,
    /// The value.
    pub value: Span,
    /// Where in what the value says.
    pub match_range: Range<usize>,
    /// Whether the value is what was looked for and nothing else.
    pub is_exact: bool,
}

/// The first match in a record, or the first that is all of a value.
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
        let said = value_text(value.slice(text));
        let Some(found) = matcher.find(&said, 0, fuel)? else { continue };
        let exact = matcher.matches_whole(&said);
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
