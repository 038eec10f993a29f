//! Runs one query, from its text to its result.

mod column_hints;
mod connection;
mod element_hints;
mod empty;
mod explain;
mod hints;
mod query_run;
mod text_forms;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::{Column, Error, ErrorCode, Statement};

use crate::catalogue::Catalogue;
use crate::column::{NAMED_TYPE_PREFIX, RECORD_TYPE, REDACTED_TYPE, ROUNDED_TYPE};
use crate::dialect::CatalogStatement;
use crate::limits::{QueryDeadline, QueryLimits};
use crate::outline::outline_tables;
use crate::query_result::{QueryResult, ResultWriter};
use crate::records::LEAF_VALUE;
use crate::usage::StatementUsage;
use crate::{QueryError, SqlQuery, dialect, sql_query};
use connection::QueryConnection;
use query_run::{PreparedQuery, QueryRun};

/// Runs a query on the tables of a catalogue. `given_sql`: the statement before its tables were named.
pub(crate) fn run_query(
    catalogue: &Catalogue,
    question: &SqlQuery<'_>,
    given_sql: &str,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    let deadline = Arc::new(QueryDeadline::new(limits));
    // Out of memory, SQLite returns invalid texts, on which rusqlite panics.
    let run = || {
        let run = || QueryRun::new(catalogue, question, given_sql, limits, Arc::clone(&deadline)).run();
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(explain::memory_error(limits)))
    };
    if given_sql.matches('(').count() < MANY_PARENTHESES {
        return run();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run);
        thread.map_or_else(
            |_| run(),
            |thread| thread.join().unwrap_or_else(|_| Err(explain::memory_error(limits))),
        )
    })
}

/// Stack of the thread for a statement that may be nested deeply. Its parser and the visitors of its tree are recursive, and the
/// threads of a runtime have 2 MiB.
const STACK_BYTES: usize = 16 << 20;
/// Fewer parentheses do not need it.
const MANY_PARENTHESES: usize = 6;

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
        let opened = connection::open(self.catalogue, sql, &self.deadline, self.limits)
            .map_err(|e| self.explain(e))?;
        let PreparedQuery { mut statement, sql: prepared, renamed } = self.prepare(&opened, sql)?;
        let count_of_type =
            |wanted: &str| statement.columns().filter(|column| column.decl_type() == Some(wanted)).count();
        let [shown, as_they_are, shown_records] =
            [REDACTED_TYPE, ROUNDED_TYPE, RECORD_TYPE].map(count_of_type);
        let shown_values = shown_leaf_values(&statement, sql);
        let (used, redacted_fields) = (&opened.usage.columns, &self.catalogue.redacted_fields);
        let taken = used.extracted_fields(sql, self.query.params, redacted_fields, shown_values);
        if !taken.is_empty() {
            return Err(QueryError::redacted(&taken));
        }
        sql_query::bind(&mut statement, self.query.params).map_err(|mut error| {
            if let QueryError::Invalid { tables, .. } = &mut error {
                *tables = outline_tables(self.catalogue, self.given_sql, "", None);
            }
            error
        })?;
        let value = opened.limit_value_bytes(sql, self.limits).map_err(|e| self.explain(e))?;
        let mut answer = match self.collect_rows(&mut statement, &opened.usage) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::TooBig) => {
                return Err(explain::too_costly(
                    format!("a value exceeds {} KiB", value >> 10),
                    "select fewer columns, or parts of them: substr(text, 1, 1000), columns instead of item, smaller groups",
                ));
            }
            Err(error) => return Err(self.explain(error)),
            Ok(Some(answer)) => answer,
            Ok(None) => {
                return Err(explain::too_costly(
                    format!("the first row exceeds {} MiB", self.limits.max_bytes >> 20),
                    "select fewer columns, or parts of them: substr(text, 1, 1000)",
                ));
            }
        };
        if let Some(fields) = used.computed_redacted(shown, &self.catalogue.tables) {
            return Err(QueryError::redacted(&fields));
        }
        for column in used.computed_rounded(as_they_are, sql) {
            if !answer.rounded_columns.contains(&column) {
                answer.rounded_columns.push(column);
            }
        }
        drop(statement);
        if (answer.row_count == 0 || answer.is_blank) && !used.has_redacted() {
            let (connection, params) = (&opened.connection, self.query.params);
            answer.empty_reason = empty::explain_empty(connection, &prepared, params, &self.text_columns());
        }
        if opened.usage.met_missing.load(Ordering::Relaxed) {
            let codes = self.catalogue.missing.iter().find(|codes| !codes.is_empty());
            answer.missing = codes.map(ToString::to_string);
        }
        answer.type_hints.extend(self.hint(&opened, (&prepared, &renamed), shown_records));
        if let Some(reason) = &mut answer.empty_reason {
            reason.hints.truncate(usize::from(answer.type_hints.is_empty()));
        }
        answer.redacted_fields = opened.usage.columns.read_fields(redacted_fields);
        answer.reads_other_lists = self.reads_other_lists();
        Ok(answer)
    }

    /// Returns what to know about the answer: at most one hint.
    fn hint(
        &self,
        opened: &QueryConnection,
        (prepared, renamed): (&str, &[(String, String)]),
        shown_records: usize,
    ) -> Option<String> {
        let sql = self.query.sql;
        let has_unlisted = dialect::parse_catalog_statement(sql) == Some(CatalogStatement::Tables)
            && self.catalogue.unlisted_table_count > 0;
        let unlisted = || has_unlisted.then(|| hints::unlisted_tables(self.catalogue));
        // Before the statement is run again.
        let consequence = "a sum or cast counts it as 0, by its first digits, or as NULL";
        let unread = opened.usage.unread.hint("number", consequence);
        let unread_dates = opened.usage.unread_dates.hint("date", "it is read as NULL");
        hints::uneven_rows(self)
            .or_else(|| self.tree().and_then(dialect::impossible_condition))
            .or_else(|| opened.usage.mismatch())
            .or_else(|| self.mismatch(opened, prepared))
            .or_else(|| hints::compared_leaves(self, opened, prepared))
            .or(unread)
            .or_else(|| column_hints::column_hint(self, renamed))
            .or_else(|| element_hints::element_hint(self))
            .or(unread_dates)
            .or_else(|| column_hints::written_hint(self, renamed))
            .or_else(|| hints::quoted_items(self, shown_records))
            .or_else(|| hints::other_tables(self))
            .or_else(unlisted)
            .or_else(|| hints::read_as(renamed))
    }

    /// Returns what to write if the statement compared a text with a number, as which people would read the text.
    fn mismatch(&self, opened: &QueryConnection, prepared: &str) -> Option<String> {
        // All values of a column that is compared in its type have one.
        let is_typed = |name: &str| {
            let named = self.columns_named(name, &[]);
            !named.is_empty() && named.iter().all(|(table, at)| table.columns()[*at].has_affinity())
        };
        let checked = self.with_tree(prepared, |tree| dialect::with_checks(tree, &is_typed))?;
        opened.add_functions(&self.deadline, self.limits).ok()?;
        let mut statement = empty::prepare(&opened.connection, &checked, self.query.params)?;
        let mut rows = statement.raw_query();
        while let Ok(Some(_)) = rows.next() {}
        opened.usage.mismatch()
    }

    /// Returns the SELECT for a statement about tables and columns, or the statement itself.
    fn translate<'s>(&self, sql: &'s str) -> Result<Cow<'s, str>, QueryError> {
        let fields = self.catalogue.tables.last().map_or("fields", |table| &table.name);
        let statement = match dialect::parse_catalog_statement(sql) {
            None => return Ok(Cow::Borrowed(sql)),
            Some(CatalogStatement::Columns(name)) => match self.catalogue.table(&name) {
                Some(table) => CatalogStatement::Columns(table.name.clone()),
                None => return Err(self.invalid_error(format!("no such table: {name}"))),
            },
            Some(statement) => statement,
        };
        Ok(Cow::Owned(statement.to_select(fields)))
    }

    /// Returns the answer; `None` if its first row exceeds the limits.
    fn collect_rows(
        &self,
        statement: &mut Statement<'_>,
        usage: &StatementUsage,
    ) -> rusqlite::Result<Option<QueryResult>> {
        let is_scan = self.tree().is_some_and(dialect::is_scan);
        let mut writing =
            ResultWriter::for_statement(statement, self.given_sql, self.catalogue, (usage, is_scan));
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !writing.write_row(row, self.limits, &self.deadline)? {
                break;
            }
        }
        Ok(writing.finish(self.limits))
    }

    fn invalid_error(&self, message: String) -> QueryError {
        let tables = outline_tables(self.catalogue, self.given_sql, &message, None);
        QueryError::Invalid { message, token: None, nearest: None, hint: None, tables }
    }

    fn explain(&self, error: Error) -> QueryError {
        explain::map_error(error, self)
    }
}

/// Returns the number of result columns that are values of leaves, unchanged. An alias or a number by which rows may be
/// grouped or sorted does not count, and neither do distinct values: SQLite does not report that use.
fn shown_leaf_values(statement: &Statement<'_>, sql: &str) -> usize {
    let words = dialect::normalized(sql);
    if words.contains(" distinct ") {
        return 0;
    }
    let terms = || [" group by ", " order by "].into_iter().flat_map(|form| words.split(form).skip(1));
    let is_plain = terms().next().is_none() && words.matches(" select ").count() == 1;
    let number = |term: &str| term.split_whitespace().next()?.parse::<usize>().ok();
    let numbers: Vec<usize> = terms().flat_map(|rest| rest.split(',')).filter_map(number).collect();
    let is_value = |(index, column): &(usize, Column<'_>)| {
        column.decl_type().is_some_and(|kind| kind.starts_with(NAMED_TYPE_PREFIX))
            && (is_plain || column.name().eq_ignore_ascii_case(LEAF_VALUE) && !numbers.contains(&(index + 1)))
    };
    statement.columns().enumerate().filter(is_value).count()
}
