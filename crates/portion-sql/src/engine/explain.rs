//! Converts errors of SQLite to query errors with suggestions.

use portion_core::redact::is_redacted_field;
use portion_text::names::closest_name;
use rusqlite::{Error, ErrorCode};

use super::connection::allowed_functions;
use super::hints;
use super::query_run::QueryRun;
use crate::catalogue::Catalogue;
use crate::cell::ValueKinds;
use crate::error::{QueryError, quote_identifier};
use crate::limits::{QueryDeadline, QueryLimits, StopReason};
use crate::outline::{missing_name, nested_lists, outline_tables};

/// Converts an error of SQLite.
pub(super) fn map_error(error: Error, run: &QueryRun<'_>) -> QueryError {
    let (catalogue, limits) = (run.catalogue, run.limits);
    match (run.deadline.stop_reason(), error.sqlite_error_code()) {
        (Some(StopReason::Time), _) => return timeout_error(limits),
        (Some(StopReason::Memory), _) | (None, Some(ErrorCode::OutOfMemory)) => return memory_error(limits),
        _ => {}
    }
    let (message, token) = match error {
        Error::SqlInputError { msg, sql, offset, .. } => {
            let token = usize::try_from(offset).ok().and_then(|at| sql.get(at..)).map(leading_token);
            (msg, token.filter(|token| !token.is_empty()))
        }
        Error::MultipleStatement => ("only one statement is allowed".into(), None),
        Error::SqliteFailure(_, Some(message)) => (message, None),
        other => (other.to_string(), None),
    };
    if let Some(field) = missing_name(&message, "no such column: ")
        .filter(|name| is_redacted(name, &catalogue.redacted_fields))
    {
        return QueryError::LeftOut { field: quote_identifier(field) };
    }
    if message.starts_with("no such table: ") && catalogue.tables.len() == 1 {
        let hint = "only JSON and text have tables".to_owned();
        return QueryError::Invalid {
            message,
            token: None,
            nearest: None,
            hint: Some(hint),
            tables: String::new(),
        };
    }
    let mut hint = hints::hint(run.query.sql, &message, catalogue);
    // What to write instead of a function of another dialect is no similar name.
    let is_explained = hint.is_some() && message.starts_with("no such function: ");
    let nearest = if is_explained { None } else { suggest_name(&message, run) };
    let message = match message.split(" - should this be").next().unwrap_or_default() {
        "not authorized" => "not authorized: only SELECT is allowed".to_owned(),
        "malformed JSON" => match hints::malformed_json(run) {
            Some((message, advice)) => {
                hint = Some(advice);
                message
            }
            None => message,
        },
        plain => plain.to_owned(),
    };
    if let Some(name) = missing_name(&message, "no such column: ") {
        if let Some(array) = array_around(name, catalogue) {
            hint = Some(hints::array_hint(catalogue, Some(&array)));
        } else if let Some(list) = list_with(name, catalogue) {
            hint = Some(format!("{name} is a column of items('*/{list}')"));
        }
    }
    if message.starts_with("no such table: table_") && catalogue.unlisted_table_count > 0 {
        hint = Some(hints::unlisted_tables(catalogue));
    }
    // The message usually contains the token.
    let token = token.filter(|token| !message.contains(token.as_str()));
    let tables = outline_tables(catalogue, run.given_sql, &message, nearest.as_deref());
    let message = match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    };
    QueryError::Invalid { message, token, nearest, hint, tables }
}

/// Returns the column with arrays whose elements a name seems to mean: `tags` of `tags.name`.
fn array_around(name: &str, catalogue: &Catalogue) -> Option<String> {
    let columns = catalogue.tables.iter().filter_map(|table| table.opened()).flat_map(|rows| rows.columns());
    let mut arrays = columns.filter(|column| column.kinds.intersects(ValueKinds::ARRAY));
    let is_inside = |column: &str| {
        name.match_indices('.').any(|(at, _)| {
            let above = &name[..at];
            above.eq_ignore_ascii_case(column)
                || above.split_once('.').is_some_and(|(_, above)| above.eq_ignore_ascii_case(column))
        })
    };
    arrays.find(|column| is_inside(&column.name)).map(|column| column.name.clone())
}

/// Returns the name of the lists in records whose elements have a member with this name.
fn list_with(name: &str, catalogue: &Catalogue) -> Option<String> {
    let mut lists =
        catalogue.tables.iter().filter_map(|table| table.opened()).flat_map(|rows| nested_lists(rows));
    lists.find(|(_, members)| members.iter().any(|member| member == name)).map(|(list, _)| list)
}

/// Returns true if a name, with or without its table, is that of a redacted field: if its values were not
/// strings, there is no such column.
fn is_redacted(name: &str, fields: &[String]) -> bool {
    is_redacted_field(fields, name)
        || name.split_once('.').is_some_and(|(_, column)| is_redacted_field(fields, column))
}

/// Returns the names of the tables of the catalogue that a statement reads.
fn used_tables(run: &QueryRun<'_>) -> Vec<String> {
    let tables = run.table_uses().iter().filter_map(|used| run.catalogue.table(&used.table));
    tables.map(|table| table.name.clone()).collect()
}

/// Returns the first token of a text.
fn leading_token(text: &str) -> String {
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => text[1..].find(quote).map_or(text.len(), |at| at + 2),
        Some(c) if c.is_alphanumeric() || c == '_' => {
            text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '$')).unwrap_or(text.len())
        }
        Some(c) => c.len_utf8(),
        None => 0,
    };
    text[..end].chars().take(60).collect()
}

/// Longest message of an error, which repeats names of the statement.
const MAX_MESSAGE_CHARS: usize = 300;
/// Names that the columns of logs and lines have elsewhere.
const SYNONYMS: [(&str, &str); 3] = [
    ("message msg line content body raw log", "text"),
    ("timestamp ts datetime date", "time"),
    ("loglevel lvl", "level"),
];

/// A table and the names of its columns, the most informative first.
struct TableColumns {
    name: String,
    columns: Vec<String>,
}

/// Suggests an existing name for a missing one, quoted for SQL.
fn suggest_name(message: &str, run: &QueryRun<'_>) -> Option<String> {
    let (tables, used) = (table_columns(run.catalogue, run.limits), used_tables(run));
    let missing = |what: &str| missing_name(message, what);
    if let Some(name) = missing("no such table: ") {
        let name = name.rsplit('.').next().unwrap_or(name);
        // A table of another number is another table.
        let is_numbered = |name: &str| name.rsplit_once('_').is_some_and(|(_, n)| n.parse::<usize>().is_ok());
        if is_numbered(name) && tables.iter().any(|table| is_numbered(&table.name)) {
            return None;
        }
        let nearest = closest_name(name, tables.iter().map(|table| table.name.as_str()));
        let entries = || tables.iter().find(|table| table.name == "entries");
        let main = || entries().or_else(|| tables.first()).map(|table| table.name.clone());
        return nearest.or_else(main).map(|name| quote_identifier(&name));
    }
    if let Some(name) = missing("no such function: ") {
        // Functions are many, and a similar name is seldom a similar function.
        let first = name.bytes().next().map(|b| b.to_ascii_lowercase());
        let is_similar = |known: &&str| {
            known.len() > 3 && known.bytes().next() == first && known.len().abs_diff(name.len()) <= 2
        };
        return closest_name(name, allowed_functions().filter(is_similar));
    }
    let ambiguous = missing("ambiguous column name: ");
    let name = ambiguous.or_else(|| missing("no such column: "))?;
    // The column may be nested, or in another table.
    let last = name.rsplit('.').next().unwrap_or(name);
    let own_prefix = |table: &TableColumns| name.strip_prefix(&*table.name)?.strip_prefix('.');
    let name = tables.iter().find_map(own_prefix).unwrap_or(name);
    let own = tables.split_last().map_or(&*tables, |(_, own)| own);
    let nested =
        |column: &&String| column.rsplit_once('.').is_some_and(|(_, leaf)| leaf.eq_ignore_ascii_case(last));
    let exact = own.iter().find_map(|table| {
        let column = table.columns.iter().find(|column| column.eq_ignore_ascii_case(last))?;
        Some(format!("{}.{}", quote_identifier(&table.name), quote_identifier(column)))
    });
    if ambiguous.is_some() && exact.is_some() {
        return exact;
    }
    let mut read = own.iter().filter(|table| used.contains(&table.name));
    if read.clone().any(is_list_of_values) {
        return Some("value".to_owned());
    }
    let first =
        own.first().and_then(|table| table.columns.iter().find(nested)).filter(|_| !name.contains('.'));
    if let Some(column) = first {
        return Some(quote_identifier(column));
    }
    let synonym =
        SYNONYMS.iter().find(|(names, _)| names.split(' ').any(|known| known.eq_ignore_ascii_case(last)));
    if let Some((_, column)) = synonym
        && exact.is_none()
        && own.iter().any(|table| table.columns.iter().any(|own| own == column))
    {
        return Some((*column).to_owned());
    }
    let near = if read.next().is_some() { &*used } else { &[] };
    let is_near = |table: &&TableColumns| near.is_empty() || near.contains(&table.name);
    let columns = || own.iter().filter(is_near).flat_map(|table| table.columns.iter().map(String::as_str));
    exact.or_else(|| {
        closest_name(name, columns())
            .or_else(|| closest_name(last, columns()))
            .map(|name| quote_identifier(&name))
    })
}

/// Returns true for a table whose records are texts, numbers or arrays.
fn is_list_of_values(table: &TableColumns) -> bool {
    let has = |name: &str| table.columns.iter().any(|column| column == name);
    has("value") && table.columns.iter().all(|name| matches!(name.as_str(), "value" | "item" | "_key"))
}

/// Returns the tables with their columns.
fn table_columns(catalogue: &Catalogue, limits: &QueryLimits) -> Vec<TableColumns> {
    let deadline = QueryDeadline::new(limits);
    let columns = |table: &crate::table::VirtualTable| {
        let Some(rows) = table.open(&deadline) else {
            return TableColumns { name: table.name.clone(), columns: Vec::new() };
        };
        let ranked_names = &rows.found.ranked_columns;
        let mut columns: Vec<(usize, &crate::column::ColumnDef)> = rows
            .columns()
            .iter()
            .filter(|column| !column.is_hidden || column.kinds.intersects(ValueKinds::OBJECT))
            .map(|column| {
                (ranked_names.iter().position(|name| *name == column.name).unwrap_or(usize::MAX), column)
            })
            .collect();
        columns.sort_by_key(|(rank, column)| (column.is_hidden && !column.is_record, *rank));
        TableColumns {
            name: table.name.clone(),
            columns: columns.into_iter().map(|(_, column)| column.name.clone()).collect(),
        }
    };
    catalogue.tables.iter().map(|table| columns(table)).collect()
}

fn timeout_error(limits: &QueryLimits) -> QueryError {
    QueryError::TooCostly {
        what: format!("the query took longer than {} s", limits.timeout.as_secs_f64()),
        advice: "narrow it: filter before joining, join on one column of each table (a.x = b.y), group instead of \
                 comparing all rows with all rows, or add LIMIT"
            .into(),
    }
}

/// Returns the error for exceeding the memory limit.
pub(super) fn memory_error(limits: &QueryLimits) -> QueryError {
    QueryError::TooCostly {
        what: format!("the query needed more than {} MiB of memory", limits.max_heap_bytes >> 20),
        advice: "narrow it: select only the columns needed, filter before sorting or joining, or add LIMIT"
            .into(),
    }
}

/// Returns the error for a row that exceeds the result limit.
pub(super) fn row_too_large_error(limits: &QueryLimits) -> QueryError {
    QueryError::TooCostly {
        what: format!("the first row exceeds {} MiB", limits.max_bytes >> 20),
        advice: "select fewer columns, or parts of them: substr(text, 1, 1000)".into(),
    }
}

/// Returns the error for a value that exceeds `max` bytes.
pub(super) fn value_too_large_error(max: usize) -> QueryError {
    QueryError::TooCostly {
        what: format!("a value exceeds {} KiB", max >> 10),
        advice: "select fewer columns, or parts of them: substr(text, 1, 1000), columns instead of item, smaller groups"
            .into(),
    }
}
