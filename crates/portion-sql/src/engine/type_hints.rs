//! Says which columns with texts a statement uses as numbers or as dates.

use std::sync::Arc;

use crate::cell::Cell;
use crate::column::Redaction;
use crate::dialect::{self, DateUse, NumberUse};
use crate::engine::QueryRun;
use crate::error::quote_identifier;
use crate::functions;
use crate::table_rows::{ColumnSet, TableRows};
use crate::value_kinds::ValueKinds;

/// Maximum rows that are read, and columns that are named.
const MAX_ROWS: usize = 5_000;
const MAX_COLUMNS: usize = 3;
/// Maximum dates after the first one that are looked at.
const MAX_DATE_SAMPLES: usize = 50;

/// Returns a hint for each column with numbers in texts that is compared with a number, added up or sorted.
pub(super) fn type_hints(run: &QueryRun<'_>, sql: &str) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for (name, number_use) in dialect::number_uses(sql) {
        if hints.len() >= MAX_COLUMNS || run.deadline.is_over() {
            break;
        }
        if let Some(hint) = type_hint(run, &name, number_use)
            && !hints.contains(&hint)
        {
            hints.push(hint);
        }
    }
    for (name, date_use) in dialect::date_uses(sql) {
        if hints.len() >= MAX_COLUMNS || run.deadline.is_over() {
            break;
        }
        if let Some(hint) = date_hint(run, &name, date_use)
            && !hints.contains(&hint)
        {
            hints.push(hint);
        }
    }
    hints
}

/// Returns the columns that a name may mean: of the table whose name or alias comes before it, else of all tables that the
/// statement reads.
fn columns_named<'a>(run: &'a QueryRun<'_>, name: &str) -> Vec<(&'a Arc<dyn TableRows>, usize)> {
    let uses = dialect::table_uses(run.query.sql);
    let (prefix, tail) = name.split_once('.').unwrap_or(("", name));
    let qualifier = uses.iter().find(|used| used.alias.eq_ignore_ascii_case(prefix));
    let tables: Vec<_> = match qualifier.map(|used| (used.is_call, run.catalogue.table(&used.table))) {
        Some((true, _)) => Vec::new(),
        Some((false, Some(table))) => vec![table],
        _ => uses.iter().filter_map(|used| run.catalogue.table(&used.table)).collect(),
    };
    let is_named = |column: &str| column.eq_ignore_ascii_case(name) || column.eq_ignore_ascii_case(tail);
    let opened = tables.into_iter().filter_map(|table| table.opened_rows());
    opened
        .filter_map(|rows| Some((rows, rows.columns().iter().position(|column| is_named(&column.name))?)))
        .collect()
}

/// Returns a hint for a column of texts of which the first ones are no dates, such as `Jun 14 15:16:01` without a year, or
/// are dates in a format that the function does not read.
fn date_hint(run: &QueryRun<'_>, name: &str, date_use: DateUse) -> Option<String> {
    columns_named(run, name).into_iter().find_map(|(rows, at)| {
        let column = &rows.columns()[at];
        if !column.kinds.intersects(ValueKinds::TEXT) || column.redaction != Redaction::Unredacted {
            return None;
        }
        let mut row = rows.new_row(ColumnSet(1 << at.min(63)));
        let mut texts = (0..rows.len().min(MAX_ROWS)).filter_map(|index| {
            rows.read_row(index, &mut row);
            match rows.cell(&row, at) {
                Cell::Text(text) => Some(text.into_owned()),
                _ => None,
            }
        });
        let first = texts.next()?;
        let samples: Vec<String> = std::iter::once(first.clone()).chain(texts.take(MAX_DATE_SAMPLES)).collect();
        let name = quote_identifier(&column.name);
        let example: String = first.chars().take(30).collect();
        let example = example.replace('\'', "''");
        if samples.iter().any(|text| functions::is_date(text.trim())) {
            let is_readable = date_use == DateUse::Lenient || functions::is_iso_date(first.trim());
            return (!is_readable).then(|| {
                format!("SQLite's date functions do not read '{example}': write to_timestamp({name}) in place of {name}")
            });
        }
        let advice = match numeric_date_format(&samples) {
            Some(format) => format!("is not read as a date: write to_date({name}, '{format}')"),
            None => format!("is no full date: use substr({name}, 1, 6) or REGEXP_EXTRACT"),
        };
        Some(format!("{name} has texts; '{example}' {advice}"))
    })
}

/// Returns the format of dates such as `15.01.2024`, `15/01/2024` or `01/15/2024`; `None` if a text has another one. Where both
/// orders are possible, the day comes first.
fn numeric_date_format(samples: &[String]) -> Option<String> {
    let parts = |text: &str| -> Option<(char, [u32; 2])> {
        let separator = text.chars().find(|c| matches!(c, '.' | '/' | '-'))?;
        let fields: Vec<&str> = text.trim().split(separator).collect();
        let [first, second, year] = fields[..] else { return None };
        let is_date = first.len() == 2 && second.len() == 2 && year.len() == 4 && year.parse::<u32>().is_ok();
        is_date.then(|| Some((separator, [first.parse().ok()?, second.parse().ok()?])))?
    };
    let dates: Vec<(char, [u32; 2])> = samples.iter().map(|text| parts(text)).collect::<Option<_>>()?;
    let (separator, _) = *dates.first()?;
    let is_month_first = dates.iter().any(|(_, [_, second])| *second > 12);
    let (first, second) = if is_month_first { ("MM", "DD") } else { ("DD", "MM") };
    Some(format!("{first}{separator}{second}{separator}YYYY"))
}

fn type_hint(run: &QueryRun<'_>, name: &str, number_use: NumberUse) -> Option<String> {
    columns_named(run, name).into_iter().find_map(|(rows, at)| {
        let column = &rows.columns()[at];
        if !column.kinds.intersects(ValueKinds::TEXT) || column.redaction != Redaction::Unredacted {
            return None;
        }
        let mut row = rows.new_row(ColumnSet(1 << at.min(63)));
        let (mut numbers, mut in_texts, mut words, mut example) = (0, 0, 0, None);
        for index in 0..rows.len().min(MAX_ROWS) {
            rows.read_row(index, &mut row);
            match rows.cell(&row, at) {
                Cell::Integer(_) | Cell::Real(_) => numbers += 1,
                Cell::Text(text) if functions::is_number(&text) => in_texts += 1,
                Cell::Text(text) => {
                    words += 1;
                    example.get_or_insert_with(|| text.chars().take(20).collect::<String>());
                }
                Cell::Null => {}
            }
        }
        let number_count = numbers + in_texts;
        if number_count == 0 || number_use == NumberUse::Order && words > number_count {
            return None;
        }
        let name = quote_identifier(&column.name);
        let others = example.map_or(String::new(), |example| {
            let noun = if words == 1 { "value is" } else { "values are" };
            format!("; {words} {noun} no number ('{}')", example.replace('\'', "''"))
        });
        let kind = if numbers == 0 { "text" } else { "numbers and text" };
        Some(format!("{name} is {kind}{others}: use {name}::numeric"))
    })
}
