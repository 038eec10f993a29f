//! SQL functions of the connection.
//!
//! SQLite checks the deadline between the steps of a statement, never inside a function. So built-in
//! functions that may take the product of two lengths (`instr`, `replace`, `trim`, `LIKE`, `GLOB`) are
//! replaced by functions that are linear or check the deadline. Functions of other dialects are added.

mod aggregates;
mod conversions;
mod dates;
mod moment;
mod pattern;
mod regexp;
mod samples;
mod strings;
mod text;
mod units;

use std::borrow::Cow;
use std::sync::Arc;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};

use crate::limits::{QueryDeadline, QueryLimits};

/// Returns true if a text is a date or a time.
pub(crate) fn is_date(text: &str) -> bool {
    moment::Moment::parse(text).is_some()
}

/// Deterministic and without side effects.
const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Functions of one number, and of two.
type UnaryFn = fn(f64) -> f64;
type BinaryFn = fn(f64, f64) -> f64;

/// Mathematical functions that are not built in.
const UNARY_MATH: [(&str, UnaryFn); 10] = [
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
    ("sqrt", f64::sqrt),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
];
const BINARY_MATH: [(&str, BinaryFn); 3] = [("pow", f64::powf), ("power", f64::powf), ("mod", |a, b| a % b)];

/// Registers the functions with a connection.
pub(crate) fn register(
    connection: &Connection,
    clock: &Arc<QueryDeadline>,
    limits: &QueryLimits,
) -> Result<()> {
    pattern::register(connection, clock)?;
    regexp::register(connection, clock, limits.max_value_bytes)?;
    strings::register(connection, limits.max_value_bytes)?;
    text::register(connection, limits.max_value_bytes)?;
    dates::register(connection)?;
    conversions::register(connection)?;
    aggregates::register(connection)?;
    samples::register(connection, clock, limits)?;
    for (name, function) in UNARY_MATH {
        connection.create_scalar_function(name, 1, PURE, move |context| {
            Ok(number_argument(context, 0).map(function).filter(|n| n.is_finite()))
        })?;
    }
    for (name, function) in BINARY_MATH {
        connection.create_scalar_function(name, 2, PURE, move |context| {
            let both = number_argument(context, 0).zip(number_argument(context, 1));
            Ok(both.map(|(a, b)| function(a, b)).filter(|n| n.is_finite()))
        })?;
    }
    Ok(())
}

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

fn function_error(message: impl Into<String>) -> Error {
    Error::UserFunctionError(message.into().into())
}

fn interrupted_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

fn too_big_error() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None)
}
