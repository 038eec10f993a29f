//! Corrects the quotes and the spelling of names, and the quotes of texts, where the meaning is unambiguous.
//!
//! A nested field is a column with a dot in its name: `"price.total"`. Without quotes, SQL reads it as a
//! column of a table, or as a keyword: `commit.author`. `MySQL` and `BigQuery` also write texts in double quotes.

use rusqlite::Error;

use crate::dialect::{is_alias, is_compared_value, word_offsets};
use crate::error::quote_identifier;
use crate::records::MAX_DEPTH;

/// Maximum names and texts in one statement that are corrected.
pub(crate) const MAX_REPAIRS: usize = 64;

/// Returns the statement with other quotes at the place of an error: of a column that was not found, or of a text
/// that was taken for a column.
pub(crate) fn repair_quotes(error: &Error, sql: &str, is_column: impl Fn(&str) -> bool) -> Option<String> {
    let (message, offset) = match error {
        Error::SqlInputError { msg, offset, .. } => (msg, usize::try_from(*offset).ok()),
        Error::SqliteFailure(_, Some(message)) => (message, None),
        _ => return None,
    };
    if message.ends_with(": syntax error") {
        return quote_keyword(sql, offset?, is_column);
    }
    let name = message.strip_prefix("no such column: ")?;
    if let Some((quoted, _)) = name.split_once(" - should this be a string literal") {
        return quote_text(sql, offset?, quoted);
    }
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

/// Quotes the column at the place of a syntax error: its name is a keyword, or has more steps than the name of a column
/// can have in SQL, after the name of a table or not.
fn quote_keyword(sql: &str, at: usize, is_column: impl Fn(&str) -> bool) -> Option<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let before = sql.get(..at)?;
    let is_step = sql.get(at..)?.starts_with('.') || before.ends_with('.');
    let start = if is_step { before.trim_end_matches(is_name).len() } else { at };
    let rest = sql.get(start..)?;
    let full = rest.get(..rest.find(|c| !is_name(c)).unwrap_or(rest.len()))?.trim_end_matches('.');
    let table = full.split_once('.').filter(|_| is_step).map_or(0, |(table, _)| table.len() + 1);
    for skipped in [0, table] {
        let mut name = &full[skipped..];
        while !name.is_empty() && !is_column(name) {
            name = name.rsplit_once('.').map_or("", |(shorter, _)| shorter);
        }
        let (begin, end) = (start + skipped, start + full.len());
        let steps = full[skipped..].strip_prefix(name).unwrap_or_default();
        // Deeper members are no columns.
        if !steps.is_empty() && name.split('.').count() == MAX_DEPTH {
            let table = &full[..skipped];
            return Some(format!("{}({table}\"{name}\" ->> '${steps}'){}", &sql[..start], &sql[end..]));
        }
        if !name.is_empty() {
            return Some(format!("{}\"{name}\"{steps}{}", &sql[..begin], &sql[end..]));
        }
    }
    None
}

/// Turns a value in double quotes that is compared with another one into a text.
fn quote_text(sql: &str, at: usize, quoted: &str) -> Option<String> {
    let inside = quoted.strip_prefix('"')?.strip_suffix('"')?.replace("\"\"", "\"").replace('\'', "''");
    let (before, rest) = (sql.get(..at)?, sql.get(at..)?.strip_prefix(quoted)?);
    is_compared_value(sql, at).then(|| format!("{before}'{inside}'{rest}"))
}

/// Returns the statement with another name in place of a column that was not found, the part of that column that is replaced,
/// and the other name: of `guest_name`, `guestName`. `column_meant` returns the column that a name means.
pub(crate) fn repair_spelling(
    error: &Error,
    sql: &str,
    column_meant: impl Fn(&str) -> Option<String>,
) -> Option<(String, (String, String))> {
    let Error::SqlInputError { msg, offset, .. } = error else { return None };
    let name = msg.strip_prefix("no such column: ").filter(|name| !name.contains('"'))?;
    let given = usize::try_from(*offset).ok();
    let given = given.filter(|at| sql.get(*at..).is_some_and(|rest| rest.starts_with(name)));
    let at = given.or_else(|| find_name(sql, name))?;
    // Of a column with such an alias, the statement would read other places as the alias.
    if is_alias(sql, name.rsplit('.').next()?) {
        return None;
    }
    // The whole name, or what is after the name or alias of a table.
    let after_table = name.split_once('.').map(|(_, column)| column);
    let (wrong, right) =
        std::iter::once(name).chain(after_table).find_map(|wrong| Some((wrong, column_meant(wrong)?)))?;
    let (start, end) = (at + name.len() - wrong.len(), at + name.len());
    let repaired = format!("{}{}{}", sql.get(..start)?, quote_identifier(&right), sql.get(end..)?);
    Some((repaired, (wrong.to_owned(), right)))
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
