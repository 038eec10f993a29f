//! One question, from its text to its answer.

mod connection;
mod explain;
mod permit;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use connection::Opened;
use rusqlite::{Error, ErrorCode, Statement};

use crate::answer::{Answer, Writing};
use crate::catalogue::Catalogue;
use crate::column::REDACTED;
use crate::limits::{Clock, Limits};
use crate::{QueryError, Question, forgive, params};

/// Asks a question of those tables.
pub(crate) fn ask(
    catalogue: &Catalogue,
    question: &Question<'_>,
    limits: &Limits,
) -> Result<Answer, QueryError> {
    let clock = Arc::new(Clock::new(limits));
    let asked = Asked { catalogue, question, limits, clock };
    // Without memory, SQLite gives texts that are none, which rusqlite does not expect.
    catch_unwind(AssertUnwindSafe(|| asked.answer())).unwrap_or_else(|_| Err(explain::memory(limits)))
}

/// A question that is being answered.
struct Asked<'a> {
    catalogue: &'a Catalogue,
    question: &'a Question<'a>,
    limits: &'a Limits,
    clock: Arc<Clock>,
}

impl Asked<'_> {
    fn answer(&self) -> Result<Answer, QueryError> {
        let sql = self.question.sql;
        if sql.len() > self.limits.sql {
            let message = format!("the statement has {} bytes, {} at most", sql.len(), self.limits.sql);
            return Err(self.invalid(message));
        }
        if sql.contains('\0') {
            return Err(self.invalid("a NUL character is in the statement".into()));
        }
        let opened =
            connection::open(self.catalogue, &self.clock, self.limits).map_err(|e| self.explain(e))?;
        let mut statement = self.prepare(&opened)?;
        let taken = opened.usage.taken_out(sql, self.question.params, &self.catalogue.redacted);
        if !taken.is_empty() {
            return Err(QueryError::redacted(&taken));
        }
        let shown = statement.columns().filter(|column| column.decl_type() == Some(REDACTED)).count();
        params::bind(&mut statement, self.question.params).map_err(|unbound| QueryError::Invalid {
            message: unbound.message,
            token: unbound.token,
            nearest: unbound.nearest,
            tables: explain::tables(self.catalogue, self.limits),
        })?;
        let value = opened.bound_values(sql, self.limits).map_err(|e| self.explain(e))?;
        match self.rows(&mut statement) {
            Err(Failed::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::TooBig) => {
                Err(explain::value(value))
            }
            Err(Failed::Sqlite(error)) => Err(self.explain(error)),
            Err(Failed::TooWide) => Err(explain::row(self.limits)),
            Ok(answer) => match opened.usage.computed(shown, &self.catalogue.tables) {
                Some(fields) => Err(QueryError::redacted(&fields)),
                None => Ok(answer),
            },
        }
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<Answer, Failed> {
        let mut writing = Writing::of(statement);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !writing.row(row, self.limits)? {
                break;
            }
        }
        if writing.is_too_wide() && self.limits.rows > 0 {
            return Err(Failed::TooWide);
        }
        Ok(writing.finish())
    }

    /// The statement, with names in quotes that can only have been meant so.
    fn prepare<'c>(&self, opened: &'c Opened) -> Result<Statement<'c>, QueryError> {
        let connection = &opened.connection;
        let mut sql = self.question.sql.to_owned();
        for _ in 0..forgive::TIMES {
            opened.usage.reset();
            match connection.prepare(&sql) {
                Ok(statement) => return self.only_reads(statement),
                Err(error) => match forgive::quoted(&error, &sql, |name| self.has_column(name)) {
                    Some(better) => sql = better,
                    None => return Err(self.explain(error)),
                },
            }
        }
        opened.usage.reset();
        connection.prepare(&sql).map_err(|error| self.explain(error)).and_then(|s| self.only_reads(s))
    }

    fn only_reads<'c>(&self, statement: Statement<'c>) -> Result<Statement<'c>, QueryError> {
        if statement.column_count() == 0 || !statement.readonly() || statement.is_explain() != 0 {
            let empty = statement.column_count() == 0 && statement.readonly();
            let message = if empty { "there is no statement" } else { "only SELECT can be asked" };
            return Err(self.invalid(message.into()));
        }
        Ok(statement)
    }

    fn has_column(&self, name: &str) -> bool {
        self.catalogue
            .tables
            .iter()
            .filter_map(|table| table.rows(&self.clock))
            .any(|rows| rows.columns().iter().any(|column| column.name.eq_ignore_ascii_case(name)))
    }

    fn invalid(&self, message: String) -> QueryError {
        let tables = explain::tables(self.catalogue, self.limits);
        QueryError::Invalid { message, token: None, nearest: None, tables }
    }

    fn explain(&self, error: Error) -> QueryError {
        explain::error(error, self.catalogue, &self.clock, self.limits)
    }
}

/// Why there are no more rows.
enum Failed {
    Sqlite(Error),
    TooWide,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Sqlite(error)
    }
}
