//! Units of time.

use super::function_error;

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
