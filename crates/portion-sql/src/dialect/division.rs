//! Finds casts to a number that are divided.
//!
//! In other dialects `x::numeric / y` has a fraction. In SQLite it has none if both values are integers.

use super::edits::Edits;
use super::token::TokenKind;

/// Returns true if the expression between two tokens, both included, is an operand of a division. Parentheses and calls
/// around it are looked through: `sum(x::numeric) * 100 / count(*)`.
pub(super) fn is_divided(edits: &Edits<'_>, start: usize, end: usize) -> bool {
    let (mut start, mut end) = (start, end);
    // Every round goes out by one pair of parentheses.
    loop {
        let is_divisor = start > 0 && edits.is_sign(start - 1, "/");
        if is_divisor || is_followed_by_division(edits, end) {
            return true;
        }
        let Some(open) = start.checked_sub(1).filter(|open| edits.is_sign(*open, "(")) else { return false };
        if edits.partner(open) != Some(end + 1) {
            return false;
        }
        end += 1;
        start = edits.operand_start(end).unwrap_or(open);
    }
}

/// Returns true if a division follows in the same product: `* 100 / count(*)`.
fn is_followed_by_division(edits: &Edits<'_>, end: usize) -> bool {
    let mut at = end + 1;
    while edits.kind(at) == Some(TokenKind::Sign) {
        if edits.is_sign(at, "/") {
            return true;
        }
        let Some(factor_end) = edits.operand_end(at + 1).filter(|_| edits.is_sign(at, "*")) else {
            return false;
        };
        at = factor_end + 1;
    }
    false
}
