//! Says which columns a statement uses as something that their values are not, and what to write instead.

use portion_text::column_form::{ColumnForm, plain_number};
use portion_text::timestamp::month_number;

use super::hints;
use super::query_run::QueryRun;
use crate::cell::Cell;
use crate::column::{ColumnDef, Redaction};
use crate::dialect::{self, ColumnUse};
use crate::error::quote_identifier;
use crate::functions;
use crate::table::OpenTable;
use crate::table_rows::HINT_ROWS;
use crate::value_kinds::ValueKinds;

/// Maximum texts that are looked at for a date, and characters of an example.
const MAX_SAMPLES: usize = 51;
const MAX_EXAMPLE_CHARS: usize = 30;
/// Smallest number of seconds that is taken for a time: in 1973.
const MIN_EPOCH_SECONDS: i64 = 100_000_000;

/// Returns a hint for the first column that is used as a number, a date or a boolean, but has other values. `renamed`: names
/// that were read as others.
pub(super) fn column_hint(run: &QueryRun<'_>, renamed: &[(String, String)]) -> Option<String> {
    dialect::column_uses(run.tree()?).into_iter().find_map(|(name, column_use)| {
        if run.deadline.is_over() {
            return None;
        }
        run.columns_named(&name, renamed).into_iter().find_map(|(table, at)| {
            let column = &table.columns()[at];
            // The values of leaves have types of their own, and statements select those of one kind.
            if column.redaction != Redaction::Unredacted || column.is_written {
                return None;
            }
            match column_use {
                ColumnUse::SqliteDate | ColumnUse::Date => date_hint(&table, at, column_use),
                ColumnUse::Range => order_hint(&table, at),
                ColumnUse::Order => {
                    number_hint(run, &table, at, column_use).or_else(|| order_hint(&table, at))
                }
                ColumnUse::Equal | ColumnUse::Number | ColumnUse::Sum => {
                    number_hint(run, &table, at, column_use)
                }
            }
        })
    })
}

/// Counts of the values of a column by what they are.
#[derive(Default)]
struct ValueCounts {
    numbers: usize,
    texts: usize,
    /// Least and most bytes of the texts that are numbers; the least is 0 if one is not digits alone.
    digits: Option<(usize, usize)>,
    /// The first text that is no number.
    example: Option<String>,
}

impl ValueCounts {
    fn of(table: &OpenTable, at: usize) -> Self {
        let mut counts = Self::default();
        let _ = table.find_in_column(at, HINT_ROWS, |cell| {
            match cell {
                Cell::Integer(_) | Cell::Real(_) => counts.numbers += 1,
                Cell::Text(text) if functions::is_number(&text) => {
                    counts.numbers += 1;
                    let is_digits = text.bytes().all(|b| b.is_ascii_digit());
                    let (least, most) = counts.digits.unwrap_or((usize::MAX, 0));
                    let least = least.min(if is_digits { text.len() } else { 0 });
                    counts.digits = Some((least, most.max(text.len())));
                }
                Cell::Text(text) => {
                    counts.texts += 1;
                    counts.example.get_or_insert_with(|| shortened(&text));
                }
                Cell::Null => {}
            }
            None::<()>
        });
        counts
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_EXAMPLE_CHARS).collect::<String>().replace('\'', "''")
}

/// Returns a hint for a column that is used as a number.
fn number_hint(run: &QueryRun<'_>, table: &OpenTable, at: usize, column_use: ColumnUse) -> Option<String> {
    let column = &table.columns()[at];
    let name = quote_identifier(&column.name);
    let is_computed = column_use != ColumnUse::Order;
    if column.kinds.intersects(ValueKinds::CONTAINER) {
        if column.kinds.intersects(ValueKinds::NUMERIC) || !is_computed {
            return None;
        }
        return Some(if column.kinds.intersects(ValueKinds::ARRAY) {
            format!("{name} has arrays; {}", hints::array_hint(run.catalogue, Some(&column.name)))
        } else {
            format!("{name} has objects: use a member of them")
        });
    }
    if matches!(column.form, ColumnForm::Amount | ColumnForm::DecimalComma) {
        return written_hint(table, at, &name);
    }
    // A number equals the texts that are written for it.
    if column_use == ColumnUse::Equal
        || !column.kinds.intersects(ValueKinds::TEXT)
        || matches!(column.form, ColumnForm::Time(_) | ColumnForm::Boolean)
    {
        return None;
    }
    let counts = ValueCounts::of(table, at);
    let example = counts.example;
    if counts.numbers == 0 {
        let example = example.filter(|_| is_computed)?;
        let has_digits = example.contains(|c: char| c.is_ascii_digit()) && !example.contains(',');
        let advice = format!(": use regexp_extract({name}, '-?[0-9.]+')::numeric");
        return Some(format!(
            "{name} is text that is no number ('{example}'){}",
            if has_digits { &advice } else { "" }
        ));
    }
    // Digits of one length are sorted alike as texts and as numbers.
    if !is_computed && counts.digits.is_some_and(|(least, most)| least == most) {
        return None;
    }
    // Texts of one form are numbers.
    if counts.texts == 0 && column.form == ColumnForm::Number || !is_computed && counts.texts > counts.numbers
    {
        return None;
    }
    let kind = if column.form == ColumnForm::Number || column.kinds.intersects(ValueKinds::NUMERIC) {
        "numbers and text"
    } else {
        "text"
    };
    let others = example.map_or_else(String::new, |example| {
        let noun = if counts.texts == 1 { "value is" } else { "values are" };
        format!("; {} {noun} no number ('{example}')", counts.texts)
    });
    Some(format!("{name} is {kind}{others}: use {name}::numeric"))
}

/// Returns a hint that says how the texts of a column are read as numbers.
fn written_hint(table: &OpenTable, at: usize, name: &str) -> Option<String> {
    let form = table.columns()[at].form;
    let example = table.find_written(at, HINT_ROWS, |text| plain_number(text) != form.number(text))?;
    let number = match Cell::from(form.number(&example)?) {
        Cell::Integer(n) => n.to_string(),
        Cell::Real(n) => n.to_string(),
        Cell::Null | Cell::Text(_) => return None,
    };
    Some(format!("{name} is read as numbers: '{}' is {number}", shortened(&example)))
}

/// Returns a hint for a column that is read as a date, although its values are none, or are none for SQLite.
fn date_hint(table: &OpenTable, at: usize, column_use: ColumnUse) -> Option<String> {
    let column = &table.columns()[at];
    let name = quote_identifier(&column.name);
    if !column.kinds.intersects(ValueKinds::TEXT) {
        let first = table.find_in_column(at, HINT_ROWS, |cell| match cell {
            Cell::Integer(n) => Some(n),
            Cell::Real(n) => Some(n as i64),
            Cell::Text(_) | Cell::Null => None,
        });
        let number = first.filter(|n| column_use == ColumnUse::SqliteDate && *n >= MIN_EPOCH_SECONDS)?;
        return Some(format!(
            "SQLite's date functions read {number} as days: write to_timestamp({name}) in place of {name}"
        ));
    }
    let samples = first_texts(table, at);
    let first = samples.first()?;
    let example = shortened(first);
    if samples.iter().any(|text| functions::is_date(text.trim())) {
        let is_readable = column_use == ColumnUse::Date || functions::is_iso_date(first.trim());
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
fn first_texts(table: &OpenTable, at: usize) -> Vec<String> {
    let mut texts = Vec::new();
    let _ = table.find_in_column(at, HINT_ROWS, |cell| {
        if let Cell::Text(text) = cell {
            texts.push(text.into_owned());
        }
        (texts.len() == MAX_SAMPLES).then_some(())
    });
    texts
}

/// Returns the call that reads texts in a format.
fn date_call(name: &str, format: &str) -> String {
    let function = if format.contains("HH24") { "to_timestamp" } else { "to_date" };
    format!("{function}({name}, '{format}')")
}

/// Returns a hint for dates whose order as texts is not their order in time, and is not known from them.
fn order_hint(table: &OpenTable, at: usize) -> Option<String> {
    let column = &table.columns()[at];
    if column.form != ColumnForm::Text || !column.kinds.intersects(ValueKinds::TEXT) {
        return None;
    }
    let samples = first_texts(table, at);
    let first = samples.first()?.trim();
    let name = quote_identifier(&column.name);
    let call = if let Some(format) = numeric_date_format(&samples) {
        date_call(&name, &format)
    } else if first.get(..3).is_some_and(|month| month_number(month).is_some())
        && first.get(3..4) == Some(" ")
    {
        let is_start = |column: &ColumnDef| column.name == "start_line";
        if table.columns().iter().any(is_start) { "start_line" } else { "_index" }.to_owned()
    } else {
        return None;
    };
    Some(format!("{name} sorts as text, not in the order of time ('{}'): use {call}", shortened(first)))
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
