//! Adds up texts of numbers as numbers, and sorts them so: SQLite reads the first digits of a text, and sorts "9" after "10".

use super::edits::Edits;
use super::number_uses::SUMS;
use super::untyped_values::{aliases, named_value, untyped_value_from};

/// Returns the statement with `read_number` around values that are added up, and with the collation of numbers behind values
/// that may be texts and are sorted; `None` if there are none of these.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    let names = aliases(&edits);
    for at in 0..edits.len() {
        if edits.is_word_of(at, SUMS) {
            read_numbers(&mut edits, at);
        }
        sort_numbers(&mut edits, at, &names);
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

#[cfg(test)]
mod tests {
    use super::rewrite;

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
}
