//! Says which columns a statement uses as numbers or as dates, although their values are none.

use std::sync::Arc;

use super::QueryRun;
use super::date_hints::date_hint;
use super::number_hints::number_hint;
use crate::dialect::{self, DateUse, NumberUse};
use crate::table_rows::TableRows;

/// Maximum columns that are named.
const MAX_COLUMNS: usize = 3;

/// A use for which the type of a column matters.
#[derive(Clone, Copy)]
enum ColumnUse {
    Number(NumberUse),
    Date(DateUse),
}

/// Returns a hint for each column that is compared, added up, sorted or read as a date, but has other values. `renamed`: names
/// that were read as others.
pub(super) fn type_hints(run: &QueryRun<'_>, renamed: &[(String, String)]) -> Vec<String> {
    let sql = run.query.sql;
    let numbers = dialect::number_uses(sql).into_iter().map(|(name, used)| (name, ColumnUse::Number(used)));
    let dates = dialect::date_uses(sql).into_iter().map(|(name, used)| (name, ColumnUse::Date(used)));
    let mut hints: Vec<String> = Vec::new();
    for (name, column_use) in numbers.chain(dates) {
        if hints.len() >= MAX_COLUMNS || run.deadline.is_over() {
            break;
        }
        let hint = columns_named(run, &name, renamed).into_iter().find_map(|(rows, at)| match column_use {
            ColumnUse::Number(number_use) => number_hint(run.catalogue, rows.as_ref(), at, number_use),
            ColumnUse::Date(date_use) => date_hint(rows.as_ref(), at, date_use),
        });
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    hints
}

/// Returns the columns that a name may mean: of the table whose name or alias comes before it, else of all tables that the
/// statement reads. `renamed`: names that were read as others.
fn columns_named<'a>(
    run: &'a QueryRun<'_>,
    name: &str,
    renamed: &[(String, String)],
) -> Vec<(&'a Arc<dyn TableRows>, usize)> {
    let uses = dialect::table_uses(run.query.sql);
    let (prefix, tail) = name.split_once('.').unwrap_or(("", name));
    let qualifier = uses.iter().find(|used| used.alias.eq_ignore_ascii_case(prefix));
    let tables: Vec<_> = match qualifier.map(|used| (used.is_call, run.catalogue.table(&used.table))) {
        Some((true, _)) => Vec::new(),
        Some((false, Some(table))) => vec![table],
        _ => uses.iter().filter_map(|used| run.catalogue.table(&used.table)).collect(),
    };
    let is_given = |wanted: &str| wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(tail);
    let meant = renamed.iter().find(|(given, _)| is_given(given)).map(|(_, column)| column);
    let is_named = |column: &str| is_given(column) || meant.is_some_and(|meant| column == meant);
    let opened = tables.into_iter().filter_map(|table| table.opened_rows());
    opened
        .filter_map(|rows| Some((rows, rows.columns().iter().position(|column| is_named(&column.name))?)))
        .collect()
}
