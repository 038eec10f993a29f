//! Casts of other dialects. A value that cannot be converted is NULL.

use std::sync::Arc;

use portion_text::column_form::{CellNumber, amount};
use portion_text::timestamp::Timestamp;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::dates::moment;
use super::{PURE, text_value};
use crate::usage::StatementUsage;

pub(super) fn register(connection: &Connection, usage: &Arc<StatementUsage>) -> Result<()> {
    let noted = Arc::clone(usage);
    let read_number = move |value: ValueRef<'_>| {
        let number = to_number(value);
        if let (Value::Null, ValueRef::Text(text)) = (&number, value) {
            noted.unread.record(&String::from_utf8_lossy(text));
        }
        number
    };
    let read = read_number.clone();
    connection.create_scalar_function("to_integer", 1, PURE, move |context| {
        Ok(match read(context.get_raw(0)) {
            Value::Real(n) if n.is_finite() && n.abs() < 9.2e18 => Value::Integer(n.round() as i64),
            Value::Integer(n) => Value::Integer(n),
            _ => Value::Null,
        })
    })?;
    let read = read_number.clone();
    connection.create_scalar_function("to_real", 1, PURE, move |context| {
        Ok(match read(context.get_raw(0)) {
            Value::Integer(n) => Value::Real(n as f64),
            other => other,
        })
    })?;
    connection
        .create_scalar_function("to_number", 1, PURE, move |context| Ok(read_number(context.get_raw(0))))?;
    connection.create_scalar_function("to_boolean", 1, PURE, |context| Ok(to_boolean(context.get_raw(0))))?;
    connection.create_scalar_function("to_date", 1, PURE, |context| {
        Ok(moment(context, 0).map(Timestamp::write_date))
    })?;
    for name in ["to_timestamp", "from_unixtime"] {
        connection.create_scalar_function(name, 1, PURE, |context| {
            let moment = moment(context, 0);
            Ok(moment.map(|moment| Timestamp { is_date: false, ..moment }.write()))
        })?;
    }
    for name in ["epoch", "unix_timestamp"] {
        connection
            .create_scalar_function(name, 1, PURE, |context| Ok(moment(context, 0).map(|m| m.seconds)))?;
    }
    Ok(())
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

fn number_value(number: CellNumber) -> Value {
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
