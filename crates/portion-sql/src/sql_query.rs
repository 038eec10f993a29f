//! Queries with their parameters, and results that they may join.

use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_json::scan::is_json;
use portion_text::names::closest_name;
use rusqlite::Statement;
use rusqlite::types::Null;

use crate::cell::Cell;
use crate::error::QueryError;

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

/// Binds every parameter of the statement.
pub(crate) fn bind(statement: &mut Statement<'_>, params: &[(String, String)]) -> Result<(), QueryError> {
    let wrong = |message: String, token: &str, nearest: Option<String>| QueryError::Invalid {
        message,
        token: Some(token.to_owned()),
        nearest,
        hint: None,
        tables: String::new(),
    };
    let mut used = vec![false; params.len()];
    for index in 1..=statement.parameter_count() {
        let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
            return Err(wrong("unnamed parameter: write it as :name".into(), "?", None));
        };
        let Some(at) = params.iter().position(|(given, _)| strip_sigil(given) == strip_sigil(&name)) else {
            let known: Vec<&str> = params.iter().map(|(given, _)| given.as_str()).collect();
            let nearest = closest_name(strip_sigil(&name), known.iter().copied());
            return Err(wrong(format!("no value was given for {name}"), &name, nearest));
        };
        let (given, json) = (&params[at].0, params[at].1.trim());
        used[at] = true;
        if !is_json(json) {
            return Err(wrong(format!("the value of {given} is not JSON"), given, None));
        }
        let bound = match Cell::from_json(json) {
            Cell::Null => statement.raw_bind_parameter(index, Null),
            Cell::Integer(n) => statement.raw_bind_parameter(index, n),
            Cell::Real(n) => statement.raw_bind_parameter(index, n),
            Cell::Text(text) => statement.raw_bind_parameter(index, &*text),
        };
        bound.map_err(|error| wrong(format!("{given}: {error}"), given, None))?;
    }
    let unused = params.iter().zip(&used).find(|(_, is_used)| !**is_used);
    unused.map_or(Ok(()), |((given, _), _)| {
        Err(wrong(format!("the statement has no :{}", strip_sigil(given)), given, None))
    })
}

/// Returns the name of a parameter without its sigil.
fn strip_sigil(name: &str) -> &str {
    name.strip_prefix([':', '@', '$']).unwrap_or(name)
}
