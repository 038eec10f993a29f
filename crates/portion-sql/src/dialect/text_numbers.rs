//! Compares texts with numbers as other dialects do: `strftime('%Y', d) = 2021`.
//!
//! SQLite converts neither side of such a comparison. The text of a function is never equal to a number, and always
//! greater than it.

use super::edits::Edits;
use super::token::TokenKind;

/// Functions whose result is a text.
const TEXT_FUNCTIONS: &str = "strftime date_format to_char format_date format_datetime substr substring left right \
    split_part regexp_extract regexp_substr trim ltrim rtrim replace";

const COMPARISONS: [&str; 8] = ["=", "==", "<>", "!=", "<", "<=", ">", ">="];

/// Returns the statement with `to_number` around texts of functions that are compared with a number; `None` if there are
/// none.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    for at in 0..edits.len() {
        if !edits.is_word_of(at, TEXT_FUNCTIONS) {
            continue;
        }
        let Some(end) = edits.call_end(at) else { continue };
        if is_followed_by_number(&edits, end) || is_preceded_by_number(&edits, at) {
            edits.insert_before(at, "to_number(");
            edits.insert_after(end, ")");
        }
    }
    edits.apply()
}

fn is_comparison(edits: &Edits<'_>, at: usize) -> bool {
    COMPARISONS.iter().any(|sign| edits.is_sign(at, sign))
}

/// Returns true if a call that ends at a token is compared with a number: `= 2021`, `IN (2021, 2022)`, `BETWEEN 1 AND 6`.
fn is_followed_by_number(edits: &Edits<'_>, end: usize) -> bool {
    let is_number = |at: usize| {
        edits.kind(at) == Some(TokenKind::Number)
            || edits.is_sign(at, "-") && edits.kind(at + 1) == Some(TokenKind::Number)
    };
    let next = end + 1 + usize::from(edits.is_word(end + 1, "not"));
    if is_comparison(edits, next) || edits.is_word(next, "between") {
        return is_number(next + 1);
    }
    edits.is_word(next, "in") && edits.is_sign(next + 1, "(") && is_number(next + 2)
}

/// Returns true if a number is compared with the call that begins at a token: `2021 = strftime('%Y', d)`.
fn is_preceded_by_number(edits: &Edits<'_>, start: usize) -> bool {
    let Some(number) = start.checked_sub(2) else { return false };
    is_comparison(edits, start - 1) && edits.kind(number) == Some(TokenKind::Number)
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    #[test]
    fn texts_of_functions_are_compared_as_numbers() {
        for (sql, expect) in [
            ("strftime('%Y', d) = 2021", "to_number(strftime('%Y', d)) = 2021"),
            ("substr(d, 1, 4) NOT IN (2020, 2021)", "to_number(substr(d, 1, 4)) NOT IN (2020, 2021)"),
            ("left(d, 2) BETWEEN -1 AND 6", "to_number(left(d, 2)) BETWEEN -1 AND 6"),
            ("2021 <= strftime('%Y', d)", "2021 <= to_number(strftime('%Y', d))"),
        ] {
            assert_eq!(rewrite(sql).as_deref(), Some(expect), "{sql}");
        }
    }

    #[test]
    fn other_comparisons_stay() {
        for sql in [
            "strftime('%Y', d) = '2021'",
            "CAST(strftime('%Y', d) AS INTEGER) = 2021",
            "round(x, 2) = 2",
            "trim(a) = b",
            "trim(a) IN (SELECT 1)",
            "a = 2 AND trim(b) = c",
        ] {
            assert_eq!(rewrite(sql), None, "{sql}");
        }
    }
}
