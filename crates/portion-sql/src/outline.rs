//! Outlines the tables of a result for a caller whose statement is rejected.

use std::fmt::Write as _;

use portion_json::containers::{items, members};
use portion_json::scan::unescape;
use portion_json::span::Span;
use portion_text::display::counted;
use portion_text::names::closest_name;

use crate::catalogue::Catalogue;
use crate::cell::{Cell, ValueKinds};
use crate::column::{ColumnDef, Redaction};
use crate::error::{quote_identifier, written_name};
use crate::limits::{QueryDeadline, QueryLimits};
use crate::table::{OpenTable, VirtualTable};
use crate::table_rows::HINT_ROWS;

/// Largest number of bytes of an outline: about 200 tokens.
const MAX_BYTES: usize = 640;
/// Levels of lists in lists that are named.
const MAX_NESTED_LISTS: usize = 3;
/// Largest number of tables that are named.
const MAX_TABLES: usize = 8;

/// Returns the name that does not exist, according to a message of SQLite with a beginning.
pub(crate) fn missing_name<'m>(message: &'m str, begin: &str) -> Option<&'m str> {
    let name = message.strip_prefix(begin)?;
    // For a quoted name, SQLite suggests a string literal.
    Some(name.split(" - should this be").next().unwrap_or(name).trim().trim_matches('"'))
}

/// Returns the tables of a result with their columns and their types, unless they are texts, the nearest to the faulty name of a
/// message first: `items(state, id integer, 12 more columns); leaves(path, key, value, type)`. `nearest`: the table or column
/// that is suggested instead.
pub(crate) fn outline_tables(
    catalogue: &Catalogue,
    sql: &str,
    message: &str,
    nearest: Option<&str>,
) -> String {
    let deadline = QueryDeadline::new(&QueryLimits::default());
    // The last table lists the columns of the others.
    let Some((_, tables)) = catalogue.tables.split_last() else { return String::new() };
    // The name at which SQLite finds fault does not exist, or is a keyword.
    let missing =
        ["no such column: ", "no such table: "].iter().find_map(|begin| missing_name(message, begin));
    let keyword = || message.strip_prefix("near \"")?.split('"').next();
    let faulty = missing.or_else(keyword).unwrap_or_default();
    let faulty = faulty.rsplit('.').next().unwrap_or(faulty).to_lowercase();
    let words: Vec<&str> = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let is_meant = |table: &VirtualTable| {
        words.iter().any(|word| word.eq_ignore_ascii_case(&table.name))
            || nearest == Some(quote_identifier(&table.name).as_str())
    };
    let shown = tables.len().min(MAX_TABLES);
    let mut by_need: Vec<&VirtualTable> = tables.iter().map(AsRef::as_ref).collect();
    by_need.sort_by_key(|table| !is_meant(table));
    let mut outlined: Vec<((bool, usize), String)> = Vec::new();
    for table in by_need.into_iter().take(shown) {
        let (distance, text) = outline_table(table, (&faulty, &words), &deadline, MAX_BYTES / shown.min(2));
        outlined.push(((!is_meant(table), distance), text));
    }
    outlined.sort_by_key(|(order, _)| *order);
    let mut text = String::new();
    for (at, (_, table)) in outlined.iter().enumerate() {
        if !text.is_empty() && text.len() + table.len() > MAX_BYTES {
            let _ = write!(text, "; {} more", tables.len() - at);
            return text;
        }
        let separator = if at == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{table}");
    }
    if tables.len() > shown {
        let _ = write!(text, "; {} more: SHOW TABLES", tables.len() - shown);
    }
    let main = tables.first().and_then(|table| table.open(&deadline));
    let is_table = |list: &str| tables.iter().any(|table| table.name.strip_prefix("*/") == Some(list));
    for (list, members) in main.into_iter().flat_map(|main| nested_lists(&main)) {
        let outlined = format!("; items('*/{list}')({}, and the keys above)", members.join(", "));
        if text.len() + outlined.len() <= MAX_BYTES && !is_table(&list) {
            text.push_str(&outlined);
        }
    }
    text
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

/// Returns the columns of a table that are listed, the most informative first.
pub(crate) fn listed_columns(table: &OpenTable) -> Vec<&ColumnDef> {
    let ranked = &table.found.ranked_columns;
    let rank = |column: &ColumnDef| ranked.iter().position(|name| *name == column.name).unwrap_or(usize::MAX);
    let is_listed = |column: &&ColumnDef| !column.is_hidden || column.kinds.intersects(ValueKinds::OBJECT);
    let mut columns: Vec<&ColumnDef> = table.columns().iter().filter(is_listed).collect();
    columns.sort_by_cached_key(|column| (column.is_hidden, rank(column)));
    columns
}

/// Returns a table with its columns, within about `max` bytes, and the distance of its nearest column. `words`: those of the
/// statement, in which other names may be missing, too.
fn outline_table(
    table: &VirtualTable,
    (faulty, words): (&str, &[&str]),
    deadline: &QueryDeadline,
    max: usize,
) -> (usize, String) {
    let name = &table.name;
    let mut text = if name.contains('/') { format!("items('{name}')") } else { quote_identifier(name) };
    let Some(table) = table.open(deadline) else { return (usize::MAX, text) };
    if table.len() == 0 {
        return (0, format!("{text}, which is empty"));
    }
    let mut columns = listed_columns(&table);
    let nearest = closest_name(faulty, columns.iter().map(|column| column.name.as_str()));
    let distance = |column: &ColumnDef| {
        if nearest.as_ref() == Some(&column.name) { 0 } else { distance(&column.name, faulty) }
    };
    // A word of the statement is a part of the name, or the other way round.
    let is_named = |column: &ColumnDef| {
        let last = column.name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let mut long =
            words.iter().filter(|word| word.len() > 2 && last.len() > 2).map(|word| word.to_lowercase());
        long.any(|word| last.contains(&word) || word.contains(&last))
    };
    columns.sort_by_cached_key(|column| (distance(column), !is_named(column)));
    text.push('(');
    for (at, column) in columns.iter().enumerate() {
        if at > 0 && text.len() > max {
            let _ = write!(text, ", {}: SELECT name FROM fields", counted(columns.len() - at, "more column"));
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
    if let unlisted @ 1.. = table.found.unlisted_field_count {
        let _ = write!(text, ", {} in item ->> '$.name'", counted(unlisted, "more field"));
    }
    text.push(')');
    (columns.first().map_or(usize::MAX, |column| distance(column)), text)
}

/// Returns how far a column is from a faulty name, in steps: the same, a part of it, a word in common, or none.
fn distance(column: &str, faulty: &str) -> usize {
    let column = column.to_lowercase();
    let has_word = |word: &str| word.len() > 2 && column.contains(word);
    if column.rsplit('.').next() == Some(faulty) {
        0
    } else if has_word(faulty) || column.len() > 2 && faulty.contains(&column) {
        1
    } else if faulty.split(|c: char| !c.is_alphanumeric()).any(has_word) {
        2
    } else {
        3
    }
}
