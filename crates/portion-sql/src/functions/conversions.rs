//! Casts of other dialects. A value that cannot be converted is NULL.

use portion_text::timestamp::{CivilDate, MONTHS, Timestamp, WEEKDAYS, digits, month_number};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::dates::moment;
use super::{PURE, function_error, text_value};

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
    connection.create_scalar_function("to_boolean", 1, PURE, |context| Ok(to_boolean(context.get_raw(0))))?;
    connection.create_scalar_function("to_date", 1, PURE, |context| {
        Ok(moment(context, 0).map(Timestamp::write_date))
    })?;
    for (name, count) in [("to_date", 2), ("strptime", 2)] {
        connection.create_scalar_function(name, count, PURE, |context| {
            let (text, format) = (text_value(context.get_raw(0)), text_value(context.get_raw(1)));
            let Some((text, format)) = text.zip(format) else { return Ok(None) };
            Ok(parse_with_format(&text, &format)?.map(Timestamp::write))
        })?;
    }
    for name in ["to_timestamp", "from_unixtime"] {
        connection.create_scalar_function(name, 1, PURE, |context| {
            let moment = moment(context, 0);
            Ok(moment.map(|moment| Timestamp { is_date: false, ..moment }.write()))
        })?;
    }
    for name in ["to_char", "date_format"] {
        connection.create_scalar_function(name, 2, PURE, |context| {
            let (Some(moment), Some(format)) = (moment(context, 0), text_value(context.get_raw(1))) else {
                return Ok(None);
            };
            write_with_format(moment, &format).map(Some)
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
                    _ => Value::Null,
                },
            }
        }
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

/// Parts of a format, with and without `%`.
const PARTS: [(&str, &str); 16] = [
    ("%Y", "YYYY"),
    ("%m", "MM"),
    ("%d", "DD"),
    ("%H", "HH24"),
    ("%i", "MI"),
    ("%M", "MI"),
    ("%S", "SS"),
    ("%s", "SS"),
    ("%b", "Mon"),
    ("%B", "Month"),
    ("%y", "YY"),
    ("%j", "DDD"),
    ("%a", "Dy"),
    ("%A", "Day"),
    ("%W", "IW"),
    ("%q", "Q"),
];

/// Splits a part off the beginning of a format. Returns its name with `%`, and the rest.
fn split_format(format: &str) -> Option<(&'static str, &str)> {
    if format.starts_with('%') {
        let (name, _) = PARTS.iter().find(|(name, _)| format.starts_with(name))?;
        return Some((name, &format[2..]));
    }
    // The longest name first.
    let mut named: Vec<_> = PARTS.iter().filter(|(_, name)| format.starts_with(name)).collect();
    named.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    named.first().map(|(part, name)| (*part, &format[name.len()..]))
}

/// Maximum bytes of a format.
const MAX_FORMAT_BYTES: usize = 200;

fn check_length(format: &str) -> Result<()> {
    if format.len() <= MAX_FORMAT_BYTES {
        Ok(())
    } else {
        Err(function_error("the format of a date is too long"))
    }
}

fn write_with_format(moment: Timestamp, format: &str) -> Result<String> {
    check_length(format)?;
    let mysql = format.contains("%i") || format.contains("%s");
    let (mut out, mut rest) = (String::new(), format);
    let (CivilDate { year, month, day }, second) = (moment.date(), moment.second_of_day());
    let name_of = |names: &[&str], at: i64| names.get(at as usize).copied().unwrap_or_default().to_owned();
    let weekday = (moment.days() + 4).rem_euclid(7);
    while let Some(first) = rest.chars().next() {
        let Some((part, after)) = split_format(rest) else {
            if first == '%' {
                return Err(function_error(format!(
                    "the format {format} is not known; use strftime('%Y-%m', d)"
                )));
            }
            if first != '"' {
                out.push(first);
            }
            rest = &rest[first.len_utf8()..];
            continue;
        };
        rest = after;
        let text = match part {
            "%Y" => format!("{year:04}"),
            "%y" => format!("{:02}", year % 100),
            "%m" => format!("{month:02}"),
            "%d" => format!("{day:02}"),
            "%H" => format!("{:02}", second / 3_600),
            "%M" if mysql => name_of(&MONTHS, month - 1),
            "%i" | "%M" => format!("{:02}", second / 60 % 60),
            "%S" | "%s" => format!("{:02}", second % 60),
            "%b" => name_of(&MONTHS, month - 1)[..3].to_owned(),
            "%B" => name_of(&MONTHS, month - 1),
            "%a" => name_of(&WEEKDAYS, weekday)[..3].to_owned(),
            "%A" => name_of(&WEEKDAYS, weekday),
            "%j" => format!("{:03}", moment.days() - CivilDate { year, month: 1, day: 1 }.days() + 1),
            "%q" => ((month - 1) / 3 + 1).to_string(),
            _ => return Err(function_error(format!("{part} is not known; use strftime('%W', d)"))),
        };
        out.push_str(&text);
    }
    Ok(out)
}

/// Parses a date by a format. A text of another form is NULL.
fn parse_with_format(text: &str, format: &str) -> Result<Option<Timestamp>> {
    check_length(format)?;
    let (mut year, mut month, mut day) = (None, 1, 1);
    let (mut hour, mut minute, mut second, mut is_date) = (0, 0, 0, true);
    let (mut text, mut rest) = (text.trim(), format);
    while let Some(first) = rest.chars().next() {
        let Some((part, after)) = split_format(rest) else {
            if first == '%' {
                return Err(function_error(format!(
                    "the format {format} is not known; use %Y %m %d %H %M %S %b"
                )));
            }
            let Some(left) = text.strip_prefix(first) else { return Ok(None) };
            (text, rest) = (left, &rest[first.len_utf8()..]);
            continue;
        };
        rest = after;
        if matches!(part, "%b" | "%B") {
            let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
            let Some(number) = month_number(&text[..end]) else { return Ok(None) };
            (month, text) = (number, &text[end..]);
            continue;
        }
        let width = if part == "%Y" { 4 } else { 2 };
        let length = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
        let Some((number, left)) = digits(text, length).filter(|_| length > 0) else { return Ok(None) };
        text = left;
        match part {
            "%Y" => year = Some(number),
            "%y" => year = Some(if number < 70 { 2_000 + number } else { 1_900 + number }),
            "%m" => month = number,
            "%d" => day = number,
            "%H" => (hour, is_date) = (number, false),
            "%M" | "%i" => minute = number,
            "%S" | "%s" => second = number,
            _ => return Ok(None),
        }
    }
    let date = CivilDate { year: year.unwrap_or(1970), month, day };
    let is_valid = (1..=12).contains(&month)
        && (1..=date.days_of_month()).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let moment = Timestamp::from_days(date.days());
    let seconds = moment.seconds + hour * 3_600 + minute * 60 + second;
    Ok(is_valid.then_some(Timestamp { seconds, is_date, ..moment }))
}
