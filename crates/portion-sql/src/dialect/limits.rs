//! Rewrites `SELECT TOP 10 …`, `FETCH FIRST 10 ROWS ONLY` and `OFFSET 5 ROWS`.

use super::edits::Edits;
use super::token::TokenKind;

/// Rewrites `FETCH FIRST n ROWS ONLY`, with or without `OFFSET m ROWS` before it.
pub(super) fn fetch(edits: &mut Edits<'_>, at: usize) {
    if !edits.is_word_of(at + 1, "first next") {
        return;
    }
    let has_count = edits.kind(at + 2) == Some(TokenKind::Number);
    let rows = at + 2 + usize::from(has_count);
    if !edits.is_word_of(rows, "row rows") || !edits.is_word(rows + 1, "only") {
        return;
    }
    let count = if has_count { edits.text(at + 2).to_owned() } else { "1".to_owned() };
    edits.remove(at, rows + 1);
    let offset = at
        .checked_sub(3)
        .filter(|offset| edits.is_word(*offset, "offset") && edits.is_word_of(offset + 2, "row rows"));
    match offset {
        Some(offset) => {
            edits.insert_before(offset, format!("LIMIT {count} "));
            edits.remove(offset + 2, offset + 2);
        }
        None => edits.replace(at, format!("LIMIT {count}")),
    }
}

/// Rewrites `SELECT TOP 10 …` at the beginning of a statement.
pub(super) fn top(edits: &mut Edits<'_>) {
    let is_distinct = edits.is_word(1, "distinct");
    let top = 1 + usize::from(is_distinct);
    if !edits.is_word(0, "select") || !edits.is_word(top, "top") {
        return;
    }
    let in_parentheses = edits.is_sign(top + 1, "(") && edits.partner(top + 1) == Some(top + 3);
    let (count, last) = if in_parentheses { (top + 2, top + 3) } else { (top + 1, top + 1) };
    if edits.kind(count) != Some(TokenKind::Number) {
        return;
    }
    let limit = format!(" LIMIT {}", edits.text(count));
    edits.remove(top, last);
    let end = (0..edits.len()).rev().find(|at| !edits.is_sign(*at, ";"));
    edits.insert_after(end.unwrap_or(last), limit);
}
