//! Arguments, results and errors that functions share.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};

use crate::cell::Cell;
use crate::column::Comparison;
use crate::index::compare_cells;

/// Deterministic and without side effects.
pub(super) const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// A connection that gets functions: those whose names are wanted, which takes less time than all.
#[derive(Clone, Copy)]
pub(crate) struct Registry<'a> {
    pub(crate) connection: &'a Connection,
    /// The statement that names them; `None` for all.
    pub(crate) wanted: Option<&'a HashSet<String>>,
}

impl Registry<'_> {
    /// Yields those of some names, separated by spaces, that are wanted.
    pub(super) fn wanted_of(self, names: &str) -> impl Iterator<Item = &str> {
        names.split(' ').filter(move |name| self.wanted.is_none_or(|wanted| wanted.contains(*name)))
    }
}

/// Registers a function under each of its names.
pub(super) fn add<T: Into<Value>>(
    registry: Registry<'_>,
    names: &str,
    arguments: i32,
    function: impl Fn(&Context<'_>) -> Result<T> + Clone + Send + 'static,
) -> Result<()> {
    registry.wanted_of(names).try_for_each(|name| {
        let function = function.clone();
        registry
            .connection
            .create_scalar_function(name, arguments, PURE, move |context| function(context).map(Into::into))
    })
}

/// Returns an argument as a number; `None` for NULL and for what is not a number.
pub(super) fn number_argument(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Integer(n) => Some(n as f64),
        ValueRef::Real(n) => Some(n),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// Returns a value as text; `None` for NULL.
pub(super) fn text_value(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string().into()),
        ValueRef::Real(n) => Some(format!("{n:?}").into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// Returns a copy of a value. Bytes that are no UTF-8 are replaced.
pub(super) fn owned_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Integer(n),
        ValueRef::Real(n) => Value::Real(n),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// Compares values as SQLite sorts them: NULL, numbers, texts.
pub(super) fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    let cell = |value| match value {
        ValueRef::Integer(n) => Cell::Integer(n),
        ValueRef::Real(n) => Cell::Real(n),
        _ => text_value(value).map_or(Cell::Null, Cell::Text),
    };
    compare_cells(&cell(a), &cell(b), Comparison::Binary)
}

pub(super) fn function_error(message: impl Into<String>) -> Error {
    Error::UserFunctionError(message.into().into())
}

/// Returns the error that stops the statement.
pub(crate) fn interrupted_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

pub(super) fn too_big_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None)
}
