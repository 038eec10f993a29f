//! Outlines the tables of a result for a caller who named a column or a table that does not exist.

use std::fmt::Write as _;

use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_json::containers::{items, members};
use portion_json::scan::unescape;
use portion_json::span::Span;
use portion_text::display::counted;
use portion_text::names::closest_name;

use crate::cell::{Cell, ValueKinds};
use crate::column::{ColumnDef, Redaction};
use crate::error::{QueryError, quote_identifier, written_name};
use crate::limits::{QueryDeadline, QueryLimits};
use crate::sql_query::JoinedResult;
use crate::table::{OpenTable, VirtualTable};
use crate::table_rows::HINT_ROWS;
use crate::{catalogue, dialect};

/// Largest number of bytes of an outline: about 200 tokens.
const MAX_BYTES: usize = 640;
/// Levels of lists in lists that are named.
const MAX_NESTED_LISTS: usize = 3;
/// Largest number of tables that are named.
const MAX_TABLES: usize = 8;

impl QueryError {
    /// Returns the column or table that a statement names and that does not exist.
    pub fn missing_name(&self) -> Option<&str> {
        let Self::Invalid { message, .. } = self else { return None };
        ["no such column: ", "no such table: "].iter().find_map(|begin| missing_name(message, begin))
    }
}

/// Returns the name that does not exist, according to a message of SQLite with a beginning.
pub(crate) fn missing_name<'m>(message: &'m str, begin: &str) -> Option<&'m str> {
    let name = message.strip_prefix(begin)?;
    // For a quoted name, SQLite suggests a string literal.
    Some(name.split(" - should this be").next().unwrap_or(name).trim().trim_matches('"'))
}

/// Returns the tables of a result with their columns, the nearest to the missing name of an error first, and their types, unless
/// they are texts: `items(state, id integer, 12 more columns); leaves(path, key, value, type)`. Returns `None` if no name is
/// missing.
pub fn outline_tables(
    snapshot: &Snapshot,
    view: &View,
    joined: &[JoinedResult<'_>],
    sql: &str,
    error: &QueryError,
) -> Option<String> {
    let (QueryError::Invalid { nearest, .. }, Some(missing)) = (error, error.missing_name()) else {
        return None;
    };
    let names: Vec<&str> = joined.iter().map(|other| other.name).collect();
    let paths = dialect::name_tables(sql, &names).paths;
    let catalogue = catalogue::build(snapshot, view, &paths, joined).ok()?;
    let deadline = QueryDeadline::new(&QueryLimits::default());
    // The last table lists the columns of the others.
    let tables = catalogue.tables.split_last()?.1;
    let missing = missing.rsplit('.').next().unwrap_or(missing).to_lowercase();
    let words: Vec<&str> = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let is_meant = |table: &VirtualTable| {
        words.iter().any(|word| word.eq_ignore_ascii_case(&table.name))
            || nearest.as_ref() == Some(&quote_identifier(&table.name))
    };
    let shown = tables.len().min(MAX_TABLES);
    let mut by_need: Vec<&VirtualTable> = tables.iter().map(AsRef::as_ref).collect();
    by_need.sort_by_key(|table| !is_meant(table));
    let mut outlined: Vec<((bool, usize), String)> = Vec::new();
    for table in by_need.into_iter().take(shown) {
        let (distance, text) = outline_table(table, (&missing, &words), &deadline, MAX_BYTES / shown.min(2));
        outlined.push(((!is_meant(table), distance), text));
    }
    outlined.sort_by_key(|(order, _)| *order);
    let mut text = String::new();
    for (at, (_, table)) in outlined.iter().enumerate() {
        if !text.is_empty() && text.len() + table.len() > MAX_BYTES {
            let _ = write!(text, "; {} more", tables.len() - at);
            return Some(text);
        }
        let separator = if at == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{table}");
    }
    if tables.len() > shown {
        let _ = write!(text, "; {} more: SHOW TABLES", tables.len() - shown);
    }
    let main = tables.first().and_then(|table| table.open(&deadline));
    for (list, members) in main.into_iter().flat_map(|main| nested_lists(&main)) {
        let outlined = format!("; items('*/{list}')({})", members.join(", "));
        if text.len() + outlined.len() <= MAX_BYTES {
            text.push_str(&outlined);
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Returns the names of the lists of objects in the records of a table, the outer ones first, with the names of the members of
/// their first objects.
pub(crate) fn nested_lists(table: &OpenTable) -> Vec<(String, Vec<String>)> {
    let mut lists = Vec::new();
    for (at, column) in table.columns().iter().enumerate() {
        if !column.kinds.intersects(ValueKinds::ARRAY) || column.redaction != Redaction::Unredacted {
            continue;
        }
        let first = table.find_in_column(at, HINT_ROWS, |cell| match cell {
            Cell::Text(json) if json.len() > "[]".len() => Some(json.into_owned()),
            _ => None,
        });
        if let (Some(json), Some(name)) = (first, column.name.rsplit('.').next()) {
            add_lists(&json, Span::new(0, json.len()), (name, MAX_NESTED_LISTS), &mut lists);
        }
    }
    lists
}

/// Adds a list of objects, and those in its first object, down to a depth.
fn add_lists(json: &str, list: Span, (name, depth): (&str, usize), lists: &mut Vec<(String, Vec<String>)>) {
    let first = items(json, list).next().unwrap_or_default();
    let inside: Vec<(String, Span)> =
        members(json, first).map(|member| (unescape(member.key.slice(json)), member.value)).collect();
    if inside.is_empty() || name.contains('\'') || lists.iter().any(|(known, _)| known == name) {
        return;
    }
    lists.push((name.to_owned(), inside.iter().map(|(name, _)| name.clone()).collect()));
    let deeper = inside.iter().filter(|(_, value)| depth > 0 && value.slice(json).starts_with('['));
    deeper.for_each(|(name, value)| add_lists(json, *value, (name, depth - 1), lists));
}

/// Returns a table with its columns, within about `max` bytes, and the distance of its nearest column. `words`: those of the
/// statement, in which other names may be missing, too.
fn outline_table(
    table: &VirtualTable,
    (missing, words): (&str, &[&str]),
    deadline: &QueryDeadline,
    max: usize,
) -> (usize, String) {
    let name = &table.name;
    let mut text = quote_identifier(name);
    let Some(table) = table.open(deadline) else { return (usize::MAX, text) };
    if table.len() == 0 {
        return (0, format!("{text}, which is empty"));
    }
    let ranked = table.rows().ranked_columns();
    let rank = |column: &ColumnDef| {
        (column.is_hidden, ranked.iter().position(|name| *name == column.name).unwrap_or(usize::MAX))
    };
    let is_listed = |column: &&ColumnDef| !column.is_hidden || column.kinds.intersects(ValueKinds::OBJECT);
    let mut columns: Vec<&ColumnDef> = table.columns().iter().filter(is_listed).collect();
    let nearest = closest_name(missing, columns.iter().map(|column| column.name.as_str()));
    let distance = |column: &ColumnDef| {
        if nearest.as_ref() == Some(&column.name) { 0 } else { distance(&column.name, missing) }
    };
    let is_named = |column: &ColumnDef| words.iter().any(|word| is_within(&column.name, word));
    columns.sort_by_cached_key(|column| (distance(column), !is_named(column), rank(column)));
    text.push('(');
    for (at, column) in columns.iter().enumerate() {
        if at > 0 && text.len() > max {
            let _ = write!(text, ", {}", counted(columns.len() - at, "more column"));
            break;
        }
        let separator = if at == 0 { "" } else { ", " };
        let kinds = column.kind_names();
        let kinds = kinds.trim_end_matches("null").trim_end_matches('|');
        let _ = write!(text, "{separator}{}", written_name(&column.name));
        // The columns of lines and leaves are plain by their names.
        let is_plain = matches!(name.as_str(), "lines" | "leaves" | "entries" | "sections");
        if !is_plain && !matches!(kinds, "" | "text") {
            let _ = write!(text, " {kinds}");
        }
    }
    text.push(')');
    (columns.first().map_or(usize::MAX, |column| distance(column)), text)
}

/// Returns true for a word of a statement that is a part of the name of a column, or the other way round.
fn is_within(column: &str, word: &str) -> bool {
    let last = column.rsplit('.').next().unwrap_or(column).to_lowercase();
    let word = word.to_lowercase();
    word.len() > 2 && last.len() > 2 && (last.contains(&word) || word.contains(&last))
}

/// Returns how far a column is from a missing name, in steps: the same, a part of it, a word in common, or none.
fn distance(column: &str, missing: &str) -> usize {
    let column = column.to_lowercase();
    let has_word = |word: &str| word.len() > 2 && column.contains(word);
    if column.rsplit('.').next() == Some(missing) {
        0
    } else if has_word(missing) || column.len() > 2 && missing.contains(&column) {
        1
    } else if missing.split(|c: char| !c.is_alphanumeric()).any(has_word) {
        2
    } else {
        3
    }
}
