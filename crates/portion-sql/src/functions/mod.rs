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
pub(crate) mod text;
mod values;

pub(crate) use conversions::is_number;

use std::sync::Arc;

use portion_text::timestamp::Timestamp;
use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};

use crate::limits::{QueryDeadline, QueryLimits};
use crate::usage::StatementUsage;
pub(crate) use values::{Registry, interrupted_error};
use values::{add, number_argument};

/// Returns true if a text is a date or a time.
pub(crate) fn is_date(text: &str) -> bool {
    Timestamp::parse(text).is_some()
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
