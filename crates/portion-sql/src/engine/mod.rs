//! Runs one query, from its text to its result.

mod authorizer;
mod column_hints;
mod connection;
mod empty;
mod explain;
mod hints;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use connection::QueryConnection;
use portion_text::column_form::ColumnForm;
use portion_text::spelling::equivalent_name;
use rusqlite::{Column, Error, ErrorCode, Statement};

use crate::catalogue::Catalogue;
use crate::column::{NAMED_TYPE_PREFIX, RECORD_TYPE, REDACTED_TYPE, ROUNDED_TYPE};
use crate::dialect::{CatalogStatement, TableUse, Tree};
use crate::limits::{QueryDeadline, QueryLimits};
use crate::query_result::{QueryResult, ResultWriter};
use crate::records::LEAF_VALUE;
use crate::{QueryError, SqlQuery, dialect, name_repair, params};

/// Runs a query on the tables of a catalogue. `given_sql`: the statement before its tables were named.
pub(crate) fn run_query(
    catalogue: &Catalogue,
    question: &SqlQuery<'_>,
    given_sql: &str,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    let deadline = Arc::new(QueryDeadline::new(limits));
    let run = QueryRun::new(catalogue, question, given_sql, limits, deadline);
    // Out of memory, SQLite returns invalid texts, on which rusqlite panics.
    catch_unwind(AssertUnwindSafe(|| run.run())).unwrap_or_else(|_| Err(explain::memory_error(limits)))
}

/// Most attempts to read a statement in other dialects.
const MAX_READINGS: usize = 3;

/// A query that is being run.
struct QueryRun<'a> {
    catalogue: &'a Catalogue,
    query: &'a SqlQuery<'a>,
    /// The statement before its tables were named, for the names of columns.
    given_sql: &'a str,
    limits: &'a QueryLimits,
    deadline: Arc<QueryDeadline>,
    parsed: OnceCell<Option<Parsed>>,
}

/// A statement that was parsed, and the tables that it reads.
struct Parsed {
    tree: Tree,
    tables: Vec<TableUse>,
}

impl<'a> QueryRun<'a> {
    fn new(
        catalogue: &'a Catalogue,
        query: &'a SqlQuery<'a>,
        given_sql: &'a str,
        limits: &'a QueryLimits,
        deadline: Arc<QueryDeadline>,
    ) -> Self {
        Self { catalogue, query, given_sql, limits, deadline, parsed: OnceCell::new() }
    }

    /// Returns the tree of the statement; `None` if it cannot be parsed.
    fn tree(&self) -> Option<&Tree> {
        self.parsed().map(|parsed| &parsed.tree)
    }

    /// Returns the tables that the statement reads.
    fn table_uses(&self) -> &[TableUse] {
        self.parsed().map_or(&[], |parsed| &parsed.tables)
    }

    /// Calls `work` with the tree of the statement, which may have been repaired.
    fn with_tree<T>(&self, sql: &str, work: impl FnOnce(&Tree) -> Option<T>) -> Option<T> {
        if sql == self.query.sql { self.tree().and_then(work) } else { work(&Tree::parse(sql)?) }
    }

    fn parsed(&self) -> Option<&Parsed> {
        let parse = || {
            let tree = Tree::parse(self.query.sql)?;
            let tables = dialect::table_uses(&tree);
            Some(Parsed { tree, tables })
        };
        self.parsed.get_or_init(parse).as_ref()
    }

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
        let taken =
            opened.usage.redaction.extracted_fields(sql, self.query.params, redacted_fields, shown_values);
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
                if let Some(fields) = opened.usage.redaction.computed_columns(shown, &self.catalogue.tables) {
                    return Err(QueryError::redacted(&fields));
                }
                let rounded = opened.usage.rounding.computed_columns(as_they_are, sql);
                drop(statement);
                let is_empty =
                    (answer.row_count == 0 || answer.is_blank) && !opened.usage.redaction.has_references();
                let explain = || empty::explain_empty(&opened.connection, &prepared, self.query.params);
                let empty_reason = is_empty.then(explain).flatten();
                let codes = self.catalogue.missing.iter().find(|codes| !codes.is_empty());
                let missing = codes.filter(|_| opened.usage.has_met_missing()).map(ToString::to_string);
                let mut empty_reason = empty_reason;
                let type_hints: Vec<String> =
                    self.hint(&opened, &renamed, shown_records).into_iter().collect();
                if let Some(reason) = &mut empty_reason {
                    reason.hints.truncate(usize::from(type_hints.is_empty()));
                }
                let redacted_fields = opened.usage.redaction.read_fields(redacted_fields);
                let answer = answer.with_rounded(rounded);
                Ok(QueryResult { empty_reason, missing, redacted_fields, type_hints, ..answer })
            }
        }
    }

    /// Returns what to know about the answer: at most one hint.
    fn hint(
        &self,
        opened: &QueryConnection,
        renamed: &[(String, String)],
        shown_records: usize,
    ) -> Option<String> {
        let sql = self.query.sql;
        let lists_tables = dialect::parse_catalog_statement(sql) == Some(CatalogStatement::Tables);
        let unlisted = || {
            (lists_tables && self.catalogue.unlisted_table_count > 0)
                .then(|| hints::unlisted_tables(self.catalogue))
        };
        self.tree()
            .and_then(dialect::impossible_condition)
            .or_else(|| column_hints::column_hint(self, renamed))
            .or_else(|| opened.usage.unread.hint())
            .or_else(|| hints::quoted_items(self, shown_records))
            .or_else(|| hints::other_blocks(sql, self.catalogue))
            .or_else(unlisted)
            .or_else(|| renamed.first().map(|(given, column)| format!("{given} is read as {column}")))
    }

    /// Returns the SELECT for a statement about tables and columns, or the statement itself.
    fn translate<'s>(&self, sql: &'s str) -> Result<Cow<'s, str>, QueryError> {
        match dialect::parse_catalog_statement(sql) {
            Some(statement) => self.describe(statement).map(Cow::Owned),
            None => Ok(Cow::Borrowed(sql)),
        }
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
        let mut writing = ResultWriter::for_statement(statement, self.given_sql, self.catalogue);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !writing.write_row(row, self.limits, &self.deadline)? {
                break;
            }
        }
        if writing.is_too_wide() && self.limits.max_rows > 0 {
            return Err(RowsError::RowTooLarge);
        }
        Ok(writing.finish())
    }

    /// Prepares the statement as it is written. One that SQLite rejects is read in other dialects, and with other quotes and
    /// column names where that is unambiguous.
    fn prepare<'c>(&self, opened: &'c QueryConnection, sql: &str) -> Result<PreparedQuery<'c>, QueryError> {
        let connection = &opened.connection;
        let mut sql = sql.to_owned();
        let mut renamed = Vec::new();
        let (mut is_rewritten, mut readings) = (false, 0);
        let types = dialect::ColumnTypes {
            is_time: &|name| self.may_be_time(name),
            compared: &|name| column_hints::compared_type(self, name),
        };
        'attempts: for attempt in 0.. {
            opened.usage.reset();
            let error = match connection.prepare(&sql) {
                Ok(_) if !is_rewritten => {
                    is_rewritten = true;
                    let other = self.with_tree(&sql, |tree| dialect::rewrite_misread(tree, &types));
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
        let tables = self.table_uses().iter().filter_map(|used| self.catalogue.table(&used.table)?.opened());
        let tail = name.split_once('.').map_or(name, |(_, tail)| tail);
        let (mut is_column, mut has_times) = (false, false);
        for column in tables.flat_map(|table| table.columns()) {
            let is_time = matches!(column.form, ColumnForm::Time(_));
            if [name, tail].iter().any(|name| column.name.eq_ignore_ascii_case(name)) {
                if is_time {
                    return true;
                }
                is_column = true;
            }
            has_times |= is_time;
        }
        has_times && !is_column
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::payload::{Block, Content, Payload};
    use portion_core::snapshot::capture;
    use portion_core::view::View;

    use super::{QueryRun, connection};
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
            "SELECT item->>'q' > 10, n - 1, -n, n+n FROM items WHERE name LIKE 'a%'",
            "WITH a AS (SELECT u AS e FROM items) SELECT count(DISTINCT e) FROM a GROUP BY e HAVING count(*) > 0",
            "SELECT sum(n) OVER (ORDER BY u ROWS 1 PRECEDING), \"name\" FROM items, json_each(tags) AS t",
        ] {
            let limits = QueryLimits::default();
            let query = SqlQuery { sql, params: &[] };
            let deadline = Arc::new(QueryDeadline::new(&limits));
            let opened = connection::open(&catalogue, &deadline, &limits).expect("a connection");
            let run = QueryRun::new(&catalogue, &query, sql, &limits, deadline);
            let prepared = run.prepare(&opened, sql).map(|prepared| prepared.sql);
            assert_eq!(prepared.as_deref(), Ok(sql));
        }
    }
}
