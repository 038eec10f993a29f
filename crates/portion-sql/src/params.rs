//! The values of a question's parameters.

use portion_core::nearest::nearest;
use portion_core::scan::{Kind, Reader};
use rusqlite::Statement;
use rusqlite::types::Null;

use crate::cell::Cell;

/// What is wrong with the parameters.
pub(crate) struct Unbound {
    pub(crate) message: String,
    pub(crate) token: Option<String>,
    pub(crate) nearest: Option<String>,
}

/// Binds every parameter of the statement.
pub(crate) fn bind(statement: &mut Statement<'_>, params: &[(String, String)]) -> Result<(), Unbound> {
    let wrong =
        |message: String, token: &str| Unbound { message, token: Some(token.to_owned()), nearest: None };
    let mut used = vec![false; params.len()];
    for index in 1..=statement.parameter_count() {
        let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
            return Err(wrong("a parameter without a name: write it as :name".into(), "?"));
        };
        let Some(at) = params.iter().position(|(given, _)| bare(given) == bare(&name)) else {
            let known: Vec<&str> = params.iter().map(|(given, _)| given.as_str()).collect();
            let nearest = nearest(bare(&name), known.iter().copied());
            return Err(Unbound { nearest, ..wrong(format!("no value was given for {name}"), &name) });
        };
        let (given, json) = (&params[at].0, params[at].1.trim());
        used[at] = true;
        if !is_json(json) {
            return Err(wrong(format!("the value of {given} is no JSON"), given));
        }
        let bound = match Cell::of_json(json) {
            Cell::Null => statement.raw_bind_parameter(index, Null),
            Cell::Integer(n) => statement.raw_bind_parameter(index, n),
            Cell::Real(n) => statement.raw_bind_parameter(index, n),
            Cell::Text(text) => statement.raw_bind_parameter(index, &*text),
        };
        bound.map_err(|error| wrong(format!("{given}: {error}"), given))?;
    }
    match used.iter().position(|used| !used) {
        Some(at) => {
            Err(wrong(format!("there is no :{} in the statement", bare(&params[at].0)), &params[at].0))
        }
        None => Ok(()),
    }
}

/// A parameter's name without the sign before it.
fn bare(name: &str) -> &str {
    name.strip_prefix([':', '@', '$']).unwrap_or(name)
}

fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().is_ok() && reader.end().is_ok() && Kind::of(text) == Kind::of(text.trim())
}
