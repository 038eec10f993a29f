//! Casts of other dialects. A value that cannot be converted is NULL.

use std::sync::Arc;

use portion_text::timestamp::Timestamp;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::dates::moment;
use super::{PURE, owned_value, text_value};
use crate::usage::UnreadNumbers;

pub(super) fn register(connection: &Connection, unread: &Arc<UnreadNumbers>) -> Result<()> {
    let noted = Arc::clone(unread);
    let read_number = move |value: ValueRef<'_>| {
        let number = to_number(value);
        if let (Value::Null, ValueRef::Text(text)) = (&number, value) {
            noted.record(&String::from_utf8_lossy(text));
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
    let read = read_number.clone();
    connection.create_scalar_function("to_number", 1, PURE, move |context| Ok(read(context.get_raw(0))))?;
    // For sums and casts of SQLite, which read the first digits of other texts.
    connection.create_scalar_function("read_number", 1, PURE, move |context| {
        let value = context.get_raw(0);
        Ok(match read_number(value) {
            Value::Null => owned_value(value),
            number => number,
        })
    })?;
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

/// Signs of currencies, which may stand before or after an amount.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];
/// White space that separates thousands.
const THOUSANDS_SPACES: [char; 4] = [' ', '\u{a0}', '\u{2009}', '\u{202f}'];

/// Returns the number of an amount: `$2.50`, `1,400`, `1 400.50 €`, `-€1,400.00`, `(679.45)`, `679.45-`, `12.50 USD`.
fn amount(text: &str) -> Option<Value> {
    let is_minus = |c: char| matches!(c, '-' | '\u{2212}');
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut signs = usize::from(inner.is_some());
    let mut rest = inner.unwrap_or(text).trim();
    for strip_sign in [true, false, true] {
        let stripped = if strip_sign { rest.strip_prefix(is_minus) } else { rest.strip_prefix(CURRENCIES) };
        signs += usize::from(strip_sign && stripped.is_some());
        rest = stripped.map_or(rest, str::trim_start);
    }
    let code = rest
        .rsplit_once(' ')
        .filter(|(_, code)| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase()));
    rest = code.map_or(rest, |(before, _)| before);
    rest = rest.strip_suffix(CURRENCIES).map_or(rest, str::trim_end);
    if let Some(before) = rest.strip_suffix(is_minus) {
        (signs, rest) = (signs + 1, before.trim_end());
    }
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_grouped = |groups: &[&str]| {
        groups.iter().all(|group| is_digits(group))
            && (groups.len() == 1 || groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3))
    };
    let mut groups: Vec<&str> = whole.split(',').collect();
    if groups.len() == 1 {
        groups = whole.split(THOUSANDS_SPACES).collect();
    }
    if signs > 1 || !is_grouped(&groups) || fraction.is_some_and(|part| !is_digits(part)) {
        return None;
    }
    let sign = if signs == 1 { "-" } else { "" };
    let point = if fraction.is_some() { "." } else { "" };
    let plain = format!("{sign}{}{point}{}", groups.concat(), fraction.unwrap_or(""));
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

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::amount;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expect) in [
            ("$2.50", Some(2.5)),
            ("1,400", Some(1400.0)),
            ("-€1,400.00", Some(-1400.0)),
            ("$-471.04", Some(-471.04)),
            ("(679.45)", Some(-679.45)),
            ("(1,679)", Some(-1679.0)),
            ("679.45-", Some(-679.45)),
            ("\u{2212}5", Some(-5.0)),
            ("2 828.53", Some(2828.53)),
            ("2\u{a0}828", Some(2828.0)),
            ("12.50 USD", Some(12.5)),
            ("1,234 €", Some(1234.0)),
            ("(-5)", None),
            ("60,17", None),
            ("1.099,50 €", None),
            ("12 34", None),
            ("5 kg", None),
            ("", None),
            ("-", None),
            ("$", None),
        ] {
            let number = match amount(text) {
                Some(Value::Integer(n)) => Some(n as f64),
                Some(Value::Real(n)) => Some(n),
                _ => None,
            };
            assert_eq!(number, expect, "{text}");
        }
    }
}
