//! SQL functions of the connection.
//!
//! SQLite checks the deadline between the steps of a statement, never inside a function. So built-in
//! functions that may take the product of two lengths (`instr`, `replace`, `trim`, `LIKE`, `GLOB`) are
//! replaced by functions that are linear or check the deadline. Functions of other dialects are added.

mod aggregates;
mod compared;
mod conversions;
mod dates;
mod formats;
mod pattern;
mod regexp;
mod samples;
mod text;

pub(crate) use conversions::is_number;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use portion_text::timestamp::Timestamp;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};

use crate::cell::Cell;
use crate::column::Comparison;
use crate::index::compare_cells;
use crate::limits::{QueryDeadline, QueryLimits};
use crate::usage::StatementUsage;

/// Returns true if a text is a date or a time.
pub(crate) fn is_date(text: &str) -> bool {
    Timestamp::parse(text).is_some()
}

/// Returns true if a text is a date or a time in ISO 8601 as SQLite reads it: without a comma.
pub(crate) fn is_iso_date(text: &str) -> bool {
    Timestamp::parse_iso(text).is_some() && !text.contains(',')
}

/// Functions of one number, and of two.
type UnaryFn = fn(f64) -> f64;
type BinaryFn = fn(f64, f64) -> f64;

/// Mathematical functions that are not built in.
const UNARY_MATH: [(&str, UnaryFn); 16] = [
    ("ceil ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
    ("sqrt", f64::sqrt),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log log10", f64::log10),
    ("log2", f64::log2),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("radians", f64::to_radians),
    ("degrees", f64::to_degrees),
];
const BINARY_MATH: [(&str, BinaryFn); 3] =
    [("pow power", f64::powf), ("mod", |a, b| a % b), ("atan2", f64::atan2)];

/// Registers the functions with a connection.
pub(crate) fn register(
    registry: Registry<'_>,
    deadline: &Arc<QueryDeadline>,
    limits: &QueryLimits,
    usage: &Arc<StatementUsage>,
) -> Result<()> {
    pattern::register(registry, deadline)?;
    regexp::register(registry, deadline, limits.max_value_bytes)?;
    text::register(registry, limits.max_value_bytes)?;
    dates::register(registry, usage)?;
    conversions::register(registry, usage)?;
    formats::register(registry, usage)?;
    aggregates::register(registry)?;
    compared::register(registry, usage)?;
    samples::register(registry, deadline, limits)?;
    for (names, function) in UNARY_MATH {
        let is_whole = ["ceil ceiling", "floor", "trunc"].contains(&names);
        add(registry, names, 1, move |context| {
            if let (true, ValueRef::Integer(n)) = (is_whole, context.get_raw(0)) {
                return Ok(Value::Integer(n));
            }
            Ok(number_argument(context, 0).map(function).filter(|n| n.is_finite()).into())
        })?;
    }
    add(registry, "pi", 0, |_| Ok(std::f64::consts::PI))?;
    for (names, function) in BINARY_MATH {
        add(registry, names, 2, move |context| {
            if let ("mod", ValueRef::Integer(a), ValueRef::Integer(b)) =
                (names, context.get_raw(0), context.get_raw(1))
            {
                // -1 overflows only for the smallest integer, where the remainder is 0.
                return Ok(if b == 0 { Value::Null } else { Value::Integer(a.checked_rem(b).unwrap_or(0)) });
            }
            let both = number_argument(context, 0).zip(number_argument(context, 1));
            Ok(both.map(|(a, b)| function(a, b)).filter(|n| n.is_finite()).into())
        })?;
    }
    Ok(())
}

/// Deterministic and without side effects.
const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
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
    fn wanted_of(self, names: &str) -> impl Iterator<Item = &str> {
        names.split(' ').filter(move |name| self.wanted.is_none_or(|wanted| wanted.contains(*name)))
    }
}

/// Registers a function under each of its names.
fn add<T: Into<Value>>(
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
fn number_argument(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Integer(n) => Some(n as f64),
        ValueRef::Real(n) => Some(n),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// Returns a value as text; `None` for NULL.
fn text_value(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string().into()),
        ValueRef::Real(n) => Some(format!("{n:?}").into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// Returns a copy of a value. Bytes that are no UTF-8 are replaced.
fn owned_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Integer(n),
        ValueRef::Real(n) => Value::Real(n),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// Compares values as SQLite sorts them: NULL, numbers, texts.
fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    let cell = |value| match value {
        ValueRef::Integer(n) => Cell::Integer(n),
        ValueRef::Real(n) => Cell::Real(n),
        _ => text_value(value).map_or(Cell::Null, Cell::Text),
    };
    compare_cells(&cell(a), &cell(b), Comparison::Binary)
}

fn function_error(message: impl Into<String>) -> Error {
    Error::UserFunctionError(message.into().into())
}

fn interrupted_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

fn too_big_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None)
}
