//! Values of table cells and their text forms.

use std::time::Duration;

use serde_json::Value;

use crate::statistics::Estimate;
use crate::timestamp::{readable, rfc3339};

/// Value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Empty,
    Text(String),
    Texts(Vec<String>),
    /// For programs only.
    Object(Value),
    /// Microseconds since 1970.
    Timestamp(u64),
    Flag(bool),
    Count(u64),
    Number(f64),
    /// A share, 0 to 1, shown to people in per cent.
    Share(f64),
    Time(Duration),
    /// An estimate with its interval, and true if it is a share. Shown to people only.
    Estimate(Estimate, bool),
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Empty, cell)
    }

    /// Returns the JSON value. Durations are in milliseconds.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::Text(text) => Value::from(text.as_str()),
            Self::Texts(texts) => Value::from(texts.as_slice()),
            Self::Object(object) => object.clone(),
            Self::Timestamp(at) => Value::from(rfc3339(*at)),
            Self::Flag(yes) => Value::from(*yes),
            Self::Count(count) => Value::from(*count),
            Self::Number(number) | Self::Share(number) => Value::from(*number),
            Self::Time(time) => Value::from(time.as_micros() as f64 / 1e3),
            Self::Estimate(estimate, _) => Value::from(estimate.value),
        }
    }

    /// Returns the CSV field: as in JSON, without quotes.
    pub(super) fn csv(&self) -> String {
        match self {
            Self::Texts(texts) => texts.join(" "),
            other => match other.json() {
                Value::Null => String::new(),
                Value::String(text) => text,
                value => value.to_string(),
            },
        }
    }

    /// Returns the text for people.
    pub(super) fn human(&self) -> String {
        match self {
            Self::Empty => "–".to_owned(),
            Self::Texts(texts) => texts.join(" "),
            Self::Object(object) => object.to_string(),
            Self::Timestamp(at) => readable(*at),
            Self::Flag(yes) => if *yes { "yes" } else { "" }.to_owned(),
            Self::Count(count) => grouped(*count),
            Self::Number(number) => rounded(*number, false),
            Self::Share(share) => rounded(*share, true),
            Self::Time(time) => format!("{} ms", rounded(time.as_secs_f64() * 1e3, false)),
            Self::Estimate(estimate, share) => {
                let format = |value| rounded(value, *share);
                let range = estimate.range.map(|(low, high)| format!(" [{}, {}]", format(low), format(high)));
                format!("{}{}", format(estimate.value), range.unwrap_or_default())
            }
            Self::Text(text) => text.clone(),
        }
    }

    /// Returns true for text of any length.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Texts(_) | Self::Object(_))
    }

    /// Returns true if the cell is right-aligned.
    pub(super) fn is_numeric(&self) -> bool {
        !(self.is_text() || matches!(self, Self::Empty | Self::Timestamp(_) | Self::Flag(_)))
    }
}

/// Rounds to about three digits, or formats a percentage.
fn rounded(number: f64, share: bool) -> String {
    if share {
        return format!("{:.1} %", number * 100.0);
    }
    match number.abs() {
        large if large >= 999.5 => {
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(large.round() as u64))
        }
        middling if middling >= 9.95 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Formats an integer with thousands separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn human_and_programs_read_the_same() {
        let check = |cell: Cell, spoken: &str, plain: &str| {
            assert_eq!((cell.human().as_str(), cell.csv().as_str()), (spoken, plain), "{cell:?}");
        };
        check(Cell::Empty, "–", "");
        check(Cell::text("list_bookings"), "list_bookings", "list_bookings");
        check(Cell::Texts(vec!["a".to_owned(), "b".to_owned()]), "a b", "a b");
        let moment = Cell::Timestamp(1_760_000_000_123_456);
        check(moment, "2025-10-09 08:53:20Z", "2025-10-09T08:53:20.123456Z");
        check(Cell::Timestamp(u64::MAX), "9999-12-31 23:59:59Z", "9999-12-31T23:59:59.999999Z");
        check(Cell::Flag(true), "yes", "true");
        check(Cell::Count(1_234_567), "1,234,567", "1234567");
        check(Cell::Number(-1_204.3), "-1,204", "-1204.3");
        check(Cell::Number(0.125), "0.12", "0.125");
        check(Cell::Share(0.0512), "5.1 %", "0.0512");
        check(Cell::Time(Duration::from_micros(1_250)), "1.25 ms", "1.25");
        let estimate = Estimate { value: -12.5, range: Some((-20.0, -5.0)) };
        check(Cell::Estimate(estimate, false), "-12.5 [-20.0, -5.00]", "-12.5");
    }
}
