//! Compares texts with numbers as other dialects do: `strftime('%Y', d) = 2021`.
//!
//! SQLite converts neither side of such a comparison. The text of a function is never equal to a number, and always
//! greater than it; a number of a function is never equal to a text. A text that is no number stays one.

use super::edits::Edits;
use super::number_uses::SUMS;
use super::token::TokenKind;

/// Functions whose result is a text, or one of their arguments.
const TEXT_FUNCTIONS: &str = "strftime date_format to_char format_date format_datetime substr substring left right \
    split_part regexp_extract regexp_substr trim ltrim rtrim replace ifnull coalesce nvl nullif iif min max greatest least \
    lag lead first_value last_value nth_value any_value json_extract json_extract_string json_value";

/// Functions whose result is a number.
const NUMBER_FUNCTIONS: &str = "year quarter month week day hour minute second date_part datepart extract datediff count \
    length len";

/// Returns the statement with `as_number` around values that may be texts and are compared with a number, with `read_number`
/// around values that are added up, and without quotes around numbers that are compared with a number of a function; `None` if
/// there are none of these. Values that may be texts are sorted as numbers if they are some.
///
/// A column keeps its own rules. Its values lose them in a function, in `CASE` and in `->>`, also under another name.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    let names = aliases(&edits);
    for at in 0..edits.len() {
        if edits.is_word_of(at, NUMBER_FUNCTIONS)
            && let Some(end) = edits.call_end(at)
        {
            remove_quotes(&mut edits, at, end);
        }
        if edits.is_word_of(at, SUMS) {
            read_numbers(&mut edits, at);
        }
        sort_numbers(&mut edits, at, &names);
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

/// Reads the argument of a sum as a number. `at`: the name of the function.
fn read_numbers(edits: &mut Edits<'_>, at: usize) {
    let first = at + 2 + usize::from(edits.is_word_of(at + 2, "distinct all"));
    let Some(end) = edits.call_end(at).filter(|end| *end > first) else { return };
    if !edits.is_sign(first, "*") && edits.commas(at).is_empty() {
        edits.insert_before(first, "read_number(");
        edits.insert_after(end - 1, ")");
    }
}

/// Sorts values that may be texts by their numbers, in `min` and `max` and after `ORDER BY`.
fn sort_numbers(edits: &mut Edits<'_>, at: usize, names: &[&str]) {
    let value = |start: usize| {
        untyped_value_from(edits, start).or_else(|| {
            let end = edits.operand_end(start)?;
            named_value(edits, end, names).map(|(_, end)| end)
        })
    };
    let mut ends = Vec::new();
    if edits.is_word_of(at, "min max")
        && let Some(close) = edits.call_end(at)
    {
        ends.extend(value(at + 2).filter(|end| end + 1 == close));
    } else if edits.is_word(at, "order") && edits.is_word(at + 1, "by") {
        let mut start = at + 2;
        loop {
            let end = value(start);
            ends.extend(end.filter(|end| !is_followed_by_operator(edits, *end)));
            // To the next term.
            let mut next = end.map_or(start, |end| end + 1);
            while next < edits.len()
                && !edits.is_sign(next, ",")
                && !edits.is_sign(next, ")")
                && !edits.is_sign(next, ";")
            {
                next = edits.partner(next).filter(|close| *close > next).unwrap_or(next) + 1;
            }
            if !edits.is_sign(next, ",") {
                break;
            }
            start = next + 1;
        }
    }
    ends.into_iter().for_each(|end| edits.insert_after(end, " COLLATE numbers"));
}

/// Returns true if an expression goes on after a token, or has a collation.
fn is_followed_by_operator(edits: &Edits<'_>, end: usize) -> bool {
    let is_end = [",", ")", ";"].iter().any(|sign| edits.is_sign(end + 1, sign));
    !(is_end
        || end + 1 >= edits.len()
        || edits.is_word_of(end + 1, "asc desc nulls limit offset rows range groups"))
}

/// Returns the last token of a value that may be a text and begins at a token.
fn untyped_value_from(edits: &Edits<'_>, start: usize) -> Option<usize> {
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

/// Returns the first and the last token of a call, a `CASE` or an access by `->>` whose value may be a text. `at`: its first
/// token, or the last sign of the access.
fn untyped_value(edits: &Edits<'_>, at: usize) -> Option<(usize, usize)> {
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

/// Returns the first and the last token of one of these names, with the table before it; `at`: the name.
fn named_value(edits: &Edits<'_>, at: usize, names: &[&str]) -> Option<(usize, usize)> {
    let is_named = matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName))
        && names.iter().any(|name| edits.text(at).eq_ignore_ascii_case(name))
        && !edits.is_sign(at + 1, ".")
        && edits.call_end(at).is_none();
    is_named.then(|| edits.operand_start(at)).flatten().map(|start| (start, at))
}

/// Returns the names that a statement gives to values that may be texts.
fn aliases<'a>(edits: &Edits<'a>) -> Vec<&'a str> {
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
    fn values_that_are_added_up_are_read_as_numbers() {
        for (sql, expect) in [
            ("SUM(DISTINCT a + b)", "SUM(DISTINCT read_number(a + b))"),
            ("avg(ifnull(a, 0)) OVER w", "avg(read_number(ifnull(a, 0))) OVER w"),
            ("max(trim(a))", "max(trim(a) COLLATE numbers)"),
            (
                "ORDER BY a->>'b' DESC, c, (d), substr(e, 1) LIMIT 1",
                "ORDER BY a->>'b' COLLATE numbers DESC, c, (d), substr(e, 1) COLLATE numbers LIMIT 1",
            ),
            (
                "SELECT trim(a) AS n FROM t ORDER BY t.n DESC",
                "SELECT trim(a) AS n FROM t ORDER BY t.n COLLATE numbers DESC",
            ),
            (
                "rank() OVER (PARTITION BY x ORDER BY trim(a) DESC)",
                "rank() OVER (PARTITION BY x ORDER BY trim(a) COLLATE numbers DESC)",
            ),
        ] {
            assert_eq!(rewrite(sql).as_deref(), Some(expect), "{sql}");
        }
        for sql in [
            "count(*)",
            "sum(*)",
            "max(a)",
            "ORDER BY a DESC",
            "ORDER BY trim(a) || 'x'",
            "ORDER BY trim(a) COLLATE nocase",
        ] {
            assert_eq!(rewrite(sql), None, "{sql}");
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
