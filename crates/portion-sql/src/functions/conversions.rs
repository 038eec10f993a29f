//! Casts of other dialects, and units of time. A value that cannot be converted is NULL.

use std::sync::Arc;

use portion_text::column_form::{CellNumber, amount};
use portion_text::timestamp::Timestamp;
use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};

use super::dates::DateFunctions;
use super::values::{Registry, add, function_error, text_value};
use crate::usage::StatementUsage;

/// Converts a number.
type Convert = fn(Value) -> Value;

pub(super) fn register(registry: Registry<'_>, usage: &Arc<StatementUsage>) -> Result<()> {
    let conversions: [(&str, Convert); 3] = [
        ("to_integer", |number| match number {
            Value::Real(n) if n.is_finite() && n.abs() < 9.2e18 => Value::Integer(n.round_ties_even() as i64),
            Value::Integer(n) => Value::Integer(n),
            _ => Value::Null,
        }),
        ("to_real", |number| if let Value::Integer(n) = number { Value::Real(n as f64) } else { number }),
        ("to_number", |number| number),
    ];
    for (name, convert) in conversions {
        let usage = Arc::clone(usage);
        add(registry, name, 1, move |context| {
            let number = to_number(context.get_raw(0));
            if let (Value::Null, ValueRef::Text(text)) = (&number, context.get_raw(0)) {
                usage.unread.record(&String::from_utf8_lossy(text));
            }
            Ok(convert(number))
        })?;
    }
    add(registry, "to_boolean", 1, |context| Ok(to_boolean(context.get_raw(0))))?;
    let dates = DateFunctions { registry, usage };
    dates.add("to_date", 1, |call| Ok(call.moment(0).map(Timestamp::write_date)))?;
    dates.add("to_timestamp from_unixtime", 1, |call| {
        Ok(call.moment(0).map(|moment| Timestamp { is_date: false, ..moment }.write()))
    })?;
    dates.add("epoch unix_timestamp", 1, |call| Ok(call.moment(0).map(|moment| moment.seconds)))
}

fn to_number(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(n) => Value::Integer(n),
        ValueRef::Real(n) => Value::Real(n),
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Text(_) => {
            let text = text_value(value).unwrap_or_default();
            let text = text.trim();
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(n), _) => Value::Integer(n),
                (_, Ok(n)) if n.is_finite() => Value::Real(n),
                _ => match text.to_ascii_lowercase().as_str() {
                    "true" => Value::Integer(1),
                    "false" => Value::Integer(0),
                    _ => amount(text).map_or(Value::Null, number_value),
                },
            }
        }
    }
}

/// Returns the number of a text, as a cast to `numeric` reads it.
pub(crate) fn is_number(text: &str) -> bool {
    !matches!(to_number(ValueRef::Text(text.as_bytes())), Value::Null)
}

pub(super) fn number_value(number: CellNumber) -> Value {
    match number {
        CellNumber::Integer(n) => Value::Integer(n),
        CellNumber::Real(n) => Value::Real(n),
    }
}

fn to_boolean(value: ValueRef<'_>) -> Option<bool> {
    match value {
        ValueRef::Integer(n) => Some(n != 0),
        ValueRef::Real(n) => Some(n != 0.0),
        ValueRef::Null | ValueRef::Blob(_) => None,
        ValueRef::Text(_) => match text_value(value)?.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
    }
}

/// A unit of time, without the plural.
pub(super) fn unit_name(text: &str) -> String {
    let name = text.trim().to_ascii_lowercase();
    let name = match name.as_str() {
        "yy" | "yyyy" | "yr" | "y" => "year",
        "qq" | "q" => "quarter",
        "mm" | "mon" => "month",
        "wk" | "ww" | "w" | "isoweek" => "week",
        "dd" | "d" => "day",
        "hh" | "h" | "hr" => "hour",
        "mi" | "n" | "min" => "minute",
        "ss" | "s" | "sec" => "second",
        "dayofyear" => "doy",
        name => name.strip_suffix('s').unwrap_or(name),
    };
    name.to_owned()
}

pub(super) fn is_unit(name: &str) -> bool {
    unit_months(name).is_some() || unit_seconds(name).is_some()
}

pub(super) fn unit_months(unit: &str) -> Option<i64> {
    Some(match unit {
        "month" => 1,
        "quarter" => 3,
        "year" => 12,
        "decade" => 120,
        "century" => 1_200,
        _ => return None,
    })
}

pub(super) fn unit_seconds(unit: &str) -> Option<i64> {
    Some(match unit {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        "week" => 604_800,
        _ => return None,
    })
}

pub(super) fn unknown_unit(unit: &str) -> rusqlite::Error {
    let unit: String = unit.chars().take(40).collect();
    function_error(format!(
        "{unit} is not a unit of time; use year, quarter, month, week, day, hour, minute, second"
    ))
}
