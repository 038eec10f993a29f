//! Prepares a statement as it is written, or as it is meant in another dialect, with other quotes or with other names.

use portion_text::column_form::ColumnForm;
use portion_text::spelling::equivalent_name;
use rusqlite::Statement;

use super::connection::QueryConnection;
use super::query_run::QueryRun;
use crate::column::ColumnDef;
use crate::dialect::{self, ComparedType};
use crate::{QueryError, name_repair};

/// Most attempts to read a statement in other dialects.
const MAX_READINGS: usize = 3;

/// A statement that can be run.
pub(super) struct PreparedQuery<'c> {
    pub(super) statement: Statement<'c>,
    /// The statement as it was prepared.
    pub(super) sql: String,
    /// Names of columns that were read as others.
    pub(super) renamed: Vec<(String, String)>,
}

impl QueryRun<'_> {
    /// Prepares the statement as it is written. One that SQLite rejects is read in other dialects, and with other quotes and
    /// column names where that is unambiguous.
    pub(super) fn prepare<'c>(
        &self,
        opened: &'c QueryConnection,
        sql: &str,
    ) -> Result<PreparedQuery<'c>, QueryError> {
        let connection = &opened.connection;
        let mut sql = sql.to_owned();
        let mut renamed = Vec::new();
        let (mut is_rewritten, mut readings) = (false, 0);
        let types = dialect::ColumnTypes {
            is_time: &|name| self.may_be_time(name),
            compared: &|name| self.compared_type(name),
        };
        'attempts: for attempt in 0.. {
            opened.usage.columns.reset();
            let error = match connection.prepare(&sql) {
                Ok(_) if !is_rewritten => {
                    is_rewritten = true;
                    let other = self.with_tree(&sql, |tree| dialect::rewrite_misread(tree, &types));
                    if other.is_some() {
                        opened.add_functions(&self.deadline, self.limits).map_err(|e| self.explain(e))?;
                    }
                    match other.map(|other| (connection.prepare(&other).err(), other)) {
                        Some((None, other)) => sql = other,
                        // An index that counts from 0 in some dialects and from 1 in others.
                        Some((Some(error), _)) if error.to_string().contains("_subscript") => {
                            return Err(self.explain(error));
                        }
                        _ => {}
                    }
                    continue;
                }
                Ok(statement) => {
                    return Ok(PreparedQuery { statement: self.ensure_read_only(statement)?, sql, renamed });
                }
                Err(error) => error,
            };
            if attempt >= name_repair::MAX_REPAIRS {
                return Err(self.explain(error));
            }
            let is_column = |name: &str| self.has_column(name);
            // A keyword may be a part of another dialect, or the name of a column.
            let is_syntax = error.to_string().contains("syntax error");
            for is_reading in [is_syntax, !is_syntax] {
                if !is_reading && let Some(better) = name_repair::repair_quotes(&error, &sql, is_column) {
                    sql = better;
                    continue 'attempts;
                }
                if is_reading && !is_rewritten && readings < MAX_READINGS {
                    readings += 1;
                    if let Some(other) = self.with_tree(&sql, |tree| Some(dialect::rewrite(tree, &types))) {
                        opened.add_functions(&self.deadline, self.limits).map_err(|e| self.explain(e))?;
                        (sql, is_rewritten) = (other, true);
                        continue 'attempts;
                    }
                }
            }
            let meant = |name: &str| self.column_meant(name);
            let Some((better, names)) = name_repair::repair_spelling(&error, &sql, meant) else {
                return Err(self.explain(error));
            };
            sql = better;
            if !renamed.contains(&names) {
                renamed.push(names);
            }
        }
        Err(self.invalid_error("the statement cannot be read".into()))
    }

    /// Returns true for the name of a column with times, or of no column, in a statement that reads a table with times.
    fn may_be_time(&self, name: &str) -> bool {
        let is_time = |column: &ColumnDef| matches!(column.form, ColumnForm::Time(_));
        let named = self.columns_named(name, &[]);
        let mut read =
            self.table_uses().iter().filter_map(|used| self.catalogue.table(&used.table)?.opened());
        named.iter().any(|(table, at)| is_time(&table.columns()[*at]))
            || named.is_empty() && read.any(|table| table.columns().iter().any(is_time))
    }

    /// Returns the type of a column by its name.
    fn compared_type(&self, name: &str) -> ComparedType {
        let named = self.columns_named(name, &[]);
        match named.first().map(|(table, at)| &table.columns()[*at]) {
            Some(column) if column.is_boolean() => ComparedType::Boolean,
            Some(column)
                if column.form == ColumnForm::Text && column.kinds.are_texts() && column.has_codes =>
            {
                ComparedType::Text
            }
            _ => ComparedType::Other,
        }
    }

    /// Returns the only column of the tables which the statement reads that differs from a name in nothing but case and
    /// separators.
    fn column_meant(&self, name: &str) -> Option<String> {
        let tables = self.table_uses().iter().filter_map(|used| self.catalogue.table(&used.table));
        let rows: Vec<_> = tables.filter_map(|table| table.open(&self.deadline)).collect();
        let columns = rows.iter().flat_map(|rows| rows.columns().iter());
        let visible = columns.filter(|column| !column.is_hidden).map(|column| column.name.as_str());
        equivalent_name(name, visible).map(str::to_owned)
    }

    fn ensure_read_only<'c>(&self, statement: Statement<'c>) -> Result<Statement<'c>, QueryError> {
        if statement.column_count() == 0 || !statement.readonly() || statement.is_explain() != 0 {
            let empty = statement.column_count() == 0 && statement.readonly();
            let message = if empty { "the statement is empty" } else { "only SELECT is allowed" };
            return Err(self.invalid_error(message.into()));
        }
        Ok(statement)
    }

    fn has_column(&self, name: &str) -> bool {
        self.catalogue
            .tables
            .iter()
            .filter_map(|table| table.open(&self.deadline))
            .any(|rows| rows.columns().iter().any(|column| column.name.eq_ignore_ascii_case(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::payload::{Block, Content, Payload};
    use portion_core::snapshot::capture;
    use portion_core::view::View;

    use super::super::connection;
    use super::QueryRun;
    use crate::limits::{QueryDeadline, QueryLimits};
    use crate::{SqlQuery, catalogue};

    #[test]
    fn statements_that_sqlite_accepts_are_never_changed() {
        let rows = r#"[{"u":"7","q":"15.50","d":"2024-01-05","name":"Ann","tags":["a"],"n":1}]"#;
        let block = Block::new("/content/0/text", Content::Text(rows.to_owned()));
        let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
        let catalogue = catalogue::build(&snapshot, &View::root(), &[], &[]).expect("tables");
        for sql in [
            "SELECT count(*) FROM items WHERE u IN (SELECT u FROM items)",
            "SELECT max(q), sum(q) FROM items WHERE q > 10 AND u IN ('7', '8', '9')",
            "select  u,u||'x'  from items order by q desc -- x::int",
            "SELECT CAST(q AS REAL), CAST(u AS INTEGER), CAST(n AS TEXT) FROM items",
            "SELECT strftime('%Y', d) = 2024, substr(d, 1, 4) > 2000 FROM items",
            "SELECT ifnull(q, 0) > 10, CASE WHEN q IS NULL THEN 0 ELSE q END > 10 FROM items",
            "SELECT count(*) FROM items WHERE name = 'true' AND n = 007 AND q <> '015.50' OR 'false' = name",
            "SELECT item->>'q' > 10, n - 1, -n, n+n FROM items WHERE name LIKE 'a%'",
            "WITH a AS (SELECT u AS e FROM items) SELECT count(DISTINCT e) FROM a GROUP BY e HAVING count(*) > 0",
            "SELECT sum(n) OVER (ORDER BY u ROWS 1 PRECEDING), \"name\" FROM items, json_each(tags) AS t",
        ] {
            let limits = QueryLimits::default();
            let query = SqlQuery { sql, params: &[] };
            let deadline = Arc::new(QueryDeadline::new(&limits));
            let opened = connection::open(&catalogue, sql, &deadline, &limits).expect("a connection");
            let run = QueryRun::new(&catalogue, &query, sql, &limits, deadline);
            let prepared = run.prepare(&opened, sql).map(|prepared| prepared.sql);
            assert_eq!(prepared.as_deref(), Ok(sql));
        }
    }
}
