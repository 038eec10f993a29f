//! Adds missing double quotes to column names.
//!
//! A nested field is a column with a dot in its name: `"price.total"`. Without quotes, SQL reads it as a
//! column of a table; if that column does not exist, the meaning is unambiguous.

use rusqlite::Error;

use crate::dialect::word_offsets;

/// Maximum names in one statement that are quoted.
pub(crate) const MAX_REPAIRS: usize = 64;

/// Quotes the name that SQLite did not find, if there is a column of that name.
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
    // For the condition of a JOIN, SQLite does not tell the place.
    let given = offset.filter(|at| sql.get(*at..).is_some_and(|rest| rest.starts_with(name)));
    let at = given.or_else(|| find_name(sql, name))?;
    let (before, rest) = (sql.get(..at)?, sql.get(at + name.len()..)?);
    if is_column(name) {
        return Some(format!("{before}\"{name}\"{rest}"));
    }
    // After the name or alias of a table: `i.price.total`.
    let (table, column) = name.split_once('.')?;
    (column.contains('.') && is_column(column)).then(|| format!("{before}{table}.\"{column}\"{rest}"))
}

/// Returns the offset of a name outside of texts, quoted names and comments.
fn find_name(sql: &str, name: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    word_offsets(sql).into_iter().find(|at| {
        let rest = sql.get(*at..).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(is_word))
            && !sql.get(..*at).is_some_and(|before| before.ends_with('.'))
    })
}
