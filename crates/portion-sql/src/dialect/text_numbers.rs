//! Compares texts with numbers as other dialects do: `strftime('%Y', d) = 2021`.
//!
//! SQLite converts neither side of such a comparison. The text of a function is never equal to a number, and always
//! greater than it; a number of a function is never equal to a text. A text that is no number stays one.

use super::edits::Edits;
use super::token::TokenKind;

/// Functions whose result is a text.
const TEXT_FUNCTIONS: &str = "strftime date_format to_char format_date format_datetime substr substring left right \
    split_part regexp_extract regexp_substr trim ltrim rtrim replace";

/// Functions whose result is a number.
const NUMBER_FUNCTIONS: &str = "year quarter month week day hour minute second date_part datepart extract datediff count \
    length len";

/// Returns the statement with `as_number` around texts of functions that are compared with a number, and without quotes
/// around numbers that are compared with a number of a function; `None` if there are none.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    for at in 0..edits.len() {
        let Some(end) = edits.call_end(at) else { continue };
        if edits.is_word_of(at, NUMBER_FUNCTIONS) {
            remove_quotes(&mut edits, at, end);
        }
        if !edits.is_word_of(at, TEXT_FUNCTIONS) {
            continue;
        }
        if is_followed_by_number(&edits, end) || is_preceded_by_number(&edits, at) {
            edits.insert_before(at, "as_number(");
            edits.insert_after(end, ")");
        }
    }
    edits.apply()
}

/// Returns the names that a statement gives to texts of functions and compares with a number, with the function.
pub(crate) fn text_aliases(sql: &str) -> Vec<(String, String)> {
    let edits = Edits::new(sql);
    let mut found: Vec<(String, String)> = Vec::new();
    for at in 0..edits.len() {
        let Some(end) = edits.call_end(at).filter(|_| edits.is_word_of(at, TEXT_FUNCTIONS)) else { continue };
        let alias = end + 1 + usize::from(edits.is_word(end + 1, "as"));
        if edits.kind(alias) != Some(TokenKind::Word)
            || edits.is_word_of(alias, "from where group order and or")
        {
            continue;
        }
        let name = edits.text(alias);
        let is_compared = (0..edits.len()).any(|at| {
            at != alias
                && edits.is_word(at, name)
                && (is_followed_by_number(&edits, at) || is_preceded_by_number(&edits, at))
        });
        let entry = (name.to_owned(), edits.text(at).to_lowercase());
        if is_compared && !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
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
    fn names_of_texts_that_are_compared_with_numbers_are_found() {
        for (sql, expect) in [
            ("SELECT strftime('%m', d) AS m FROM items GROUP BY m HAVING m IN (1, 2)", "m strftime"),
            ("WITH t AS (SELECT substr(d, 1, 4) y FROM items) SELECT 1 FROM t WHERE t.y >= 2022", "y substr"),
            ("SELECT strftime('%m', d) AS m FROM items WHERE m = '01'", ""),
            ("SELECT strftime('%m', d) FROM items WHERE id = 1", ""),
        ] {
            let found: Vec<String> = super::text_aliases(sql)
                .iter()
                .map(|(name, function)| format!("{name} {function}"))
                .collect();
            assert_eq!(found.join(", "), expect, "{sql}");
        }
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
