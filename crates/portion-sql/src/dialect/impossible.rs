//! Finds conditions that no row satisfies, whatever its values are.

use super::edits::Edits;
use super::token::TokenKind;

/// Maximum conditions that are reported.
const MAX_CONDITIONS: usize = 3;
/// Maximum characters of an operand that are shown.
const MAX_OPERAND_CHARS: usize = 40;

/// Returns what to write instead of each comparison with NULL, and of each comparison of `lower(x)` or `upper(x)` with a text
/// in the other case.
pub(crate) fn impossible_conditions(sql: &str) -> Vec<String> {
    let edits = Edits::new(sql);
    let mut found: Vec<String> = Vec::new();
    for at in 1..edits.len() {
        if let Some(advice) = null_comparison(&edits, at).or_else(|| case_comparison(&edits, at))
            && found.len() < MAX_CONDITIONS
            && !found.contains(&advice)
        {
            found.push(advice);
        }
    }
    found
}

/// Reads `x = NULL`, `NULL = x`, `x <> NULL` or `x > NULL`, whose sign is at a position.
fn null_comparison(edits: &Edits<'_>, at: usize) -> Option<String> {
    if !edits.is_comparison(at) {
        return None;
    }
    let operand = if edits.is_word(at + 1, "null") {
        edits.text_between(edits.operand_start(at - 1)?, at).trim()
    } else if edits.is_word(at - 1, "null") {
        edits.text_between(at + 1, edits.operand_end(at + 1)? + 1).trim()
    } else {
        return None;
    };
    let is = if edits.is_equality(at) { "IS NULL" } else { "IS NOT NULL" };
    let sign = edits.text(at);
    let operand: String = operand.chars().take(MAX_OPERAND_CHARS).collect();
    Some(format!("{operand} {sign} NULL is true for no row: write {operand} {is}"))
}

/// Reads `lower(x) = 'USA'`, whose sign is at a position, or `lower(x) IN ('USA', …)`, whose `IN` is.
fn case_comparison(edits: &Edits<'_>, at: usize) -> Option<String> {
    let text = if edits.is_equality(at) {
        at + 1
    } else if edits.is_word(at, "in") && edits.is_sign(at + 1, "(") {
        at + 2
    } else {
        return None;
    };
    let start = edits.operand_start(at - 1)?;
    let value = edits.text(text);
    let is_call = edits.call_end(start) == Some(at - 1) && edits.kind(text) == Some(TokenKind::Text);
    let cased = if edits.is_word(start, "lower") {
        value.to_lowercase()
    } else if edits.is_word(start, "upper") {
        value.to_uppercase()
    } else {
        return None;
    };
    let call: String = edits.text_between(start, at).trim().chars().take(MAX_OPERAND_CHARS).collect();
    (is_call && cased != value).then(|| format!("{call} is never {value}: write {cased}"))
}

#[cfg(test)]
mod tests {
    use super::impossible_conditions;

    #[test]
    fn conditions_that_no_row_satisfies_are_found() {
        for (sql, expect) in [
            (
                "SELECT count(*) FROM items WHERE a.b != NULL",
                "a.b != NULL is true for no row: write a.b IS NOT NULL",
            ),
            ("SELECT 1 FROM items WHERE a = null", "a = NULL is true for no row: write a IS NULL"),
            ("SELECT 1 FROM items WHERE lower(origin) = 'USA'", "lower(origin) is never 'USA': write 'usa'"),
            ("SELECT 1 FROM items WHERE upper(a) IN ('x', 'Y')", "upper(a) is never 'x': write 'X'"),
        ] {
            assert_eq!(impossible_conditions(sql), [expect], "{sql}");
        }
    }

    #[test]
    fn other_conditions_are_not() {
        for sql in [
            "SELECT NULL AS a FROM items WHERE a IS NULL",
            "SELECT 1 FROM items WHERE lower(a) = 'usa' AND lower(a) = b",
            "SELECT 1 FROM items WHERE lower(a) || b = 'USA'",
            "SELECT 1 FROM items WHERE x = 'USA'",
            "SELECT iif(a = 1, NULL, 2) FROM items",
        ] {
            assert!(impossible_conditions(sql).is_empty(), "{sql}");
        }
    }
}
