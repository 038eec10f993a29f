//! Says which columns with texts a statement uses as numbers or as dates.

use std::sync::Arc;

use portion_text::delimited::has_decimal_comma;
use portion_text::timestamp::month_number;

use crate::cell::Cell;
use crate::column::{ColumnDef, Redaction};
use crate::dialect::{self, DateUse, NumberUse};
use crate::engine::{QueryRun, hints};
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
    let meant = run.column_meant(name).or_else(|| run.column_meant(tail));
    let is_named = |column: &str| {
        column.eq_ignore_ascii_case(name)
            || column.eq_ignore_ascii_case(tail)
            || meant.as_deref().is_some_and(|meant| column == meant)
    };
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
        if column.redaction != Redaction::Unredacted {
            return None;
        }
        if !column.kinds.intersects(ValueKinds::TEXT) {
            return (date_use == DateUse::Iso).then(|| epoch_hint(rows.as_ref(), at)).flatten();
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
        if date_use == DateUse::Order {
            return order_hint(rows.as_ref(), &name, &example, &samples);
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
    })
}

/// Smallest number of seconds that is taken for a time: in 1973.
const MIN_EPOCH_SECONDS: i64 = 100_000_000;

/// Returns a hint for a column with numbers of seconds or milliseconds, which SQLite's date functions read as days.
fn epoch_hint(rows: &dyn TableRows, at: usize) -> Option<String> {
    let mut row = rows.new_row(ColumnSet(1 << at.min(63)));
    let first = (0..rows.len().min(MAX_ROWS)).find_map(|index| {
        rows.read_row(index, &mut row);
        match rows.cell(&row, at) {
            Cell::Integer(n) => Some(n),
            Cell::Real(n) => Some(n as i64),
            Cell::Text(_) | Cell::Null => None,
        }
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
/// Where both orders are possible, the day comes first.
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

fn type_hint(run: &QueryRun<'_>, name: &str, number_use: NumberUse) -> Option<String> {
    columns_named(run, name).into_iter().find_map(|(rows, at)| {
        let column = &rows.columns()[at];
        if column.redaction != Redaction::Unredacted {
            return None;
        }
        if column.kinds.intersects(ValueKinds::TEXT) {
            let quoted = quote_identifier(&column.name);
            return text_hint(&quoted, &CellCounts::of(rows.as_ref(), at), number_use);
        }
        let is_container = column.kinds.intersects(ValueKinds::CONTAINER)
            && !column.kinds.intersects(ValueKinds::NUMERIC)
            && number_use == NumberUse::Number;
        is_container.then(|| container_hint(run, column))
    })
}

/// Returns the hint for a column with arrays or objects that is used as a number.
fn container_hint(run: &QueryRun<'_>, column: &ColumnDef) -> String {
    if column.kinds.intersects(ValueKinds::ARRAY) {
        let advice = hints::array_hint(run.catalogue, Some(&column.name));
        return format!("{} has arrays; {advice}", quote_identifier(&column.name));
    }
    format!("{} has objects: use a member of them", quote_identifier(&column.name))
}

/// Kinds of the values of a column with texts.
#[derive(Default)]
struct CellCounts {
    numbers: usize,
    numbers_in_texts: usize,
    /// Texts such as `60,17`, and a number among them with points between thousands: `1.060,17`.
    decimal_commas: usize,
    has_points: bool,
    other_texts: usize,
    /// Numbers in texts with a point, and those of them in which it may stand between thousands, with the first one.
    pointed: usize,
    pointed_thousands: usize,
    pointed_example: Option<String>,
    /// The beginning of the first text that is no number.
    example: Option<String>,
}

impl CellCounts {
    fn of(rows: &dyn TableRows, at: usize) -> Self {
        let mut row = rows.new_row(ColumnSet(1 << at.min(63)));
        let mut counts = Self::default();
        for index in 0..rows.len().min(MAX_ROWS) {
            rows.read_row(index, &mut row);
            match rows.cell(&row, at) {
                Cell::Integer(_) | Cell::Real(_) => counts.numbers += 1,
                Cell::Text(text) => counts.add_text(&text),
                Cell::Null => {}
            }
        }
        counts
    }

    fn add_text(&mut self, text: &str) {
        let has_comma = has_decimal_comma(text);
        if !has_comma && functions::is_number(text) {
            self.numbers_in_texts += 1;
            if let Some((whole, decimals)) = text.trim().split_once('.') {
                self.pointed += 1;
                if decimals.len() == 3 && whole.len() <= 4 && !whole.starts_with('0') {
                    self.pointed_thousands += 1;
                    self.pointed_example.get_or_insert_with(|| text.trim().to_owned());
                }
            }
            return;
        }
        if has_comma {
            self.decimal_commas += 1;
            self.has_points |= text.contains('.');
        } else {
            self.other_texts += 1;
        }
        self.example.get_or_insert_with(|| text.chars().take(20).collect());
    }
}

/// Returns the hint for a column with texts, if it is used in a way in which they differ from numbers.
fn text_hint(name: &str, counts: &CellCounts, number_use: NumberUse) -> Option<String> {
    let number_count = counts.numbers + counts.numbers_in_texts;
    let (commas, others) = (counts.decimal_commas, counts.other_texts);
    let example = counts.example.as_deref().map(|example| example.replace('\'', "''"));
    if number_use != NumberUse::Number && others > number_count + commas {
        return None;
    }
    if commas > others {
        let plain = if counts.has_points { format!("replace({name}, '.', '')") } else { name.to_owned() };
        return Some(format!(
            "{name} has decimal commas ('{}'), of which SQLite reads the digits before the comma: use \
             replace({plain}, ',', '.')::numeric",
            example?
        ));
    }
    if number_count == 0 {
        let is_used = number_use == NumberUse::Number && others > 0;
        let example = example?;
        let is_plain = example.contains(|c: char| c.is_ascii_digit()) && !example.contains(',');
        let advice = if is_plain {
            format!(": use regexp_extract({name}, '-?[0-9.]+')::numeric")
        } else {
            String::new()
        };
        return is_used.then(|| format!("{name} is text that is no number ('{example}'){advice}"));
    }
    if let Some(pointed) = counts.pointed_example.as_deref()
        && counts.pointed == counts.pointed_thousands
        && counts.numbers == 0
    {
        return Some(format!(
            "{name} is text ('{pointed}'): use {name}::numeric, or replace({name}, '.', '')::numeric if the point \
             stands between thousands"
        ));
    }
    let others = example.map_or(String::new(), |example| {
        let count = others + commas;
        let noun = if count == 1 { "value is" } else { "values are" };
        format!("; {count} {noun} no number ('{example}')")
    });
    let kind = if counts.numbers == 0 { "text" } else { "numbers and text" };
    Some(format!("{name} is {kind}{others}: use {name}::numeric"))
}
