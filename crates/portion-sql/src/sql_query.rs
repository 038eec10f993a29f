//! Queries with their parameters, results that they may join, and the query for `fields` and `sort` on a text.

use std::fmt::Write as _;

use portion_core::snapshot::Snapshot;
use portion_core::view::{View, ViewError, parse_sort};
use portion_json::projection::split_names;
use portion_json::scan::is_json;
use portion_text::names::{closest_name, equivalent_name};
use rusqlite::Statement;
use rusqlite::types::Null;

use crate::catalogue;
use crate::cell::Cell;
use crate::error::quote_identifier;
use crate::limits::{QueryDeadline, QueryLimits};

/// A query in SQL.
#[derive(Clone, Copy, Debug)]
pub struct SqlQuery<'a> {
    /// One `SELECT` (or `WITH … SELECT`, or `VALUES`).
    pub sql: &'a str,
    /// Named parameters, each a JSON value: bound to `:name`, `@name` or `$name`. Objects and arrays are
    /// bound as their JSON text, `true` and `false` as 1 and 0.
    pub params: &'a [(String, String)],
}

/// Another result that a query may join.
#[derive(Clone, Copy, Debug)]
pub struct JoinedResult<'a> {
    /// Name of the result: its tables are `name.items` and so on, and `name` is its first table.
    pub name: &'a str,
    /// Content of the result.
    pub snapshot: &'a Snapshot,
    /// Part of it that can be queried.
    pub view: &'a View,
}

/// An error in the parameters.
pub(crate) struct ParamError {
    pub(crate) message: String,
    pub(crate) token: Option<String>,
    pub(crate) nearest: Option<String>,
}

/// Binds every parameter of the statement.
pub(crate) fn bind(statement: &mut Statement<'_>, params: &[(String, String)]) -> Result<(), ParamError> {
    let wrong =
        |message: String, token: &str| ParamError { message, token: Some(token.to_owned()), nearest: None };
    let mut used = vec![false; params.len()];
    for index in 1..=statement.parameter_count() {
        let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
            return Err(wrong("unnamed parameter: write it as :name".into(), "?"));
        };
        let Some(at) = params.iter().position(|(given, _)| strip_sigil(given) == strip_sigil(&name)) else {
            let known: Vec<&str> = params.iter().map(|(given, _)| given.as_str()).collect();
            let nearest = closest_name(strip_sigil(&name), known.iter().copied());
            return Err(ParamError { nearest, ..wrong(format!("no value was given for {name}"), &name) });
        };
        let (given, json) = (&params[at].0, params[at].1.trim());
        used[at] = true;
        if !is_json(json) {
            return Err(wrong(format!("the value of {given} is not JSON"), given));
        }
        let bound = match Cell::from_json(json) {
            Cell::Null => statement.raw_bind_parameter(index, Null),
            Cell::Integer(n) => statement.raw_bind_parameter(index, n),
            Cell::Real(n) => statement.raw_bind_parameter(index, n),
            Cell::Text(text) => statement.raw_bind_parameter(index, &*text),
        };
        bound.map_err(|error| wrong(format!("{given}: {error}"), given))?;
    }
    match used.iter().position(|used| !used) {
        Some(at) => {
            Err(wrong(format!("the statement has no :{}", strip_sigil(&params[at].0)), &params[at].0))
        }
        None => Ok(()),
    }
}

/// Returns the name of a parameter without its sigil.
fn strip_sigil(name: &str) -> &str {
    name.strip_prefix([':', '@', '$']).unwrap_or(name)
}

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
