//! Compares texts with numbers as other dialects do: `strftime('%Y', d) = 2021`.
//!
//! SQLite converts neither side of such a comparison. The text of a function is never equal to a number, and always
//! greater than it; a number of a function is never equal to a text. A text that is no number stays one.

use super::edits::Edits;
use super::token::TokenKind;
use super::untyped_values::{aliases, named_value, untyped_value};

/// Functions whose result is a number.
const NUMBER_FUNCTIONS: &str = "year quarter month week day hour minute second date_part datepart extract datediff count \
    length len";

/// Returns the statement with `as_number` around values that may be texts and are compared with a number, and without quotes
/// around numbers that are compared with a number of a function; `None` if there are none.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    let names = aliases(&edits);
    for at in 0..edits.len() {
        if edits.is_word_of(at, NUMBER_FUNCTIONS)
            && let Some(end) = edits.call_end(at)
        {
            remove_quotes(&mut edits, at, end);
        }
        let Some((start, end)) = untyped_value(&edits, at).or_else(|| named_value(&edits, at, &names)) else {
            continue;
        };
        if is_followed_by_number(&edits, end) || is_preceded_by_number(&edits, start) {
            edits.insert_before(start, "as_number(");
            edits.insert_after(end, ")");
        }
    }
    edits.apply()
}

/// Removes the quotes of the numbers that a call is compared with: `year(d) = '2021'`, `IN ('2021', '2022')`.
fn remove_quotes(edits: &mut Edits<'_>, start: usize, end: usize) {
    let next = end + 1 + usize::from(edits.is_word(end + 1, "not"));
    let compared: Vec<usize> = if edits.is_comparison(next) {
        vec![next + 1]
    } else if edits.is_word(next, "between") && edits.is_word(next + 2, "and") {
        vec![next + 1, next + 3]
    } else if edits.is_word(next, "in") && edits.is_sign(next + 1, "(") {
        (next + 2..edits.partner(next + 1).unwrap_or(next + 2)).collect()
    } else if start >= 2 && edits.is_comparison(start - 1) {
        vec![start - 2]
    } else {
        return;
    };
    for at in compared {
        let plain = edits.text(at).trim_matches('\'').trim();
        let is_digits = !plain.is_empty() && plain.len() < 16 && plain.bytes().all(|b| b.is_ascii_digit());
        if edits.kind(at) == Some(TokenKind::Text) && is_digits {
            // Without zeros at the beginning, which `month(d) = '02'` has.
            let number = plain.trim_start_matches('0');
            edits.replace(at, if number.is_empty() { "0" } else { number }.to_owned());
        }
    }
}

/// Returns true if a call that ends at a token is compared with a number: `= 2021`, `IN (2021, 2022)`, `BETWEEN 1 AND 6`.
fn is_followed_by_number(edits: &Edits<'_>, end: usize) -> bool {
    let is_number = |at: usize| {
        edits.kind(at) == Some(TokenKind::Number)
            || edits.is_sign(at, "-") && edits.kind(at + 1) == Some(TokenKind::Number)
    };
    // A name in parentheses: `(y) = 2021`.
    let end = if edits.is_sign(end + 1, ")") { end + 1 } else { end };
    let next = end + 1 + usize::from(edits.is_word(end + 1, "not"));
    if edits.is_comparison(next) || edits.is_word_of(next, "between is") {
        let not = usize::from(edits.is_word(next + 1, "not"));
        let open = usize::from(edits.is_sign(next + 1 + not, "("));
        return is_number(next + 1 + not + open);
    }
    edits.is_word(next, "in") && edits.is_sign(next + 1, "(") && is_number(next + 2)
}

/// Returns true if a number is compared with the call that begins at a token: `2021 = strftime('%Y', d)`.
fn is_preceded_by_number(edits: &Edits<'_>, start: usize) -> bool {
    let Some(number) = start.checked_sub(2) else { return false };
    edits.is_comparison(start - 1) && edits.kind(number) == Some(TokenKind::Number)
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    #[test]
    fn texts_of_functions_are_compared_as_numbers() {
        for (sql, expect) in [
            ("strftime('%Y', d) = 2021", "as_number(strftime('%Y', d)) = 2021"),
            ("substr(d, 1, 4) NOT IN (2020, 2021)", "as_number(substr(d, 1, 4)) NOT IN (2020, 2021)"),
            ("left(d, 2) BETWEEN -1 AND 6", "as_number(left(d, 2)) BETWEEN -1 AND 6"),
            ("2021 <= strftime('%Y', d)", "2021 <= as_number(strftime('%Y', d))"),
            ("strftime('%Y', d) IS NOT 2021", "as_number(strftime('%Y', d)) IS NOT 2021"),
            ("(strftime('%Y', d)) = (2021)", "(as_number(strftime('%Y', d))) = (2021)"),
            ("month(d) = '02'", "month(d) = 2"),
            ("EXTRACT(year FROM d) IN ('2020', '2021')", "EXTRACT(year FROM d) IN (2020, 2021)"),
            ("'3' > month(d)", "3 > month(d)"),
        ] {
            assert_eq!(rewrite(sql).as_deref(), Some(expect), "{sql}");
        }
    }

    #[test]
    fn values_without_a_type_are_compared_as_numbers() {
        for (sql, expect) in [
            ("ifnull(q, 0) > 100", "as_number(ifnull(q, 0)) > 100"),
            ("item->>'q' > 100", "as_number(item->>'q') > 100"),
            ("t.item->'a'->>'q' <= -1", "as_number(t.item->'a'->>'q') <= -1"),
            ("5 < a->>'b'", "5 < as_number(a->>'b')"),
            ("CASE WHEN q = 'x' THEN 0 ELSE q END > 1", "as_number(CASE WHEN q = 'x' THEN 0 ELSE q END) > 1"),
            (
                "SELECT a FROM t GROUP BY a HAVING max(q) > 9",
                "SELECT a FROM t GROUP BY a HAVING as_number(max(q)) > 9",
            ),
        ] {
            assert_eq!(rewrite(sql).as_deref(), Some(expect), "{sql}");
        }
    }

    #[test]
    fn names_of_texts_are_compared_as_numbers() {
        for (sql, expect) in [
            (
                "SELECT strftime('%m', d) AS m FROM items GROUP BY m HAVING m IN (1, 2)",
                "SELECT strftime('%m', d) AS m FROM items GROUP BY m HAVING as_number(m) IN (1, 2)",
            ),
            (
                "WITH t AS (SELECT substr(d, 1, 4) y FROM items) SELECT 1 FROM t WHERE t.y >= 2022",
                "WITH t AS (SELECT substr(d, 1, 4) y FROM items) SELECT 1 FROM t WHERE as_number(t.y) >= 2022",
            ),
        ] {
            assert_eq!(rewrite(sql).as_deref(), Some(expect), "{sql}");
        }
        assert_eq!(rewrite("SELECT strftime('%m', d) AS m FROM items WHERE m = '01'"), None);
        assert_eq!(rewrite("SELECT strftime('%m', d) FROM items WHERE id = 1"), None);
    }

    #[test]
    fn other_comparisons_stay() {
        for sql in [
            "strftime('%Y', d) = '2021'",
            "CAST(strftime('%Y', d) AS INTEGER) = 2021",
            "round(x, 2) = 2",
            "year(d) = 'x'",
            "trim(a) = b",
            "trim(a) IN (SELECT 1)",
            "a = 2 AND trim(b) = c",
        ] {
            assert_eq!(rewrite(sql), None, "{sql}");
        }
    }
}
