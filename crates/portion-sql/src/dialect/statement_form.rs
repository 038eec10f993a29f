//! Forms of whole statements that SQLite does not have.

use super::edits::Edits;
use super::error::DialectError;

/// Refuses a statement of a form that SQLite does not have.
///
/// # Errors
/// `EXPLAIN`, a statement that begins with `FROM`, and `PIVOT`.
pub(super) fn check(sql: &str) -> Result<(), DialectError> {
    let edits = Edits::new(sql);
    if edits.is_word(0, "explain") {
        return Err(DialectError::new(
            "EXPLAIN is not available",
            "run the statement itself; an empty result says how many rows each condition matched",
        ));
    }
    if edits.is_word(0, "from") {
        return Err(DialectError::new("a statement begins with SELECT or WITH", "write SELECT … FROM …"));
    }
    let is_pivot = |at: usize| {
        edits.is_word_of(at, "pivot unpivot")
            && (at == 0 || edits.call_end(at).is_some())
            && !edits.is_word(at + 1, "as")
    };
    if let Some(at) = (0..edits.len()).find(|at| is_pivot(*at)) {
        let name = edits.text(at).to_ascii_uppercase();
        return Err(DialectError::new(
            format!("{name} is not available"),
            "write a column for each value: sum(CASE WHEN status = 'new' THEN price END) AS new",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn forms_of_other_databases_are_named() {
        let message = |sql: &str| check(sql).err().map(|error| error.message);
        for (sql, expect) in [
            ("EXPLAIN QUERY PLAN SELECT 1", "EXPLAIN is not available"),
            ("from items select id", "a statement begins with SELECT or WITH"),
            ("PIVOT items ON status USING sum(price)", "PIVOT is not available"),
            ("SELECT * FROM items PIVOT (sum(price) FOR status IN ('new'))", "PIVOT is not available"),
            ("SELECT * FROM items UNPIVOT (v FOR k IN (a, b))", "UNPIVOT is not available"),
        ] {
            assert_eq!(message(sql).as_deref(), Some(expect), "{sql}");
        }
        for sql in [
            "SELECT pivot FROM items",
            "SELECT explain, 'from' FROM items",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "",
        ] {
            assert_eq!(message(sql), None, "{sql}");
        }
    }
}
