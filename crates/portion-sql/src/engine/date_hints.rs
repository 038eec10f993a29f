//! Says which columns a statement uses as dates, although they are read or sorted otherwise.

use portion_text::timestamp::month_number;

use crate::cell::Cell;
use crate::column::{ColumnDef, Redaction};
use crate::dialect::DateUse;
use crate::error::quote_identifier;
use crate::functions;
use crate::table_rows::{HINT_ROWS, TableRows, find_in_column};
use crate::value_kinds::ValueKinds;

/// Maximum texts that are looked at.
const MAX_SAMPLES: usize = 51;
/// Smallest number of seconds that is taken for a time: in 1973.
const MIN_EPOCH_SECONDS: i64 = 100_000_000;

/// Returns a hint for a column of texts of which the first ones are no dates, such as `Jun 14 15:16:01` without a year, or
/// are dates in a format that the function does not read.
pub(super) fn date_hint(rows: &dyn TableRows, at: usize, date_use: DateUse) -> Option<String> {
    let column = &rows.columns()[at];
    if column.redaction != Redaction::Unredacted {
        return None;
    }
    if !column.kinds.intersects(ValueKinds::TEXT) {
        return (date_use == DateUse::Iso).then(|| epoch_hint(rows, at)).flatten();
    }
    let samples = first_texts(rows, at);
    let first = samples.first()?;
    let name = quote_identifier(&column.name);
    let example: String = first.chars().take(30).collect();
    let example = example.replace('\'', "''");
    if date_use == DateUse::Order {
        return order_hint(rows, &name, &example, &samples);
    }
    if samples.iter().any(|text| functions::is_date(text.trim())) {
        let is_readable = date_use == DateUse::Lenient || functions::is_iso_date(first.trim());
        return (!is_readable).then(|| {
            format!("SQLite's date functions do not read '{example}': write to_timestamp({name}) in place of {name}")
        });
    }
    let advice = match numeric_date_format(&samples) {
        Some(format) => format!("is not read as a date: write {}", date_call(&name, &format)),
        None => format!("is no full date: use substr({name}, 1, 6) or REGEXP_EXTRACT"),
    };
    Some(format!("{name} has texts; '{example}' {advice}"))
}

/// Returns the first texts of a column.
fn first_texts(rows: &dyn TableRows, at: usize) -> Vec<String> {
    let mut texts = Vec::new();
    let _ = find_in_column(rows, at, HINT_ROWS, |cell| {
        if let Cell::Text(text) = cell {
            texts.push(text.into_owned());
        }
        (texts.len() == MAX_SAMPLES).then_some(())
    });
    texts
}

/// Returns a hint for a column with numbers of seconds or milliseconds, which SQLite's date functions read as days.
fn epoch_hint(rows: &dyn TableRows, at: usize) -> Option<String> {
    let first = find_in_column(rows, at, HINT_ROWS, |cell| match cell {
        Cell::Integer(n) => Some(n),
        Cell::Real(n) => Some(n as i64),
        Cell::Text(_) | Cell::Null => None,
    });
    let number = first.filter(|number| *number >= MIN_EPOCH_SECONDS)?;
    let name = quote_identifier(&rows.columns()[at].name);
    Some(format!(
        "SQLite's date functions read {number} as days: write to_timestamp({name}) in place of {name}"
    ))
}

/// Returns the call that reads texts in a format.
fn date_call(name: &str, format: &str) -> String {
    let function = if format.contains("HH24") { "to_timestamp" } else { "to_date" };
    format!("{function}({name}, '{format}')")
}

/// Returns a hint for dates whose order as texts is not their order in time.
fn order_hint(rows: &dyn TableRows, name: &str, example: &str, samples: &[String]) -> Option<String> {
    let first = samples.first()?.trim();
    let call = if functions::is_iso_date(&first.replace(',', ".")) {
        return None;
    } else if functions::is_date(first) {
        format!("to_timestamp({name})")
    } else if let Some(format) = numeric_date_format(samples) {
        date_call(name, &format)
    } else if first.get(..3).is_some_and(|month| month_number(month).is_some())
        && first.get(3..4) == Some(" ")
    {
        let is_start = |column: &ColumnDef| column.name == "start_line";
        if rows.columns().iter().any(is_start) { "start_line" } else { "_index" }.to_owned()
    } else {
        return None;
    };
    Some(format!("{name} sorts as text, not in the order of time ('{example}'): use {call}"))
}

/// Returns the format of dates such as `15.01.2024`, `15/01/2024` or `01/15/2024 10:00:00`; `None` if a text has another one.
/// The day comes first where both orders are possible.
fn numeric_date_format(samples: &[String]) -> Option<String> {
    let parts = |text: &str| -> Option<(char, [u32; 2], String)> {
        let text = text.trim();
        let (date, time) = text.split_once(' ').unwrap_or((text, ""));
        let separator = date.chars().find(|c| matches!(c, '.' | '/' | '-'))?;
        let fields: Vec<&str> = date.split(separator).collect();
        let [first, second, year] = fields[..] else { return None };
        let is_date = first.len() == 2 && second.len() == 2 && year.len() == 4 && year.parse::<u32>().is_ok();
        let time = match (time.len(), time.replace(|c: char| c.is_ascii_digit(), "").as_str()) {
            (0, _) => "",
            (5, ":") => " HH24:MI",
            (8, "::") => " HH24:MI:SS",
            _ => return None,
        };
        is_date.then(|| Some((separator, [first.parse().ok()?, second.parse().ok()?], time.to_owned())))?
    };
    let dates: Vec<_> = samples.iter().map(|text| parts(text)).collect::<Option<_>>()?;
    let (separator, _, time) = dates.first()?;
    let is_month_first = dates.iter().any(|(_, [_, second], _)| *second > 12);
    let (first, second) = if is_month_first { ("MM", "DD") } else { ("DD", "MM") };
    Some(format!("{first}{separator}{second}{separator}YYYY{time}"))
}
