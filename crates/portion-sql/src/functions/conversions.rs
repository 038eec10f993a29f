//! Casts of other dialects. A value that cannot be converted is NULL.

use portion_text::timestamp::Timestamp;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::dates::moment;
use super::{PURE, owned_value, text_value};

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("to_integer", 1, PURE, |context| {
        Ok(match to_number(context.get_raw(0)) {
            Value::Real(n) if n.is_finite() && n.abs() < 9.2e18 => Value::Integer(n.round() as i64),
            Value::Integer(n) => Value::Integer(n),
            _ => Value::Null,
        })
    })?;
    connection.create_scalar_function("to_real", 1, PURE, |context| {
        Ok(match to_number(context.get_raw(0)) {
            Value::Integer(n) => Value::Real(n as f64),
            other => other,
        })
    })?;
    connection.create_scalar_function("to_number", 1, PURE, |context| Ok(to_number(context.get_raw(0))))?;
    connection.create_scalar_function("as_number", 1, PURE, |context| {
        let value = context.get_raw(0);
        Ok(match to_number(value) {
            Value::Null => owned_value(value),
            number => number,
        })
    })?;
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
                    _ => amount(text).unwrap_or(Value::Null),
                },
            }
        }
    }
}

/// Returns the number of a text, as a cast to `numeric` reads it.
pub(crate) fn is_number(text: &str) -> bool {
    !matches!(to_number(ValueRef::Text(text.as_bytes())), Value::Null)
}

/// Returns the number of an amount: `$2.50`, `1,400`, `-€1,400.00`.
fn amount(text: &str) -> Option<Value> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let rest = rest.strip_prefix(['$', '€', '£', '¥']).unwrap_or(rest).trim_start();
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let groups: Vec<&str> = whole.split(',').collect();
    let is_grouped = groups.iter().all(|group| is_digits(group))
        && (groups.len() == 1 || groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3));
    if !is_grouped || fraction.is_some_and(|part| !is_digits(part)) {
        return None;
    }
    let plain = format!(
        "{sign}{}{}{}",
        groups.concat(),
        if fraction.is_some() { "." } else { "" },
        fraction.unwrap_or("")
    );
    plain.parse().map(Value::Integer).ok().or_else(|| plain.parse().map(Value::Real).ok())
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
