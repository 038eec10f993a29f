//! Writes result rows as JSON, without columns of `SELECT *` that are NULL throughout.

use std::collections::BTreeSet;

use portion_json::containers::{items, members};
use portion_json::scan::{escape_into, is_json, quote, unescape};
use portion_json::span::Span;
use portion_text::names::UniqueNames;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::catalogue::Catalogue;
use crate::cell::Cell;
use crate::column::{
    BOOLEAN_TYPE, JSON_TYPE, NAMED_TYPE_PREFIX, RECORD_TYPE, ROUNDED_TYPE, WRITTEN_TYPE_PREFIX,
};
use crate::dialect::{normalized, select_columns};
use crate::limits::{QueryDeadline, QueryLimits};
use crate::spellings::Spelling;
use crate::usage::StatementUsage;

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// JSON array with one object per row, its members in the order of the columns. If the only column is
    /// the record itself (`SELECT item FROM items`), the rows are the records, with their original bytes.
    pub json: String,
    /// Number of rows.
    pub row_count: usize,
    /// True if rows are missing because of the limits on rows and bytes.
    pub is_truncated: bool,
    /// Columns of the result with rounded numbers, and columns with such numbers from which it was computed;
    /// `item` has the numbers exactly.
    pub rounded_columns: Vec<String>,
    /// Number of byte sequences that are no UTF-8 and were replaced by U+FFFD.
    pub replacement_count: usize,
    /// True if the only row has nothing but 0 and NULL.
    pub is_blank: bool,
    /// The reason that nothing was found.
    pub empty_reason: Option<EmptyReason>,
    /// Codes of missing values that were read as NULL: `-1 missing, -3 suppressed`.
    pub missing: Option<String>,
    /// Redacted fields that the statement reads.
    pub redacted_fields: Vec<String>,
    /// Columns with numbers in texts that the statement compares, adds up or sorts, and what to write.
    pub type_hints: Vec<String>,
    /// True if the statement selects all columns, or the whole record: `SELECT *`, `SELECT item`.
    pub selects_all_columns: bool,
    /// Columns of `SELECT *` that are NULL in all rows, and were left out.
    pub null_columns: Vec<String>,
    /// True if the statement reads lists, and not the main one.
    pub reads_other_lists: bool,
}

/// The reason that a statement found nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyReason {
    /// Conditions that are joined by AND, and the number of rows that satisfy each alone.
    pub counts: Vec<(String, i64)>,
    /// Value to compare with instead.
    pub hints: Vec<String>,
}

/// A result that is being written.
pub(crate) struct ResultWriter<'c> {
    catalogue: &'c Catalogue,
    usage: &'c StatementUsage,
    /// True if each row is one of the only table, the last that was read.
    is_scan: bool,
    columns: Vec<ResultColumn>,
    /// True if a row is a single column with a record.
    is_bare_record: bool,
    rounded_columns: BTreeSet<usize>,
    result: QueryResult,
}

/// A column of the result.
struct ResultColumn {
    name: String,
    /// Name as a quoted key with the colon.
    json_key: String,
    declared_type: DeclaredType,
}

/// The declared type of a result column: that of a table column selected directly, or an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclaredType {
    /// A record: JSON is embedded.
    Record,
    /// Objects and arrays are embedded.
    Json,
    /// May contain rounded numbers.
    Rounded,
    /// Numbers that are written as texts in a table and a column of it.
    Written((usize, usize)),
    /// 1 and 0 are `true` and `false`.
    Boolean,
    /// Text is never embedded.
    Scalar,
    /// Text that is a JSON object or array is embedded: `json_group_array(…)`.
    Expression,
}

impl<'c> ResultWriter<'c> {
    /// Creates a writer for the rows of a statement. Columns whose names come from a rewritten form have the names in
    /// the statement as it was given.
    pub(crate) fn for_statement(
        statement: &Statement<'_>,
        given_sql: &str,
        catalogue: &'c Catalogue,
        (usage, is_scan): (&'c StatementUsage, bool),
    ) -> Self {
        let given_names = select_columns(given_sql);
        let are_names_of_all = given_names.len() == statement.column_count()
            && !given_names.iter().any(|name| name.ends_with('*'));
        let is_union = normalized(given_sql).contains(" union ");
        let mut names = UniqueNames::default();
        let mut bare = false;
        let columns = statement.columns().enumerate().map(|(at, column)| {
            bare = column.decl_type() == Some(RECORD_TYPE);
            let full_type = column.decl_type();
            let declared = match full_type.map(|kind| kind.strip_prefix(NAMED_TYPE_PREFIX).unwrap_or(kind)) {
                None => DeclaredType::Expression,
                Some(RECORD_TYPE) => DeclaredType::Record,
                Some(JSON_TYPE) => DeclaredType::Json,
                Some(ROUNDED_TYPE) => DeclaredType::Rounded,
                // Of a compound, SQLite declares the types of the first SELECT.
                Some(BOOLEAN_TYPE) if !is_union => DeclaredType::Boolean,
                Some(kind) if kind.starts_with(WRITTEN_TYPE_PREFIX) => {
                    written_column(kind).map_or(DeclaredType::Scalar, DeclaredType::Written)
                }
                Some(_) => DeclaredType::Scalar,
            };
            let given = given_names.get(at).filter(|_| are_names_of_all);
            let given = given.filter(|_| !is_written(given_sql, column.name()));
            let name = names.unique(given.copied().unwrap_or_else(|| column.name()));
            let mut key = String::from("\"");
            escape_into(&name, &mut key);
            key.push_str("\":");
            ResultColumn { name, json_key: key, declared_type: declared }
        });
        let columns: Vec<ResultColumn> = columns.collect();
        let is_bare_record = bare && columns.len() == 1;
        let result = QueryResult {
            json: String::from("["),
            is_blank: true,
            selects_all_columns: is_bare_record,
            ..QueryResult::default()
        };
        Self { catalogue, usage, is_scan, columns, is_bare_record, rounded_columns: BTreeSet::new(), result }
    }

    /// Writes a row; returns false if it exceeds the limits.
    pub(crate) fn write_row(
        &mut self,
        row: &Row<'_>,
        limits: &QueryLimits,
        deadline: &QueryDeadline,
    ) -> rusqlite::Result<bool> {
        let mut json = std::mem::take(&mut self.result.json);
        let before = json.len();
        if self.result.row_count > 0 {
            json.push(',');
        }
        let (mut rounded, mut replaced) = (Vec::new(), 0);
        if !self.is_bare_record {
            json.push('{');
        }
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            if !self.is_bare_record {
                json.push_str(&column.json_key);
            }
            let value = row.get_ref(at)?;
            match self.written_json(value, column.declared_type, deadline) {
                Some(written) => json.push_str(&written),
                None => write_value(value, column.declared_type, &mut json),
            }
            if json.len() > limits.max_bytes {
                break;
            }
            self.result.is_blank &= matches!(value, ValueRef::Null | ValueRef::Integer(0));
            if let ValueRef::Real(n) = value {
                let may_be_rounded = n.abs() >= TWO_TO_63 || n.fract() != 0.0;
                if !n.is_finite() || column.declared_type == DeclaredType::Rounded && may_be_rounded {
                    rounded.push(at);
                }
            }
            if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
                replaced += bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            }
        }
        if !self.is_bare_record {
            json.push('}');
        }
        let fits = self.result.row_count < limits.max_rows && json.len() <= limits.max_bytes;
        if fits {
            self.result.row_count += 1;
            self.rounded_columns.extend(rounded);
            self.result.replacement_count += replaced;
        } else {
            json.truncate(before);
            self.result.is_truncated = true;
        }
        self.result.json = json;
        Ok(fits)
    }

    /// Returns a number of a column as it is in the payload, as JSON.
    fn written_json(
        &self,
        value: ValueRef<'_>,
        declared: DeclaredType,
        deadline: &QueryDeadline,
    ) -> Option<String> {
        let DeclaredType::Written((table, column)) = declared else { return None };
        let number = match value {
            ValueRef::Integer(n) => Cell::Integer(n),
            ValueRef::Real(n) => Cell::Real(n),
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => return None,
        };
        let row = self.usage.current_row().filter(|_| self.is_scan);
        let table = self.catalogue.tables.get(table)?.opened()?;
        let def = table.columns().get(column)?;
        match table.spelling(column, &number, row, deadline)? {
            Spelling::Text(text) if def.is_cell => Some(text.into()),
            Spelling::Text(text) => Some(quote(&text)),
            Spelling::Number => None,
            Spelling::Several => {
                self.usage.record_several_texts(&def.name);
                None
            }
        }
    }

    /// Returns the result; `None` if its first row exceeded the limits.
    pub(crate) fn finish(mut self, limits: &QueryLimits) -> Option<QueryResult> {
        if self.result.is_truncated && self.result.row_count == 0 && limits.max_rows > 0 {
            return None;
        }
        let rounded = self.rounded_columns.iter().filter_map(|at| self.columns.get(*at));
        self.result.rounded_columns = rounded.map(|column| column.name.clone()).collect();
        self.result.json.push(']');
        self.result.is_blank &= self.result.row_count == 1;
        Some(self.result)
    }
}

/// Returns the numbers of the table and of the column in a declared type.
fn written_column(declared: &str) -> Option<(usize, usize)> {
    let (_, numbers) = declared.strip_prefix(WRITTEN_TYPE_PREFIX)?.strip_suffix(')')?.split_once('(')?;
    let (table, column) = numbers.split_once(',')?;
    Some((table.parse().ok()?, column.parse().ok()?))
}

/// Returns true if a statement has a name as it is, or in quotes that double those inside.
fn is_written(sql: &str, name: &str) -> bool {
    let doubled = |quote: &str| name.contains(quote) && sql.contains(&name.replace(quote, &quote.repeat(2)));
    sql.contains(name) || ["\"", "`", "'"].into_iter().any(doubled)
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn write_value(value: ValueRef<'_>, declared: DeclaredType, out: &mut String) {
    match value {
        ValueRef::Null => out.push_str("null"),
        ValueRef::Integer(n @ (0 | 1)) if declared == DeclaredType::Boolean => {
            out.push_str(if n == 0 { "false" } else { "true" });
        }
        ValueRef::Integer(n) => out.push_str(&n.to_string()),
        ValueRef::Real(n) => match serde_json::Number::from_f64(n) {
            Some(shortest) => out.push_str(&shortest.to_string()),
            None => out.push_str("null"),
        },
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let embedded = match declared {
                DeclaredType::Record => is_json(&text),
                DeclaredType::Json | DeclaredType::Expression | DeclaredType::Written(_) => {
                    text.trim_start().starts_with(['{', '[']) && is_json(&text)
                }
                DeclaredType::Rounded | DeclaredType::Boolean | DeclaredType::Scalar => false,
            };
            if embedded {
                out.push_str(text.trim());
            } else {
                out.push('"');
                escape_into(&text, out);
                out.push('"');
            }
        }
    }
}

/// Removes the columns that are NULL in all rows of the answer to a statement that selects all columns, and lists them.
pub(crate) fn leave_out(result: QueryResult, sql: &str) -> QueryResult {
    let is_star = selects_all_columns(sql);
    let result = QueryResult { selects_all_columns: is_star || result.selects_all_columns, ..result };
    if result.row_count == 0 || !is_star {
        return result;
    }
    let json = result.json.as_str();
    let rows: Vec<Span> = items(json, Span::new(0, json.len())).collect();
    let Some(first) = rows.first() else { return result };
    // Columns that the statement names are shown.
    let selected = select_columns(sql);
    let is_named = |column: &&&str| !column.starts_with('*') && !column.ends_with('*');
    let leading = selected.iter().take_while(is_named).count();
    let trailing = selected.iter().rev().take_while(is_named).count();
    let count = members(json, *first).count();
    let of_star = leading..count.saturating_sub(trailing);
    let first_row = members(json, *first).enumerate();
    let mut null: Vec<bool> =
        first_row.map(|(at, column)| of_star.contains(&at) && column.value.slice(json) == "null").collect();
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
            "SELECT a, * FROM t",
        ] {
            check(sql, rows, fewer, &["b"]);
        }
        for sql in ["SELECT *, b, c FROM items", "SELECT a, b, c FROM (SELECT * FROM items)"] {
            check(sql, rows, rows, &[]);
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
