//! Runs one query, from its text to its result.

mod authorizer;
mod connection;
mod date_hints;
mod empty;
mod explain;
mod hints;
mod number_hints;
mod type_hints;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use connection::QueryConnection;
use portion_text::spelling::equivalent_name;
use rusqlite::{Column, Error, ErrorCode, Statement};

use crate::catalogue::Catalogue;
use crate::cell::Cell;
use crate::column::{NAMED_TYPE_PREFIX, RECORD_TYPE, REDACTED_TYPE, ROUNDED_TYPE};
use crate::dialect::CatalogStatement;
use crate::limits::{QueryDeadline, QueryLimits};
use crate::query_result::{QueryResult, ResultWriter};
use crate::records::LEAF_VALUE;
use crate::table_rows::find_in_column;
use crate::{QueryError, SqlQuery, dialect, functions, name_repair, params};

/// Runs a query on the tables of a catalogue. `given_sql`: the statement before its tables were named.
pub(crate) fn run_query(
    catalogue: &Catalogue,
    question: &SqlQuery<'_>,
    given_sql: &str,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    let deadline = Arc::new(QueryDeadline::new(limits));
    let run = QueryRun { catalogue, query: question, given_sql, limits, deadline };
    // Out of memory, SQLite returns invalid texts, on which rusqlite panics.
    catch_unwind(AssertUnwindSafe(|| run.run())).unwrap_or_else(|_| Err(explain::memory_error(limits)))
}

/// A query that is being run.
struct QueryRun<'a> {
    catalogue: &'a Catalogue,
    query: &'a SqlQuery<'a>,
    /// The statement before its tables were named, for the names of columns.
    given_sql: &'a str,
    limits: &'a QueryLimits,
    deadline: Arc<QueryDeadline>,
}

impl QueryRun<'_> {
    fn run(&self) -> Result<QueryResult, QueryError> {
        let sql = self.query.sql;
        if sql.len() > self.limits.max_sql_bytes {
            let message =
                format!("the statement has {} bytes, over {}", sql.len(), self.limits.max_sql_bytes);
            return Err(self.invalid_error(message));
        }
        if sql.contains('\0') {
            return Err(self.invalid_error("the statement has a NUL character".into()));
        }
        let sql = &*self.translate(sql)?;
        let opened =
            connection::open(self.catalogue, &self.deadline, self.limits).map_err(|e| self.explain(e))?;
        let PreparedQuery { mut statement, sql: prepared, renamed } = self.prepare(&opened, sql)?;
        let count_of_type = |is_wanted: &dyn Fn(&str) -> bool| {
            statement.columns().filter(|column| column.decl_type().is_some_and(is_wanted)).count()
        };
        let shown_values = shown_leaf_values(&statement, sql);
        let shown = count_of_type(&|kind| kind == REDACTED_TYPE);
        let as_they_are = count_of_type(&|kind| kind == ROUNDED_TYPE);
        let shown_records = count_of_type(&|kind| kind == RECORD_TYPE);
        let redacted_fields = &self.catalogue.redacted_fields;
        let taken = opened.usage.extracted_fields(sql, self.query.params, redacted_fields, shown_values);
        if !taken.is_empty() {
            return Err(QueryError::redacted(&taken));
        }
        params::bind(&mut statement, self.query.params).map_err(|unbound| QueryError::Invalid {
            message: unbound.message,
            token: unbound.token,
            nearest: unbound.nearest,
            hint: None,
            tables: explain::table_columns(self.catalogue, self.limits),
        })?;
        let value = opened.limit_value_bytes(sql, self.limits).map_err(|e| self.explain(e))?;
        match self.collect_rows(&mut statement) {
            Err(RowsError::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::TooBig) => {
                Err(explain::value_too_large_error(value))
            }
            Err(RowsError::Sqlite(error)) => Err(self.explain(error)),
            Err(RowsError::RowTooLarge) => Err(explain::row_too_large_error(self.limits)),
            Ok(answer) => {
                if let Some(fields) = opened.usage.computed_columns(shown, &self.catalogue.tables) {
                    return Err(QueryError::redacted(&fields));
                }
                let rounded = opened.rounding.computed_columns(as_they_are, sql);
                drop(statement);
                let is_empty = (answer.row_count == 0 || answer.is_blank) && !opened.usage.has_references();
                let explain = || empty::explain_empty(&opened.connection, &prepared, self.query.params);
                let empty_reason = is_empty.then(explain).flatten();
                let missing = self.catalogue.missing.iter().find_map(|missing| missing.describe_met());
                let mut type_hints: Vec<String> =
                    renamed.iter().map(|(given, column)| format!("{given} is read as {column}")).collect();
                type_hints.extend(type_hints::type_hints(self, &renamed));
                type_hints.extend(opened.unread.hint().filter(|_| type_hints.is_empty()));
                type_hints.extend(dialect::impossible_conditions(self.query.sql));
                type_hints.extend(hints::other_blocks(self.query.sql, self.catalogue));
                type_hints.extend(hints::quoted_items(self.query.sql, shown_records, self.catalogue));
                let lists_tables =
                    dialect::parse_catalog_statement(self.query.sql) == Some(CatalogStatement::Tables);
                if lists_tables && self.catalogue.unlisted_table_count > 0 {
                    type_hints.push(hints::unlisted_tables(self.catalogue));
                }
                let redacted_fields = opened.usage.read_fields(redacted_fields);
                let answer = answer.with_rounded(rounded);
                Ok(QueryResult { empty_reason, missing, redacted_fields, type_hints, ..answer })
            }
        }
    }

    /// Rewrites a statement of another dialect.
    fn translate<'s>(&self, sql: &'s str) -> Result<Cow<'s, str>, QueryError> {
        if let Some(statement) = dialect::parse_catalog_statement(sql) {
            return self.describe(statement).map(Cow::Owned);
        }
        dialect::rewrite(sql, &|name| self.first_date(name)).map_err(|error| QueryError::Invalid {
            message: error.message,
            token: None,
            nearest: None,
            hint: Some(error.hint),
            tables: explain::table_columns(self.catalogue, self.limits),
        })
    }

    /// Returns the SELECT for a statement about tables and columns.
    fn describe(&self, statement: CatalogStatement) -> Result<String, QueryError> {
        let fields = self.catalogue.fields_name();
        let CatalogStatement::Columns(name) = statement else { return Ok(statement.to_select(fields)) };
        match self.catalogue.table(&name) {
            Some(table) => Ok(CatalogStatement::Columns(table.name.clone()).to_select(fields)),
            None => Err(self.invalid_error(format!("no such table: {name}"))),
        }
    }

    fn collect_rows(&self, statement: &mut Statement<'_>) -> Result<QueryResult, RowsError> {
        let mut writing = ResultWriter::for_statement(statement, self.given_sql);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !writing.write_row(row, self.limits)? {
                break;
            }
        }
        if writing.is_too_wide() && self.limits.max_rows > 0 {
            return Err(RowsError::RowTooLarge);
        }
        Ok(writing.finish())
    }

    /// Prepares the statement, with other quotes and column names where that is unambiguous.
    fn prepare<'c>(&self, opened: &'c QueryConnection, sql: &str) -> Result<PreparedQuery<'c>, QueryError> {
        let connection = &opened.connection;
        let mut sql = sql.to_owned();
        let mut renamed = Vec::new();
        for _ in 0..name_repair::MAX_REPAIRS {
            opened.usage.reset();
            opened.rounding.reset();
            match connection.prepare(&sql) {
                Ok(statement) => {
                    return Ok(PreparedQuery { statement: self.ensure_read_only(statement)?, sql, renamed });
                }
                Err(error) => {
                    let is_column = |name: &str| self.has_column(name);
                    if let Some(better) = name_repair::repair_quotes(&error, &sql, is_column) {
                        sql = better;
                        continue;
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
            }
        }
        opened.usage.reset();
        opened.rounding.reset();
        let statement = connection.prepare(&sql).map_err(|error| self.explain(error))?;
        Ok(PreparedQuery { statement: self.ensure_read_only(statement)?, sql, renamed })
    }

    /// Returns the only column of the tables which the statement reads that differs from a name in nothing but case and
    /// separators.
    fn column_meant(&self, name: &str) -> Option<String> {
        let uses = dialect::table_uses(self.query.sql);
        let tables = uses.iter().filter_map(|used| self.catalogue.table(&used.table));
        let rows: Vec<_> = tables.filter_map(|table| table.rows(&self.deadline)).collect();
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

    /// Returns the first text of the column of that name, if it is a date or a time; of times, the first one with an offset, if
    /// there are any.
    fn first_date(&self, name: &str) -> Option<String> {
        let short = name.rsplit_once('.').map_or(name, |(_, short)| short);
        let tail = name.split_once('.').map_or(name, |(_, tail)| tail);
        self.catalogue.tables.iter().filter_map(|table| table.rows(&self.deadline)).find_map(|rows| {
            let is_named =
                |column: &str| [name, tail, short].iter().any(|wanted| column.eq_ignore_ascii_case(wanted));
            let at = rows.columns().iter().position(|column| is_named(&column.name))?;
            let mut first = None;
            let offset_time = find_in_column(rows.as_ref(), at, 1_000, |cell| {
                let Cell::Text(text) = cell else { return None };
                first.get_or_insert_with(|| text.to_string());
                let sign = text.len().checked_sub(6).and_then(|at| text.as_bytes().get(at));
                let has_offset = text.len() > 19 && matches!(sign, Some(b'+' | b'-'));
                has_offset.then(|| text.into_owned())
            });
            let is_date = |text: &String| functions::is_date(text);
            first.filter(is_date).map(|first| offset_time.filter(is_date).unwrap_or(first))
        })
    }

    fn has_column(&self, name: &str) -> bool {
        self.catalogue
            .tables
            .iter()
            .filter_map(|table| table.rows(&self.deadline))
            .any(|rows| rows.columns().iter().any(|column| column.name.eq_ignore_ascii_case(name)))
    }

    fn invalid_error(&self, message: String) -> QueryError {
        let tables = explain::table_columns(self.catalogue, self.limits);
        QueryError::Invalid { message, token: None, nearest: None, hint: None, tables }
    }

    fn explain(&self, error: Error) -> QueryError {
        explain::map_error(error, self)
    }
}

/// Returns the number of result columns that are values of leaves, unchanged. An alias by which rows may be grouped or
/// sorted does not count: SQLite does not report that use.
fn shown_leaf_values(statement: &Statement<'_>, sql: &str) -> usize {
    let words = dialect::normalized(sql);
    let is_plain = ![" group by ", " order by ", " distinct "].iter().any(|form| words.contains(form))
        && words.matches(" select ").count() == 1;
    let is_value = |column: &Column<'_>| {
        column.decl_type().is_some_and(|kind| kind.starts_with(NAMED_TYPE_PREFIX))
            && (is_plain || column.name().eq_ignore_ascii_case(LEAF_VALUE))
    };
    statement.columns().filter(is_value).count()
}

/// A statement that can be run.
struct PreparedQuery<'c> {
    statement: Statement<'c>,
    /// The statement as it was prepared.
    sql: String,
    /// Names of columns that were read as others.
    renamed: Vec<(String, String)>,
}

/// The reason for reading no more rows.
enum RowsError {
    Sqlite(Error),
    RowTooLarge,
}

impl From<Error> for RowsError {
    fn from(error: Error) -> Self {
        Self::Sqlite(error)
    }
}
