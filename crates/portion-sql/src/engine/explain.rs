//! Converts errors of SQLite to query errors with suggestions.

use portion_core::redact::is_redacted_field;
use portion_text::names::closest_name;
use rusqlite::{Error, ErrorCode};

use super::connection::allowed_functions;
use super::hints;
use super::query_run::QueryRun;
use crate::catalogue::Catalogue;
use crate::cell::ValueKinds;
use crate::column::ColumnDef;
use crate::dialect;
use crate::error::{QueryError, quote_identifier};
use crate::limits::{QueryDeadline, QueryLimits, StopReason};
use crate::outline::{listed_columns, missing_name, nested_lists, outline_tables};
use crate::table::VirtualTable;

/// Converts an error of SQLite.
pub(super) fn map_error(error: Error, run: &QueryRun<'_>) -> QueryError {
    let (catalogue, limits) = (run.catalogue, run.limits);
    match (run.deadline.stop_reason(), error.sqlite_error_code()) {
        (Some(StopReason::Time), _) => {
            return too_costly(
                format!("the query took longer than {} s", limits.timeout.as_secs_f64()),
                "narrow it: filter before joining, join on one column of each table (a.x = b.y), group instead of \
                 comparing all rows with all rows, or add LIMIT",
            );
        }
        (Some(StopReason::Memory), _) | (None, Some(ErrorCode::OutOfMemory)) => return memory_error(limits),
        _ => {}
    }
    let (message, token) = match error {
        Error::SqlInputError { msg, sql, offset, .. } => {
            let token = usize::try_from(offset).ok().and_then(|at| dialect::first_token(sql.get(at..)?));
            (msg, token.map(|token| token.chars().take(MAX_TOKEN_CHARS).collect::<String>()))
        }
        Error::MultipleStatement => ("only one statement is allowed".into(), None),
        Error::SqliteFailure(_, Some(message)) => (message, None),
        other => (other.to_string(), None),
    };
    if let Some(field) = missing_name(&message, "no such column: ").filter(|name| {
        // With its table or not. If the values of a field were not strings, there is no such column.
        let column = name.split_once('.').map(|(_, column)| column);
        let mut names = std::iter::once(*name).chain(column);
        names.any(|name| is_redacted_field(&catalogue.redacted_fields, name))
    }) {
        return QueryError::LeftOut { field: quote_identifier(field) };
    }
    if message.starts_with("no such table: ") && catalogue.tables.len() == 1 {
        return QueryError::invalid(message, Some("only JSON and text have tables".to_owned()));
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
        hint = list_hint(name, catalogue).or(hint);
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

/// Returns advice for a name that is not that of a column: `tags.name` means the elements of the arrays in `tags`, and another name
/// may be a member of the elements of a list in records.
fn list_hint(name: &str, catalogue: &Catalogue) -> Option<String> {
    let opened = || catalogue.tables.iter().filter_map(|table| table.opened());
    let is_inside = |column: &&ColumnDef| {
        let above = name.match_indices('.').map(|(at, _)| &name[..at]);
        let mut names = above.flat_map(|above| [above, above.split_once('.').unwrap_or_default().1]);
        column.kinds.intersects(ValueKinds::ARRAY)
            && names.any(|name| name.eq_ignore_ascii_case(&column.name))
    };
    if let Some(array) = opened().find_map(|rows| rows.columns().iter().find(is_inside)) {
        return Some(hints::array_hint(catalogue, Some(&array.name)));
    }
    let mut lists = opened().flat_map(|rows| nested_lists(rows));
    let (list, _) = lists.find(|(_, members)| members.iter().any(|member| member == name))?;
    Some(format!("{name} is a column of items('*/{list}')"))
}

/// Longest message of an error, which repeats names of the statement, and longest token.
const MAX_MESSAGE_CHARS: usize = 300;
const MAX_TOKEN_CHARS: usize = 60;

/// Suggests an existing name for a missing one, quoted for SQL.
fn suggest_name(message: &str, run: &QueryRun<'_>) -> Option<String> {
    let missing = |what: &str| missing_name(message, what);
    if let Some(name) = missing("no such table: ") {
        let name = name.rsplit('.').next().unwrap_or(name);
        let main = run.catalogue.tables.first().and_then(|main| main.open(&run.deadline));
        if main.is_some_and(|main| nested_lists(&main).iter().any(|(list, _)| list == name)) {
            return Some(format!("items('*/{name}')"));
        }
        let tables: Vec<&str> = run.catalogue.tables.iter().map(|table| table.name.as_str()).collect();
        // A table of another number is another table.
        let is_numbered = |name: &str| name.rsplit_once('_').is_some_and(|(_, n)| n.parse::<usize>().is_ok());
        if is_numbered(name) && tables.iter().any(|table| is_numbered(table)) {
            return None;
        }
        let main = || tables.iter().find(|table| **table == "entries").or(tables.first());
        let nearest = closest_name(name, tables.iter().copied());
        return nearest.or_else(|| main().map(ToString::to_string)).map(|name| quote_identifier(&name));
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
    let deadline = QueryDeadline::new(run.limits);
    let (_, own) = run.catalogue.tables.split_last()?;
    let opened: Vec<_> = own.iter().filter_map(|table| Some((table, table.open(&deadline)?))).collect();
    let names = |rows| listed_columns(rows).into_iter().map(|column| column.name.as_str()).collect();
    let own: Vec<(&VirtualTable, Vec<&str>)> =
        opened.iter().map(|(table, rows)| (&***table, names(rows))).collect();
    // The column may be nested, or in another table.
    let last = name.rsplit('.').next().unwrap_or(name);
    let name =
        own.iter().find_map(|(table, _)| name.strip_prefix(&*table.name)?.strip_prefix('.')).unwrap_or(name);
    let exact = own.iter().find_map(|(table, columns)| {
        let column = columns.iter().find(|column| column.eq_ignore_ascii_case(last))?;
        Some(format!("{}.{}", quote_identifier(&table.name), quote_identifier(column)))
    });
    if ambiguous.is_some() && exact.is_some() {
        return exact;
    }
    let read = run.table_uses().iter().filter_map(|used| run.catalogue.table(&used.table));
    let used: Vec<&str> = read.map(|table| table.name.as_str()).collect();
    let is_used = |(table, _): &&(&VirtualTable, Vec<&str>)| used.contains(&&*table.name);
    // The records of a list may be texts, numbers or arrays.
    let is_list_of_values = |columns: &[&str]| {
        columns.contains(&"value") && columns.iter().all(|name| matches!(*name, "value" | "item" | "_key"))
    };
    if own.iter().filter(is_used).any(|(_, columns)| is_list_of_values(columns)) {
        return Some("value".to_owned());
    }
    let is_nested =
        |column: &&&str| column.rsplit_once('.').is_some_and(|(_, leaf)| leaf.eq_ignore_ascii_case(last));
    let first = own.first().and_then(|(_, columns)| columns.iter().find(is_nested));
    if let Some(column) = first.filter(|_| !name.contains('.')) {
        return Some(quote_identifier(column));
    }
    let is_any = !own.iter().any(|table| is_used(&table));
    let near = || {
        own.iter().filter(|table| is_any || is_used(table)).flat_map(|(_, columns)| columns.iter().copied())
    };
    let closest = || closest_name(name, near()).or_else(|| closest_name(last, near()));
    exact.or_else(|| closest().map(|name| quote_identifier(&name)))
}

/// Returns the error for exceeding a limit.
pub(super) fn too_costly(what: String, advice: &str) -> QueryError {
    QueryError::TooCostly { what, advice: advice.to_owned() }
}

/// Returns the error for exceeding the memory limit.
pub(super) fn memory_error(limits: &QueryLimits) -> QueryError {
    too_costly(
        format!("the query needed more than {} MiB of memory", limits.max_heap_bytes >> 20),
        "narrow it: select only the columns needed, filter before sorting or joining, or add LIMIT",
    )
}
