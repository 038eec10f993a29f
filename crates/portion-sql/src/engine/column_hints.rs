//! Says which columns a statement uses as something that their values are not, and what to write instead.

use std::collections::HashSet;

use portion_text::column_form::{ColumnForm, FormLearner, is_missing, plain_number};
use portion_text::timestamp::month_number;

use super::hints;
use super::query_run::QueryRun;
use crate::cell::{Cell, ValueKinds};
use crate::column::{ColumnDef, Redaction};
use crate::dialect::ColumnUse;
use crate::error::{quote_identifier, written_name};
use crate::table::OpenTable;
use crate::table_rows::HINT_ROWS;
use crate::{dialect, functions};

/// Maximum texts that are looked at for a date, and characters of an example.
const MAX_SAMPLES: usize = 51;
const MAX_EXAMPLE_CHARS: usize = 30;
/// Fewest rows of a table with a row of totals, and the part by which a total may differ, which is rounded.
const MIN_TOTAL_ROWS: usize = 6;
const TOTAL_TOLERANCE: f64 = 1e-6;
/// Most values of a column that are shown.
const MAX_SHOWN_VALUES: usize = 3;
/// Most members of objects that are named.
const MAX_MEMBERS: usize = 3;
/// Most units of the numbers of a column, and characters of one.
const MAX_UNITS: usize = 4;
const MAX_UNIT_CHARS: usize = 12;

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
                ColumnUse::Date | ColumnUse::Instant | ColumnUse::DateRange
                    if has_mixed_times(&table, at) =>
                {
                    Some(mixed_times_hint(&column.name))
                }
                ColumnUse::Date | ColumnUse::Instant => date_hint(&table, at, column_use),
                ColumnUse::Condition if column.kinds.intersects(ValueKinds::CONTAINER) => {
                    Some(untrue_hint(column))
                }
                ColumnUse::Condition => condition_hint(&table, at),
                ColumnUse::Missing => missing_hint(&table, at),
                // No array is equal to a text: that is told where it finds nothing.
                ColumnUse::Like if !column.kinds.intersects(ValueKinds::TEXT) => None,
                _ if column.kinds.intersects(ValueKinds::CONTAINER) && !column.is_record => {
                    Some(container_hint(run, &table, at))
                }
                ColumnUse::Like => text_above_hint(&table, at),
                ColumnUse::Unlike => None,
                ColumnUse::DateRange if let Some(hint) = offset_hint(&table, at) => Some(hint),
                ColumnUse::Equal => number_hint(&table, at, column_use),
                ColumnUse::Sum => total_hint(&table, at).or_else(|| number_hint(&table, at, column_use)),
                ColumnUse::Number | ColumnUse::Order | ColumnUse::Range | ColumnUse::DateRange => {
                    let numbers = || number_hint(&table, at, column_use);
                    let is_number = matches!(column_use, ColumnUse::Number | ColumnUse::Order);
                    if let Some(hint) = total_hint(&table, at).filter(|_| column_use == ColumnUse::Order) {
                        return Some(hint);
                    }
                    match order_hint(&table, at) {
                        Order::Told(hint) => Some(hint),
                        Order::Known => None,
                        Order::Unknown => {
                            if is_number {
                                numbers()
                            } else {
                                None
                            }
                        }
                    }
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
    /// Numbers that SQLite reads too.
    plain: usize,
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
                Cell::Integer(_) | Cell::Real(_) => {
                    (counts.numbers, counts.plain) = (counts.numbers + 1, counts.plain + 1);
                }
                Cell::Text(text) if functions::is_number(&text) => {
                    counts.numbers += 1;
                    counts.plain += usize::from(text.trim().parse::<f64>().is_ok());
                    let is_digits = text.bytes().all(|b| b.is_ascii_digit());
                    let (min, max) = counts.digits.unwrap_or((usize::MAX, 0));
                    let min = min.min(if is_digits { text.len() } else { 0 });
                    counts.digits = Some((min, max.max(text.len())));
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

/// Returns a hint for a column with arrays or objects, which are compared as JSON texts.
fn container_hint(run: &QueryRun<'_>, table: &OpenTable, at: usize) -> String {
    let column = &table.columns()[at];
    let name = quote_identifier(&column.name);
    let has_arrays = column.kinds.intersects(ValueKinds::ARRAY);
    if column.kinds.intersects(ValueKinds::NUMERIC) {
        let others = if has_arrays { "arrays" } else { "objects" };
        return format!(
            "{name} has {others}, too, which are greater than all numbers: add WHERE typeof({name}) IN ('integer', 'real')"
        );
    }
    if has_arrays {
        return format!("{name} has arrays; {}", hints::array_hint(run.catalogue, Some(&column.name)));
    }
    let is_member = |other: &&ColumnDef| {
        let inner = other.name.strip_prefix(&*column.name).and_then(|rest| rest.strip_prefix('.'));
        inner.is_some_and(|inner| !inner.contains('.')) && !other.kinds.intersects(ValueKinds::CONTAINER)
    };
    let members = table.columns().iter().filter(is_member).map(|member| written_name(&member.name));
    let members: Vec<String> = members.take(MAX_MEMBERS).collect();
    let members = if members.is_empty() { "a member of them".to_owned() } else { members.join(", ") };
    format!("{name} has objects: use {members}")
}

/// Returns a hint for a column of numbers the last of which is the sum of the others: the row of totals of a report.
fn total_hint(table: &OpenTable, at: usize) -> Option<String> {
    let (mut sum, mut last, mut count) = (0.0, 0.0, 0);
    let _ = table.find_in_column(at, HINT_ROWS, |cell| {
        let number = match cell {
            Cell::Integer(n) => n as f64,
            Cell::Real(n) => n,
            Cell::Text(_) | Cell::Null => return None,
        };
        (sum, last, count) = (sum + number, number, count + 1);
        None::<()>
    });
    let is_total = table.len() <= HINT_ROWS
        && count >= MIN_TOTAL_ROWS
        && last != 0.0
        && (sum - 2.0 * last).abs() <= TOTAL_TOLERANCE * last.abs();
    let name = quote_identifier(&table.columns()[at].name);
    is_total.then(|| {
        format!("{name} of the last row is the sum of the others: add WHERE _index < {}", table.len() - 1)
    })
}

/// Returns a hint for a column that is used as a number.
fn number_hint(table: &OpenTable, at: usize, column_use: ColumnUse) -> Option<String> {
    let column = &table.columns()[at];
    let name = quote_identifier(&column.name);
    let is_computed = column_use != ColumnUse::Order;
    // A number equals the texts that are written for it.
    if column_use == ColumnUse::Equal
        || !column.kinds.intersects(ValueKinds::TEXT)
        || !matches!(column.form, ColumnForm::Text | ColumnForm::Number)
    {
        return None;
    }
    let counts = ValueCounts::of(table, at);
    let example = counts.example;
    if counts.numbers == 0 {
        let example = example.filter(|_| is_computed)?;
        return Some(advice(table, at, &format!("{name} is text that is no number ('{example}')")));
    }
    // Digits of one length are sorted alike as texts and as numbers.
    if !is_computed && counts.digits.is_some_and(|(min, max)| min == max) {
        return None;
    }
    // Sums read them as numbers.
    if column_use == ColumnUse::Sum && counts.texts == 0 && counts.plain == counts.numbers {
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
    Some(advice(table, at, &format!("{name} is {kind}{others}")))
}

/// Returns a fact about a column of texts, with what to write to compute with the numbers in them, if that is right for all of them.
fn advice(table: &OpenTable, at: usize, fact: &str) -> String {
    let name = quote_identifier(&table.columns()[at].name);
    // Units, each with the first text that has it.
    let mut units: Vec<(String, String)> = Vec::new();
    let (mut is_clear, mut are_numbers, mut has_commas) = (true, true, false);
    let mut thousands = FormLearner::default();
    let _ = table.find_in_column(at, HINT_ROWS, |cell| {
        let text = match cell {
            Cell::Text(text) => text.into_owned(),
            Cell::Integer(n) => n.to_string(),
            Cell::Real(n) => n.to_string(),
            Cell::Null => return None,
        };
        let Some((number, unit)) = number_and_unit(&text) else {
            is_clear &= !text.contains(|c: char| c.is_ascii_digit());
            return None;
        };
        are_numbers &= functions::is_number(&text);
        has_commas |= number.contains(',');
        is_clear &= number.contains(',') || number.parse::<f64>().is_ok();
        thousands.insert(number);
        if units.len() < 2 && units.iter().all(|(known, _)| *known != unit) {
            units.push((unit, shortened(&text)));
        }
        None::<()>
    });
    match &units[..] {
        _ if !is_clear => fact.to_owned(),
        [(_, a), (_, b), ..] => {
            format!(
                "{name} has values of several units ('{a}', '{b}'): GROUP BY regexp_extract({name}, '[^-0-9., ]+')"
            )
        }
        [_] if are_numbers => format!("{fact}: use {name}::numeric"),
        [_] if !has_commas => format!("{fact}: use regexp_extract({name}, '-?[0-9.]+')::numeric"),
        [_] if thousands.form() == ColumnForm::Amount => {
            format!("{fact}: use regexp_extract(replace({name}, ',', ''), '-?[0-9.]+')::numeric")
        }
        _ => fact.to_owned(),
    }
}

/// Returns the number in a text and what is around it: `10` and `kg`, `1,400` and `$`; `None` if it has no number, or several.
fn number_and_unit(text: &str) -> Option<(&str, String)> {
    let first = text.find(|c: char| c.is_ascii_digit())?;
    let start = if text[..first].ends_with(['-', '+']) { first - 1 } else { first };
    let end =
        text[first..].find(|c: char| !matches!(c, '0'..='9' | '.' | ',')).map_or(text.len(), |at| first + at);
    let (before, after) = (&text[..start], &text[end..]);
    let is_code = start < first && before.ends_with(|c: char| c.is_alphanumeric());
    let is_unit = !is_code && !before.contains(['.', '-']) && !after.contains(|c: char| c.is_ascii_digit());
    is_unit.then(|| (&text[start..end], format!("{}{}", before.trim(), after.trim())))
}

/// Returns a hint that says how the texts of a column which is used as a number are read.
pub(super) fn written_hint(run: &QueryRun<'_>, renamed: &[(String, String)]) -> Option<String> {
    let uses = dialect::column_uses(run.tree()?).into_iter();
    let numbers = [ColumnUse::Equal, ColumnUse::Number, ColumnUse::Sum, ColumnUse::Order];
    uses.filter(|(_, column_use)| numbers.contains(column_use)).find_map(|(name, _)| {
        run.columns_named(&name, renamed).into_iter().find_map(|(table, at)| {
            let column = &table.columns()[at];
            let is_wanted = matches!(column.form, ColumnForm::Amount | ColumnForm::DecimalComma)
                && column.redaction == Redaction::Unredacted;
            let is_written = |text: &str| {
                has_separators(text, column.form) && plain_number(text) != column.form.number(text)
            };
            let example = table.find_written(at, HINT_ROWS, is_written).filter(|_| is_wanted)?;
            let number = match Cell::from(column.form.number(&example)?) {
                Cell::Integer(n) => n.to_string(),
                Cell::Real(n) => n.to_string(),
                Cell::Null | Cell::Text(_) => return None,
            };
            let name = quote_identifier(&column.name);
            Some(format!("{name} is read as numbers: '{}' is {number}", shortened(&example)))
        })
    })
}

/// Returns true if the meaning of the signs between the digits is not plain: `60,17`, `1,400`, `1 400`; of `1.000` beside decimal
/// commas it is not either.
fn has_separators(text: &str, form: ColumnForm) -> bool {
    let signs: Vec<char> = text.chars().collect();
    let mut between = signs.windows(3).filter(|of| of[0].is_ascii_digit() && of[2].is_ascii_digit());
    form == ColumnForm::DecimalComma || between.any(|of| !of[1].is_ascii_digit() && of[1] != '.')
}

/// Returns a hint for a column that is compared with a text for a missing value, which is NULL among numbers and times.
fn missing_hint(table: &OpenTable, at: usize) -> Option<String> {
    let column = &table.columns()[at];
    let mark = table.find_written(at, HINT_ROWS, is_missing).filter(|_| column.form != ColumnForm::Text)?;
    let name = quote_identifier(&column.name);
    Some(format!("'{mark}' is NULL in {name}: write {name} IS NULL"))
}

/// Returns a hint for a column of texts that is used as a condition: no text is true.
fn condition_hint(table: &OpenTable, at: usize) -> Option<String> {
    let column = &table.columns()[at];
    let mut values: Vec<String> = Vec::new();
    for text in first_texts(table, at, MAX_SAMPLES) {
        let value = format!("'{}'", shortened(&text));
        if values.len() < MAX_SHOWN_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }
    let is_text = column.form == ColumnForm::Text && column.kinds.are_texts() && !values.is_empty();
    let (name, values) = (quote_identifier(&column.name), values.join(", "));
    is_text.then(|| {
        format!("{name} is text, which is neither true nor false: compare it with a value such as {values}")
    })
}

/// Returns a hint for a column that is used as a condition and has objects or arrays, which are not true.
fn untrue_hint(column: &ColumnDef) -> String {
    let name = quote_identifier(&column.name);
    let (others, begin) =
        if column.kinds.intersects(ValueKinds::OBJECT) { ("objects", '{') } else { ("arrays", '[') };
    format!("{name} has {others}, too, which are not true here: add OR {name} LIKE '{begin}%'")
}

/// Returns a hint for a member of objects that are texts in other rows: `license.type` beside `license`.
fn text_above_hint(table: &OpenTable, at: usize) -> Option<String> {
    let (above, _) = table.columns()[at].name.rsplit_once('.')?;
    let is_above = |column: &&ColumnDef| column.name == above && column.kinds.intersects(ValueKinds::TEXT);
    let above = quote_identifier(&table.columns().iter().find(is_above)?.name);
    Some(format!("{above} is a text in other rows: add OR {above} = …"))
}

/// Returns true for a column of numbers and of times, which are compared as two kinds.
fn has_mixed_times(table: &OpenTable, at: usize) -> bool {
    let is_time =
        |texts: Vec<String>| !texts.is_empty() && texts.iter().all(|text| functions::is_date(text.trim()));
    table.columns()[at].kinds.intersects(ValueKinds::NUMERIC) && is_time(first_texts(table, at, MAX_SAMPLES))
}

fn mixed_times_hint(name: &str) -> String {
    let name = quote_identifier(name);
    format!(
        "{name} has numbers beside times: compare CASE typeof({name}) WHEN 'text' THEN {name} ELSE datetime({name}, 'auto') END"
    )
}

/// Returns a hint for a column that is read as a date, although its values are none, or are none for SQLite.
fn date_hint(table: &OpenTable, at: usize, column_use: ColumnUse) -> Option<String> {
    let column = &table.columns()[at];
    let name = quote_identifier(&column.name);
    if column.is_numeric() || column.form.is_numeric() {
        return None;
    }
    let samples = first_texts(table, at, MAX_SAMPLES);
    let example = shortened(samples.first()?);
    let is_time = matches!(column.form, ColumnForm::Time(_));
    if is_time || samples.iter().any(|text| functions::is_date(text.trim())) {
        // A point in time is the same in all zones.
        return if column_use == ColumnUse::Instant { None } else { offset_hint(table, at) };
    }
    let advice = match numeric_date_call(&name, &samples) {
        Some(call) => format!("is not read as a date: write {call}"),
        None => format!("is no full date: use substr({name}, 1, 6) or REGEXP_EXTRACT"),
    };
    Some(format!("{name} has texts; '{example}' {advice}"))
}

/// Returns a hint for a column of times that are not in UTC, in which they are compared and taken apart.
fn offset_hint(table: &OpenTable, at: usize) -> Option<String> {
    let column = &table.columns()[at];
    let first = first_texts(table, at, 1).pop()?;
    let offset = offset_of(first.trim()).filter(|_| matches!(column.form, ColumnForm::Time(_)))?;
    let name = quote_identifier(&column.name);
    Some(format!("days and hours of {name} are those of UTC; as written: datetime({name}, '{offset}')"))
}

/// Returns the offset of a time that is not in UTC: `-05:00`.
fn offset_of(time: &str) -> Option<&str> {
    let (clock, offset) = time.split_at_checked(time.len().checked_sub(6)?)?;
    let is_offset = offset.starts_with(['+', '-']) && offset.as_bytes().get(3) == Some(&b':');
    (is_offset && clock.contains(':') && offset.contains(|c: char| matches!(c, '1'..='9'))).then_some(offset)
}

/// Returns the first texts of a column, at most `max`.
fn first_texts(table: &OpenTable, at: usize, max: usize) -> Vec<String> {
    let mut texts = Vec::new();
    let _ = table.find_in_column(at, HINT_ROWS, |cell| {
        if let Cell::Text(text) = cell {
            texts.push(text.into_owned());
        }
        (texts.len() == max).then_some(())
    });
    texts
}

/// Facts about the order of the texts of a column.
enum Order {
    /// It is another one than that of what they mean.
    Told(String),
    /// It is that of what they mean.
    Known,
    Unknown,
}

/// Finds texts whose order is not that of what they mean: dates, versions, and numbers with units.
fn order_hint(table: &OpenTable, at: usize) -> Order {
    let column = &table.columns()[at];
    if column.form != ColumnForm::Text || !column.kinds.are_texts() {
        return Order::Unknown;
    }
    // The order of few texts may be right by chance.
    let mut samples = first_texts(table, at, HINT_ROWS);
    let Some(first) = samples.first().map(|first| first.trim().to_owned()) else { return Order::Unknown };
    let name = quote_identifier(&column.name);
    let by_time = |call: String| {
        Order::Told(format!(
            "{name} sorts as text, not in the order of time ('{}'): use {call}",
            shortened(&first)
        ))
    };
    if let Some(call) = numeric_date_call(&name, &samples) {
        return by_time(call);
    }
    if first.get(..3).is_some_and(|month| month_number(month).is_some()) && first.get(3..4) == Some(" ") {
        let is_start = |column: &ColumnDef| column.name == "start_line";
        return by_time(
            if table.columns().iter().any(is_start) { "start_line" } else { "_index" }.to_owned(),
        );
    }
    let (dates, others): (Vec<&String>, Vec<&String>) =
        samples.iter().partition(|text| functions::is_date(text.trim()));
    if let Some(other) = others.first().filter(|_| dates.len() > others.len()) {
        return Order::Told(format!("{name} has dates and text ('{}'): use {name}::date", shortened(other)));
    }
    samples.sort();
    let by_parts = |parts: fn(&str) -> Option<Vec<i64>>, hint: &dyn Fn(&str, &str) -> String| {
        let meant: Vec<Vec<i64>> = samples.iter().map(|text| parts(text)).collect::<Option<_>>()?;
        let wrong = meant.windows(2).position(|pair| pair[0] > pair[1]);
        Some(wrong.map_or(Order::Known, |at| {
            let (a, b) = (shortened(&samples[at]), shortened(&samples[at + 1]));
            Order::Told(hint(&a, &b))
        }))
    };
    let count = samples.iter().map(|text| text.split('.').count()).max().unwrap_or(2);
    let is_marked = samples.iter().any(|text| text.starts_with('v'));
    let version = if is_marked { format!("ltrim({name}, 'v')") } else { name.clone() };
    let part = |part| format!("CAST(split_part({version}, '.', {part}) AS INTEGER)");
    let parts = (1..=count).map(part).collect::<Vec<_>>().join(", ");
    let are_released = !samples.iter().any(|text| text.contains(['-', '+']));
    let parts = if are_released { format!(": use {parts}") } else { String::new() };
    let use_parts = |a: &str, b: &str| format!("{name} sorts as text ('{a}' before '{b}'){parts}");
    let use_numbers =
        |a: &str, b: &str| advice(table, at, &format!("{name} sorts as text ('{a}' before '{b}')"));
    let units: HashSet<String> = samples.iter().filter_map(|text| Some(number_and_unit(text)?.1)).collect();
    let measures = || match by_parts(measure_parts, &use_numbers) {
        Some(Order::Known) if (2..=MAX_UNITS).contains(&units.len()) => {
            Some(Order::Told(advice(table, at, &format!("{name} is text"))))
        }
        order => order.filter(|_| units.len() <= MAX_UNITS),
    };
    by_parts(version_parts, &use_parts)
        .or_else(measures)
        .or_else(|| by_parts(duration_parts, &|a, b| format!("{name} sorts as text ('{a}' before '{b}')")))
        .unwrap_or(Order::Unknown)
}

/// Returns the parts of a version: `1.10` has two, `v1.2.3-beta.1` three.
fn version_parts(text: &str) -> Option<Vec<i64>> {
    let released = text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
    let parts: Option<Vec<i64>> = released.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| (2..=3).contains(&parts.len()))
}

/// Returns the seconds of a time of day or a duration: `58:45`, `1:02:11`, `07:28 PM`, `5h 52m`, `PT1H2M3S`.
fn duration_parts(text: &str) -> Option<Vec<i64>> {
    let text = text.trim().to_ascii_lowercase();
    if text.contains(':') {
        let (clock, half) = match text.split_once(' ') {
            Some((clock, half @ ("am" | "pm"))) => (clock, half),
            Some(_) => return None,
            None => (text.as_str(), ""),
        };
        let parts: Vec<i64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let seconds = parts.iter().fold(0, |sum: i64, part| sum.saturating_mul(60).saturating_add(*part));
        let is_half = !half.is_empty();
        let noon = if is_half { 12 * 60_i64.pow(parts.len() as u32 - 1) } else { i64::MAX };
        return (2..=3)
            .contains(&parts.len())
            .then(|| vec![seconds % noon + if half == "pm" { noon } else { 0 }]);
    }
    let mut rest = text.strip_prefix("pt").unwrap_or(&text);
    let mut seconds: i64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = rest.split_at(end);
        let scale = match unit.chars().next()? {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.saturating_add(number.parse::<i64>().ok()?.saturating_mul(scale));
        rest = unit.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start();
    }
    Some(vec![seconds])
}

/// Returns the number of a text such as `10 kg`, `50%` or `USD 1,400`, in thousandths.
fn measure_parts(text: &str) -> Option<Vec<i64>> {
    let (number, unit) = number_and_unit(text)?;
    let number: f64 = number.replace(',', "").parse().ok()?;
    let before = text[..text.find(|c: char| c.is_ascii_digit())?].trim_end_matches(['-', '+']);
    let is_unit = unit.chars().count() <= MAX_UNIT_CHARS && !unit.contains([':', '/']);
    let is_before = before.is_empty() || before.ends_with(' ') && before.len() == 4;
    (is_unit && is_before).then(|| vec![(number * 1e3) as i64])
}

/// Returns the call that reads dates such as `15.01.2024`, `15/01/2024` or `01/15/2024 10:00:00`; `None` if a text has another form.
/// It names both formats if no date tells whether the day or the month comes first.
fn numeric_date_call(name: &str, samples: &[String]) -> Option<String> {
    let parts = |text: &str| -> Option<(char, [u32; 2], String)> {
        let text = text.trim();
        let (date, time) = text.split_once(' ').unwrap_or((text, ""));
        let separator = date.chars().find(|c| matches!(c, '.' | '/' | '-'))?;
        let fields: Vec<&str> = date.split(separator).collect();
        let [first, second, year] = fields[..] else { return None };
        let are_short = (1..=2).contains(&first.len()) && (1..=2).contains(&second.len());
        let is_date = are_short && year.len() == 4 && year.parse::<u32>().is_ok();
        let time = match (time.len(), time.replace(|c: char| c.is_ascii_digit(), "").as_str()) {
            (0, _) => "",
            (5, ":") => " HH24:MI",
            (8, "::") => " HH24:MI:SS",
            (_, ": AM" | ": PM") => " HH12:MI AM",
            (_, ":: AM" | ":: PM") => " HH12:MI:SS AM",
            _ => return None,
        };
        is_date.then(|| Some((separator, [first.parse().ok()?, second.parse().ok()?], time.to_owned())))?
    };
    let dates: Vec<_> = samples.iter().map(|text| parts(text)).collect::<Option<_>>()?;
    let (separator, _, time) = dates.first()?;
    let function = if time.is_empty() { "to_date" } else { "to_timestamp" };
    let format = |first: &str, second: &str| format!("'{first}{separator}{second}{separator}YYYY{time}'");
    let is_month_first = dates.iter().any(|(_, [_, second], _)| *second > 12);
    let is_day_first = *separator == '.' || dates.iter().any(|(_, [first, _], _)| *first > 12);
    let (shown, other) = if is_month_first {
        (format("MM", "DD"), String::new())
    } else if is_day_first {
        (format("DD", "MM"), String::new())
    } else {
        (format("DD", "MM"), format!(", or {}: no value tells which", format("MM", "DD")))
    };
    Some(format!("{function}({name}, {shown}){other}"))
}
