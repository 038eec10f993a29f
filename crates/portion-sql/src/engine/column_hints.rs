//! Says which columns a statement uses as something that their values are not, and what to write instead.

use std::collections::HashSet;

use portion_text::column_form::{ColumnForm, FormLearner, is_missing, plain_number};
use portion_text::timestamp::month_number;

use super::hints;
use super::query_run::QueryRun;
use super::text_forms::{duration_parts, measure_parts, number_and_unit, numeric_date_call, version_parts};
use crate::catalogue::Catalogue;
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
/// Texts beside each number of a column that is sorted, up to which they are told apart.
const MAX_TEXTS_PER_NUMBER: usize = 10;
/// Most values of a column that are shown.
const MAX_SHOWN_VALUES: usize = 3;
/// Most members of objects that are named.
const MAX_MEMBERS: usize = 3;
/// Most units of the numbers of a column.
const MAX_UNITS: usize = 4;

/// Returns a hint for the first column that is used as a number, a date or a boolean, but has other values. `renamed`: names
/// that were read as others.
pub(super) fn column_hint(run: &QueryRun<'_>, renamed: &[(String, String)]) -> Option<String> {
    dialect::column_uses(run.tree()?).into_iter().find_map(|(name, column_use)| {
        if run.deadline.is_over() {
            return None;
        }
        run.columns_named(&name, renamed).into_iter().find_map(|(table, at)| {
            let column = &table.columns()[at];
            let used = UsedColumn { table: &table, at, def: column, name: quote_identifier(&column.name) };
            // The values of leaves have types of their own, and statements select those of one kind.
            if column.redaction != Redaction::Unredacted || column.is_written {
                return None;
            }
            let is_container = column.kinds.intersects(ValueKinds::CONTAINER);
            match column_use {
                ColumnUse::Date | ColumnUse::DateRange if let Some(hint) = used.mixed_times_hint() => {
                    Some(hint)
                }
                ColumnUse::Date => used.date_hint(),
                ColumnUse::Condition if is_container => Some(used.untrue_hint()),
                ColumnUse::Condition => used.condition_hint(),
                ColumnUse::Missing => used.missing_hint(),
                // No array is equal to a text: that is told where it finds nothing.
                ColumnUse::Like if !column.kinds.intersects(ValueKinds::TEXT) => None,
                _ if is_container && !column.is_record => Some(used.container_hint(run.catalogue)),
                ColumnUse::Like => used.text_above_hint(),
                ColumnUse::Unlike | ColumnUse::Equal => None,
                ColumnUse::Sum => used.total_hint().or_else(|| used.number_hint(column_use)),
                ColumnUse::Number | ColumnUse::Order | ColumnUse::Range | ColumnUse::DateRange => {
                    if let Some(hint) = used.total_hint().filter(|_| column_use == ColumnUse::Order) {
                        return Some(hint);
                    }
                    let is_number = matches!(column_use, ColumnUse::Number | ColumnUse::Order);
                    match used.order_hint() {
                        Order::Told(hint) => Some(hint),
                        Order::Unknown if is_number => used.number_hint(column_use),
                        Order::Known | Order::Unknown => None,
                    }
                }
            }
        })
    })
}

/// A column that a statement uses.
struct UsedColumn<'t> {
    table: &'t OpenTable,
    at: usize,
    def: &'t ColumnDef,
    /// Its name, in quotes where it needs them.
    name: String,
}

impl UsedColumn<'_> {
    /// Returns a hint for a column with arrays or objects, which are compared as JSON texts.
    fn container_hint(&self, catalogue: &Catalogue) -> String {
        let (column, name) = (self.def, &self.name);
        let has_arrays = column.kinds.intersects(ValueKinds::ARRAY);
        if column.kinds.intersects(ValueKinds::NUMERIC) {
            let others = if has_arrays { "arrays" } else { "objects" };
            return format!(
                "{name} has {others}, too, which are greater than all numbers: add WHERE typeof({name}) IN ('integer', 'real')"
            );
        }
        if has_arrays {
            return format!("{name} has arrays; {}", hints::array_hint(catalogue, Some(&column.name)));
        }
        let is_member = |other: &&ColumnDef| {
            let inner = other.name.strip_prefix(&*column.name).and_then(|rest| rest.strip_prefix('.'));
            inner.is_some_and(|inner| !inner.contains('.')) && !other.kinds.intersects(ValueKinds::CONTAINER)
        };
        let members = self.table.columns().iter().filter(is_member).map(|member| written_name(&member.name));
        let members: Vec<String> = members.take(MAX_MEMBERS).collect();
        let members = if members.is_empty() { "a member of them".to_owned() } else { members.join(", ") };
        format!("{name} has objects: use {members}")
    }

    /// Returns a hint for a column of numbers the last of which is the sum of the others: the row of totals of a report.
    fn total_hint(&self) -> Option<String> {
        let (mut sum, mut last, mut count) = (0.0, 0.0, 0);
        let _ = self.table.find_in_column(self.at, HINT_ROWS, |cell| {
            let number = match cell {
                Cell::Integer(n) => n as f64,
                Cell::Real(n) => n,
                Cell::Text(_) | Cell::Null => return None,
            };
            (sum, last, count) = (sum + number, number, count + 1);
            None::<()>
        });
        let is_total = self.table.len() <= HINT_ROWS
            && count >= MIN_TOTAL_ROWS
            && last != 0.0
            && (sum - 2.0 * last).abs() <= TOTAL_TOLERANCE * last.abs();
        let (name, last) = (&self.name, self.table.len().saturating_sub(1));
        is_total
            .then(|| format!("{name} of the last row is the sum of the others: add WHERE _index < {last}"))
    }

    /// Returns a hint for a column that is used as a number.
    fn number_hint(&self, column_use: ColumnUse) -> Option<String> {
        let (column, name) = (self.def, &self.name);
        let is_computed = column_use != ColumnUse::Order;
        if !column.kinds.intersects(ValueKinds::TEXT)
            || !matches!(column.form, ColumnForm::Text | ColumnForm::Number)
        {
            return None;
        }
        let found = ValueNumbers::of(self.table, self.at);
        if found.numbers == 0 {
            let example = found.example.as_deref().filter(|_| is_computed)?;
            return Some(found.advice(name, &format!("{name} is text that is no number ('{example}')")));
        }
        // Digits of one length are sorted alike as texts and as numbers.
        let is_sorted = !is_computed
            && (found.texts == 0 || found.has_other_starts)
            && found.digits.is_some_and(|(min, max)| min == max);
        // Sums read them as numbers, and texts of one form are numbers.
        let is_read =
            column_use == ColumnUse::Sum && found.plain == found.numbers || column.form == ColumnForm::Number;
        // Few numbers among texts are words like others.
        let are_few = !is_computed && found.numbers * MAX_TEXTS_PER_NUMBER < found.texts;
        if is_sorted || is_read && found.texts == 0 || are_few {
            return None;
        }
        let kind = if column.form == ColumnForm::Number || column.kinds.intersects(ValueKinds::NUMERIC) {
            "numbers and text"
        } else {
            "text"
        };
        let others = found.example.as_ref().map_or_else(String::new, |example| {
            let noun = if found.texts == 1 { "value is" } else { "values are" };
            format!("; {} {noun} no number ('{example}')", found.texts)
        });
        Some(found.advice(name, &format!("{name} is {kind}{others}")))
    }

    /// Returns a hint for a column that is compared with a text for a missing value, which is NULL among numbers and times.
    fn missing_hint(&self) -> Option<String> {
        let mark = self.table.find_written(self.at, HINT_ROWS, is_missing);
        let (mark, name) = (mark.filter(|_| self.def.form != ColumnForm::Text)?, &self.name);
        Some(format!("'{mark}' is NULL in {name}: write {name} IS NULL"))
    }

    /// Returns a hint for a column of texts that is used as a condition: no text is true.
    fn condition_hint(&self) -> Option<String> {
        let (column, name) = (self.def, &self.name);
        let mut values: Vec<String> = Vec::new();
        for text in self.first_texts(MAX_SAMPLES) {
            let value = format!("'{}'", shortened(&text));
            if values.len() < MAX_SHOWN_VALUES && !values.contains(&value) {
                values.push(value);
            }
        }
        let is_text = column.form == ColumnForm::Text && column.kinds.are_texts() && !values.is_empty();
        let values = values.join(", ");
        is_text.then(|| {
            format!(
                "{name} is text, which is neither true nor false: compare it with a value such as {values}"
            )
        })
    }

    /// Returns a hint for a column that is used as a condition and has objects or arrays, which are not true.
    fn untrue_hint(&self) -> String {
        let (column, name) = (self.def, &self.name);
        let (others, begin) =
            if column.kinds.intersects(ValueKinds::OBJECT) { ("objects", '{') } else { ("arrays", '[') };
        format!("{name} has {others}, too, which are not true here: add OR {name} LIKE '{begin}%'")
    }

    /// Returns a hint for a member of objects that are texts in other rows: `license.type` beside `license`.
    fn text_above_hint(&self) -> Option<String> {
        let (above, _) = self.def.name.rsplit_once('.')?;
        let is_above =
            |column: &&ColumnDef| column.name == above && column.kinds.intersects(ValueKinds::TEXT);
        let above = quote_identifier(&self.table.columns().iter().find(is_above)?.name);
        Some(format!("{above} is a text in other rows: add OR {above} = …"))
    }

    /// Returns a hint for a column of numbers and of times, which are compared as two kinds.
    fn mixed_times_hint(&self) -> Option<String> {
        let (name, texts) = (&self.name, self.first_texts(MAX_SAMPLES));
        let is_mixed = self.def.kinds.intersects(ValueKinds::NUMERIC) && !texts.is_empty();
        (is_mixed && texts.iter().all(|text| functions::is_date(text.trim()))).then(|| {
            format!(
                "{name} has numbers beside times: compare CASE typeof({name}) WHEN 'text' THEN {name} ELSE datetime({name}, 'auto') END"
            )
        })
    }

    /// Returns a hint for a column that is read as a date, although its values are none.
    fn date_hint(&self) -> Option<String> {
        let (column, name) = (self.def, &self.name);
        let samples = self.first_texts(MAX_SAMPLES);
        let example = shortened(samples.first()?);
        if column.form != ColumnForm::Text || samples.iter().any(|text| functions::is_date(text.trim())) {
            return None;
        }
        let advice = match numeric_date_call(name, &samples) {
            Some(call) => format!("is not read as a date: write {call}"),
            None => format!("is no full date: use substr({name}, 1, 6) or REGEXP_EXTRACT"),
        };
        Some(format!("{name} has texts; '{example}' {advice}"))
    }

    /// Returns the first texts of a column, at most `max`.
    fn first_texts(&self, max: usize) -> Vec<String> {
        let mut texts = Vec::new();
        let _ = self.table.find_in_column(self.at, HINT_ROWS, |cell| {
            if let Cell::Text(text) = cell {
                texts.push(text.into_owned());
            }
            (texts.len() == max).then_some(())
        });
        texts
    }

    /// Finds texts whose order is not that of what they mean: dates, versions, and numbers with units.
    fn order_hint(&self) -> Order {
        let (column, name) = (self.def, &self.name);
        if column.form != ColumnForm::Text || !column.kinds.are_texts() {
            return Order::Unknown;
        }
        // The order of few texts may be right by chance.
        let mut samples = self.first_texts(HINT_ROWS);
        let Some(first) = samples.first().map(|first| first.trim().to_owned()) else { return Order::Unknown };
        let by_time = |call: String| {
            Order::Told(format!(
                "{name} sorts as text, not in the order of time ('{}'): use {call}",
                shortened(&first)
            ))
        };
        if let Some(call) = numeric_date_call(name, &samples) {
            return by_time(call);
        }
        if first.get(..3).is_some_and(|month| month_number(month).is_some()) && first.get(3..4) == Some(" ") {
            let is_start = |column: &ColumnDef| column.name == "start_line";
            return by_time(
                if self.table.columns().iter().any(is_start) { "start_line" } else { "_index" }.to_owned(),
            );
        }
        let (dates, others): (Vec<&String>, Vec<&String>) =
            samples.iter().partition(|text| functions::is_date(text.trim()));
        if let Some(other) = others.first().filter(|_| dates.len() > others.len()) {
            return Order::Told(format!(
                "{name} has dates and text ('{}'): use {name}::date",
                shortened(other)
            ));
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
        let advice = |fact: &str| ValueNumbers::of(self.table, self.at).advice(name, fact);
        let use_numbers = |a: &str, b: &str| advice(&format!("{name} sorts as text ('{a}' before '{b}')"));
        let units: HashSet<String> =
            samples.iter().filter_map(|text| Some(number_and_unit(text)?.1)).collect();
        let measures = || match by_parts(measure_parts, &use_numbers) {
            Some(Order::Known) if (2..=MAX_UNITS).contains(&units.len()) => {
                Some(Order::Told(advice(&format!("{name} is text"))))
            }
            order => order.filter(|_| units.len() <= MAX_UNITS),
        };
        by_parts(version_parts, &use_parts)
            .or_else(measures)
            .or_else(|| {
                by_parts(duration_parts, &|a, b| format!("{name} sorts as text ('{a}' before '{b}')"))
            })
            .unwrap_or(Order::Unknown)
    }
}

/// Facts about the order of the texts of a column.
enum Order {
    /// It is another one than that of what they mean.
    Told(String),
    /// It is that of what they mean.
    Known,
    Unknown,
}

/// The numbers in the values of a column.
#[derive(Default)]
struct ValueNumbers {
    numbers: usize,
    texts: usize,
    /// Numbers that SQLite reads too.
    plain: usize,
    /// Least and most bytes of the texts that are numbers; the least is 0 if one is not digits alone.
    digits: Option<(usize, usize)>,
    /// The first text that is no number.
    example: Option<String>,
    /// Units around numbers, each with the first text that has it.
    units: Vec<(String, String)>,
    /// True if a text has digits and is not read as a number with a unit.
    is_unclear: bool,
    /// True if a text does not begin with a number and a space.
    has_other_starts: bool,
    has_units: bool,
    has_commas: bool,
    thousands: FormLearner,
}

impl ValueNumbers {
    fn of(table: &OpenTable, at: usize) -> Self {
        let mut found = Self::default();
        let _ = table.find_in_column(at, HINT_ROWS, |cell| {
            match cell {
                Cell::Integer(n) => found.add_number(&n.to_string()),
                Cell::Real(n) => found.add_number(&n.to_string()),
                Cell::Text(text) if functions::is_number(&text) => {
                    found.add_number(&text);
                    let is_digits = text.bytes().all(|b| b.is_ascii_digit());
                    let (min, max) = found.digits.unwrap_or((usize::MAX, 0));
                    let min = min.min(if is_digits { text.len() } else { 0 });
                    found.digits = Some((min, max.max(text.len())));
                }
                Cell::Text(text) => {
                    found.texts += 1;
                    let start = text.split_once(' ').map(|(start, _)| functions::is_number(start));
                    found.has_other_starts |= start != Some(true);
                    found.add_measure(&text, false);
                    found.example.get_or_insert_with(|| shortened(&text));
                }
                Cell::Null => {}
            }
            None::<()>
        });
        found
    }

    fn add_number(&mut self, text: &str) {
        self.numbers += 1;
        self.plain += usize::from(text.trim().parse::<f64>().is_ok());
        self.add_measure(text, true);
    }

    fn add_measure(&mut self, text: &str, is_number: bool) {
        let Some((number, unit)) = number_and_unit(text) else {
            self.is_unclear |= text.contains(|c: char| c.is_ascii_digit());
            return;
        };
        self.has_units |= !is_number;
        self.has_commas |= number.contains(',');
        self.is_unclear |= !number.contains(',') && number.parse::<f64>().is_err();
        self.thousands.insert(number);
        if self.units.len() < 2 && self.units.iter().all(|(known, _)| *known != unit) {
            self.units.push((unit, shortened(text)));
        }
    }

    /// Returns a fact about the column, with what to write to compute with the numbers, if that is right for all of them.
    fn advice(&self, name: &str, fact: &str) -> String {
        match &self.units[..] {
            _ if self.is_unclear && self.texts > 0 && !self.has_other_starts => {
                format!("{fact}: use split_part({name}, ' ', 1)::numeric")
            }
            _ if self.is_unclear => fact.to_owned(),
            [(_, a), (_, b), ..] => {
                format!(
                    "{name} has values of several units ('{a}', '{b}'): GROUP BY regexp_extract({name}, '[^-0-9., ]+')"
                )
            }
            [_] if !self.has_units => format!("{fact}: use {name}::numeric"),
            [_] if !self.has_commas => format!("{fact}: use regexp_extract({name}, '-?[0-9.]+')::numeric"),
            [_] if self.thousands.form() == ColumnForm::Amount => {
                format!("{fact}: use regexp_extract(replace({name}, ',', ''), '-?[0-9.]+')::numeric")
            }
            _ => fact.to_owned(),
        }
    }
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
            // The meaning of the signs between the digits is not plain: `60,17`, `1,400`; of `1.000` beside decimal commas neither.
            let is_separator = |of: &[char]| {
                of[0].is_ascii_digit() && of[2].is_ascii_digit() && !of[1].is_ascii_digit() && of[1] != '.'
            };
            let is_written = |text: &str| {
                let signs: Vec<char> = text.chars().collect();
                (column.form == ColumnForm::DecimalComma || signs.windows(3).any(is_separator))
                    && plain_number(text) != column.form.number(text)
            };
            let example = table.find_written(at, HINT_ROWS, is_written).filter(|_| is_wanted)?;
            let (name, number) = (quote_identifier(&column.name), column.form.number(&example)?);
            Some(format!("{name} is read as numbers: '{}' is {number}", shortened(&example)))
        })
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_EXAMPLE_CHARS).collect::<String>().replace('\'', "''")
}
