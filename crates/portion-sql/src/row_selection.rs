//! Writes the query for `fields` and `sort` on a text that has a table.
//!
//! Rows of CSV and of tables in documents, log entries and sections have no fields for the core, but they have
//! columns here.

use std::fmt::Write as _;

use portion_core::snapshot::Snapshot;
use portion_core::view::{View, ViewError, parse_sort};
use portion_json::projection::split_names;
use portion_text::names::{closest_name, equivalent_name};

use crate::catalogue;
use crate::error::quote_identifier;
use crate::limits::{QueryDeadline, QueryLimits};

/// Tables of a text that have columns of their own, the most specific first.
const TABLES: [&str; 3] = ["items", "entries", "sections"];

/// Returns the SELECT that shows some columns of the rows of a text, in an order; `None` if the text has no table.
///
/// # Errors
/// A name that is no column of the table.
pub fn select_rows(
    snapshot: &Snapshot,
    view: &View,
    fields: Option<&str>,
    sort: Option<&str>,
) -> Result<Option<String>, ViewError> {
    let Ok(catalogue) = catalogue::build(snapshot, view, &[], &[]) else { return Ok(None) };
    let Some(table) = TABLES.iter().find_map(|name| catalogue.table(name)) else { return Ok(None) };
    let Some(rows) = table.open(&QueryDeadline::new(&QueryLimits::default())) else { return Ok(None) };
    let names: Vec<&str> = rows.columns().iter().map(|column| column.name.as_str()).collect();
    let shown = match fields {
        None | Some("all" | "*") => "*".to_owned(),
        Some(fields) => {
            let wanted = split_names(fields, |name| names.contains(&name));
            let columns = wanted.into_iter().map(|name| {
                column_named(&names, &name).map(quote_identifier).map_err(|nearest| {
                    let visible = rows.columns().iter().filter(|column| !column.is_hidden);
                    let available = visible.map(|column| column.name.clone()).collect();
                    ViewError::Field { given: name, nearest, available }
                })
            });
            columns.collect::<Result<Vec<_>, _>>()?.join(", ")
        }
    };
    let mut sql = format!("SELECT {shown} FROM {}", quote_identifier(&table.name));
    if let Some((spec, (field, descending))) = sort.and_then(|spec| Some((spec, parse_sort(spec)?))) {
        let column = column_named(&names, &field).map_err(|nearest| {
            let hint = nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            ViewError::Sort {
                given: spec.to_owned(),
                why: format!("{} has no such column{hint}", table.name),
            }
        })?;
        let direction = if descending { " DESC" } else { "" };
        let column = quote_identifier(column);
        // In both directions: numbers, then texts, then missing values.
        let _ = write!(sql, " ORDER BY {column} IS NULL, typeof({column}) = 'text', {column}{direction}");
    }
    Ok(Some(sql))
}

/// Returns the column that a name means, or the most similar one.
fn column_named<'a>(names: &[&'a str], wanted: &str) -> Result<&'a str, Option<String>> {
    let exact = names.iter().find(|name| **name == wanted).copied();
    exact
        .or_else(|| equivalent_name(wanted, names.iter().copied()))
        .ok_or_else(|| closest_name(wanted, names.iter().copied()))
}
