//! Rewrites statements of other SQL dialects for SQLite.
//!
//! People and models write the SQL of Postgres, `MySQL`, `DuckDB` or T-SQL. The forms in this module have one
//! meaning there and none, or a wrong one, in SQLite. They are replaced token by token; texts, quoted names
//! and comments stay, and a statement without these forms stays byte for byte. What the statement may do is
//! decided after that, by the same rules as for any statement.

mod casts;
mod catalog_statement;
mod clauses;
mod dates;
mod division;
mod edits;
mod elements;
mod error;
mod having;
mod impossible;
#[cfg(test)]
mod laws;
mod limits;
mod names;
mod number_order;
mod number_uses;
mod operators;
mod statement_form;
mod subscripts;
mod tables;
mod temporal;
mod text_numbers;
mod token;
mod untyped_values;
mod where_clause;
mod within_group;

use std::borrow::Cow;

pub(crate) use catalog_statement::{CatalogStatement, parse as parse_catalog_statement};
pub(crate) use clauses::select_columns;
use edits::Edits;
use error::DialectError;
pub(crate) use having::parse as parse_having;
pub(crate) use impossible::impossible_conditions;
pub(crate) use number_uses::{DateUse, NumberUse, date_uses, number_uses};
pub(crate) use operators::is_compared_value;
pub(crate) use tables::{NamedTables, PathTable, TableUse, name_tables, table_uses};
pub(crate) use temporal::DateColumns;
use token::TokenKind;
pub(crate) use token::{string_literals, word_offsets};
pub(crate) use where_clause::{Condition, TextComparison, WhereClause, parse as parse_where_clause};

/// Rewrites a statement for SQLite. `columns` is asked for the columns that are compared, added or subtracted.
///
/// # Errors
/// A form that SQLite would read as something else.
pub(crate) fn rewrite<'a>(sql: &'a str, columns: &DateColumns<'_>) -> Result<Cow<'a, str>, DialectError> {
    statement_form::check(sql)?;
    let mut sql = Cow::Borrowed(sql);
    for pass in [
        text_numbers::rewrite,
        number_order::rewrite,
        elements::rewrite,
        clauses::distinct_on,
        clauses::qualify,
        clauses::group_by_all,
        casts::convert,
        within_group::rewrite,
        names::format_first,
    ] {
        if let Some(rewritten) = pass(&sql) {
            sql = Cow::Owned(rewritten);
        }
    }
    Ok(match rewrite_tokens(&sql, columns)? {
        Some(rewritten) => Cow::Owned(rewritten),
        None => sql,
    })
}

fn rewrite_tokens(sql: &str, columns: &DateColumns<'_>) -> Result<Option<String>, DialectError> {
    let mut edits = Edits::new(sql);
    limits::top(&mut edits);
    for at in 0..edits.len() {
        match edits.kind(at) {
            Some(TokenKind::Word) => rewrite_word(&mut edits, at),
            // It is part of a form that is rewritten.
            Some(TokenKind::Sign) if edits.is_replaced(at) => {}
            Some(TokenKind::Sign) if edits.is_sign(at, "::") => casts::double_colon(&mut edits, at)?,
            Some(TokenKind::Sign) => operators::sign(&mut edits, at),
            Some(TokenKind::QuotedName) => subscripts::rewrite(&mut edits, at)?,
            _ => {}
        }
    }
    temporal::rewrite(&mut edits, columns)?;
    Ok(edits.apply())
}

fn rewrite_word(edits: &mut Edits<'_>, at: usize) {
    match edits.text(at).to_ascii_lowercase().as_str() {
        "ilike" => edits.replace(at, "LIKE"),
        "rlike" => edits.replace(at, "REGEXP"),
        "cast" | "try_cast" | "safe_cast" => casts::cast_call(edits, at),
        "extract" => dates::extract(edits, at),
        "date" | "timestamp" | "timestamptz" | "datetime" => dates::typed_literal(edits, at),
        "interval" => operators::interval(edits, at),
        "fetch" => limits::fetch(edits, at),
        "substring" | "substr" | "position" => names::keyword_arguments(edits, at),
        // A raw text of BigQuery.
        "r" if edits.kind(at + 1) == Some(TokenKind::Text) && edits.text_between(at, at + 1).len() == 1 => {
            edits.remove(at, at);
        }
        "now" | "getdate" | "sysdate" | "today" | "curdate" | "current_date" | "current_time"
        | "current_timestamp" | "localtimestamp" | "sysdatetime" | "getutcdate" => dates::current(edits, at),
        _ => {
            dates::unit(edits, at);
            names::rename(edits, at);
        }
    }
}

/// Returns the words and signs of a statement in lower case, with one space around each; texts and quoted
/// names are left out.
pub(crate) fn normalized(sql: &str) -> String {
    let edits = Edits::new(sql);
    let mut out = String::from(" ");
    for at in 0..edits.len() {
        match edits.kind(at) {
            Some(TokenKind::Word | TokenKind::Number) => out.push_str(&edits.text(at).to_ascii_lowercase()),
            Some(TokenKind::Sign) => out.push_str(edits.text(at)),
            _ => out.push('?'),
        }
        out.push(' ');
    }
    out
}

/// Returns true if a statement gives a column this name.
pub(crate) fn is_alias(sql: &str, name: &str) -> bool {
    let edits = Edits::new(sql);
    (1..edits.len())
        .any(|at| edits.is_word(at - 1, "as") && edits.text(at).trim_matches('"').eq_ignore_ascii_case(name))
}

/// Returns the first argument of the first call of one of these functions.
pub(crate) fn argument_of(sql: &str, functions: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let name =
        (0..edits.len()).find(|at| edits.is_word_of(*at, functions) && edits.call_end(*at).is_some())?;
    let end = edits.commas(name).first().copied().or(edits.call_end(name))?;
    Some(edits.text_between(name + 2, end).trim().replace('"', ""))
}

/// Returns the calls of JSON functions in a statement, and the first argument of each.
pub(crate) fn json_arguments(sql: &str) -> Vec<(String, String)> {
    let edits = Edits::new(sql);
    let mut found = Vec::new();
    for at in 0..edits.len() {
        if edits.is_sign(at, "->") || edits.is_sign(at, "->>") {
            let Some(start) = at.checked_sub(1).and_then(|last| edits.operand_start(last)) else { continue };
            let argument = edits.text_between(start, at).trim().to_owned();
            found.push((format!("{argument} {}", edits.text(at)), argument));
            continue;
        }
        let is_json = edits.kind(at) == Some(TokenKind::Word)
            && edits.text(at).get(..4).is_some_and(|start| start.eq_ignore_ascii_case("json"));
        let Some(end) = edits.call_end(at).filter(|_| is_json) else { continue };
        let comma = edits.commas(at).first().copied().unwrap_or(end);
        let argument = edits.text_between(at + 2, comma).trim().to_owned();
        found.push((format!("{}({argument})", edits.text(at)), argument));
    }
    found
}
