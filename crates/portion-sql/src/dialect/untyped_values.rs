//! Finds values of a statement that may be texts of numbers: a column has a type in SQLite, but its values lose it in a function,
//! in `CASE` and in `->>`, also under another name.

use super::edits::Edits;
use super::token::TokenKind;

/// Functions whose result is a text, or one of their arguments.
const TEXT_FUNCTIONS: &str = "strftime date_format to_char format_date format_datetime substr substring left right \
    split_part regexp_extract regexp_substr trim ltrim rtrim replace ifnull coalesce nvl nullif iif min max greatest least \
    lag lead first_value last_value nth_value any_value json_extract json_extract_string json_value";

/// Returns the first and the last token of a call, a `CASE` or an access by `->>` whose value may be a text. `at`: its first
/// token, or the last sign of the access.
pub(super) fn untyped_value(edits: &Edits<'_>, at: usize) -> Option<(usize, usize)> {
    if edits.is_sign(at, "->>") {
        // The sign before another one is a part of the longer access.
        let end = edits.operand_end(at + 1).filter(|end| !edits.is_sign(end + 1, "->>"))?;
        let mut start = edits.operand_start(at.checked_sub(1)?)?;
        while start >= 2 && (edits.is_sign(start - 1, "->") || edits.is_sign(start - 1, "->>")) {
            start = edits.operand_start(start - 2)?;
        }
        return Some((start, end));
    }
    let end = if edits.is_word(at, "case") {
        edits.partner(at)
    } else if edits.is_word_of(at, TEXT_FUNCTIONS) {
        edits.call_end(at)
    } else {
        None
    };
    end.map(|end| (at, end))
}

/// Returns the last token of a value that may be a text and begins at a token.
pub(super) fn untyped_value_from(edits: &Edits<'_>, start: usize) -> Option<usize> {
    if let Some((_, end)) = untyped_value(edits, start) {
        return Some(end);
    }
    let mut end = edits.operand_end(start)?;
    let mut is_text = false;
    while edits.is_sign(end + 1, "->") || edits.is_sign(end + 1, "->>") {
        is_text = edits.is_sign(end + 1, "->>");
        end = edits.operand_end(end + 2)?;
    }
    is_text.then_some(end)
}

/// Returns the first and the last token of one of these names, with the table before it; `at`: the name.
pub(super) fn named_value(edits: &Edits<'_>, at: usize, names: &[&str]) -> Option<(usize, usize)> {
    let is_named = matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName))
        && names.iter().any(|name| edits.text(at).eq_ignore_ascii_case(name))
        && !edits.is_sign(at + 1, ".")
        && edits.call_end(at).is_none();
    is_named.then(|| edits.operand_start(at)).flatten().map(|start| (start, at))
}

/// Returns the names that a statement gives to values that may be texts.
pub(super) fn aliases<'a>(edits: &Edits<'a>) -> Vec<&'a str> {
    let alias = |at: usize| {
        let (start, end) = untyped_value(edits, at)?;
        if start >= 2 && edits.is_word_of(start - 2, "cast try_cast safe_cast") {
            return None;
        }
        let end = if edits.is_word(end + 1, "over") { edits.call_end(end + 1)? } else { end };
        let name = end + 1 + usize::from(edits.is_word(end + 1, "as"));
        let is_name = matches!(edits.kind(name), Some(TokenKind::Word | TokenKind::QuotedName))
            && !edits.is_word_of(
                name,
                "from where group order and or then when else end between in is not asc desc",
            );
        is_name.then(|| edits.text(name))
    };
    (0..edits.len()).filter_map(alias).collect()
}
