//! Names that can only have been meant in double quotes.
//!
//! A nested field is a column with a dot in its name: `"price.total"`. Written without quotes, SQL takes it for a
//! column of a table, and where there is no such column, what was meant is plain.

use rusqlite::Error;

/// Names in one statement that are put in quotes.
pub(crate) const MAX_REPAIRS: usize = 64;

/// The statement with the name quoted that SQLite did not find, where a column is called so.
pub(crate) fn quote_missing_column(
    error: &Error,
    sql: &str,
    is_column: impl Fn(&str) -> bool,
) -> Option<String> {
    let (message, offset) = match error {
        Error::SqlInputError { msg, offset, .. } => (msg, usize::try_from(*offset).ok()),
        Error::SqliteFailure(_, Some(message)) => (message, None),
        _ => return None,
    };
    let name = message.strip_prefix("no such column: ")?;
    let at = offset.filter(|at| sql.get(*at..).is_some_and(|rest| rest.starts_with(name)))?;
    let (before, rest) = (sql.get(..at)?, sql.get(at + name.len()..)?);
    if is_column(name) {
        return Some(format!("{before}\"{name}\"{rest}"));
    }
    // Under the name of a table, or what it was called: `i.price.total`.
    let (table, column) = name.split_once('.')?;
    (column.contains('.') && is_column(column)).then(|| format!("{before}{table}.\"{column}\"{rest}"))
}
