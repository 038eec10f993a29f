//! Leaves out columns that `SELECT *` names and that are NULL in all rows of an answer: they cost much and say little.

use portion_json::containers::{items, members};
use portion_json::scan::unescape;
use portion_json::span::Span;

use crate::error::QueryError;
use crate::query_result::QueryResult;

/// Returns an answer without rows in place of the error for a star that stands for no column: a list without records has none.
pub(crate) fn without_columns(error: QueryError) -> Result<QueryResult, QueryError> {
    match &error {
        QueryError::Invalid { message, .. } if message == "no tables specified" => {
            Ok(QueryResult { json: "[]".to_owned(), ..QueryResult::default() })
        }
        _ => Err(error),
    }
}

/// Removes the columns that are NULL in all rows of the answer to a statement that selects all columns, and lists them.
pub(crate) fn leave_out(result: QueryResult, sql: &str) -> QueryResult {
    if result.row_count == 0 || !selects_all_columns(sql) {
        return result;
    }
    let json = result.json.as_str();
    let rows: Vec<Span> = items(json, Span::new(0, json.len())).collect();
    let Some(first) = rows.first() else { return result };
    let mut null: Vec<bool> =
        members(json, *first).map(|column| column.value.slice(json) == "null").collect();
    for row in &rows[1..] {
        if !null.contains(&true) {
            return result;
        }
        for (is_null, column) in null.iter_mut().zip(members(json, *row)) {
            *is_null &= column.value.slice(json) == "null";
        }
    }
    // A row of nothing would not even say that it is one.
    if !null.contains(&true) || !null.contains(&false) {
        return result;
    }
    let is_null = |at: usize| null.get(at).copied().unwrap_or_default();
    let names = members(json, *first).enumerate().filter(|(at, _)| is_null(*at));
    let null_columns = names.map(|(_, column)| unescape(column.key.slice(json))).collect();
    let kept_row = |row: &Span| {
        let kept = members(json, *row).enumerate().filter(|(at, _)| !is_null(*at));
        format!("{{{}}}", kept.map(|(_, column)| column.span().slice(json)).collect::<Vec<_>>().join(","))
    };
    let rows = rows.iter().map(kept_row).collect::<Vec<_>>().join(",");
    QueryResult { json: format!("[{rows}]"), null_columns, ..result }
}

/// Returns true if a star in a statement stands for columns: `SELECT *`, `a.*`, and not `count(*)` or a product.
fn selects_all_columns(sql: &str) -> bool {
    sql.match_indices('*').any(|(at, _)| {
        let before = sql[..at].trim_end();
        let word = before.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let is_start = ["select", "distinct", "all"].iter().any(|start| word.eq_ignore_ascii_case(start));
        is_start || before.ends_with([',', '.'])
    })
}

#[cfg(test)]
mod tests {
    use super::{QueryResult, leave_out};

    #[test]
    fn null_columns_of_a_star_are_left_out_and_listed() {
        let names = |null: &[&str]| null.iter().map(ToString::to_string).collect::<Vec<_>>();
        let check = |sql: &str, json: &str, expect: &str, null: &[&str]| {
            let result = QueryResult { json: json.to_owned(), row_count: 2, ..QueryResult::default() };
            let left = leave_out(result, sql);
            assert_eq!((left.json.as_str(), left.null_columns), (expect, names(null)), "{sql}");
        };
        let rows = r#"[{"a":1,"b":null,"c":null},{"a":null,"b":null,"c":"x"}]"#;
        let fewer = r#"[{"a":1,"c":null},{"a":null,"c":"x"}]"#;
        for sql in [
            "SELECT * FROM items",
            "select distinct * from items",
            "SELECT i.* FROM items i",
            "SELECT 1, * FROM t",
        ] {
            check(sql, rows, fewer, &["b"]);
        }
        for sql in ["SELECT a, b, c FROM items", "SELECT count(*) FROM items", "SELECT 2 * 3"] {
            check(sql, rows, rows, &[]);
        }
        let empty = r#"[{"a":null},{"a":null}]"#;
        check("SELECT * FROM items", empty, empty, &[]);
        let records = r#"[{"a":{"b":null}},{"a":[null]}]"#;
        check("SELECT * FROM items", records, records, &[]);
    }
}
