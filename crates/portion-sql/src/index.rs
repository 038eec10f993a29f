//! Indexes of a column: the rows by value, and their order. Both are built at first use and kept with the table, so that
//! a join takes the sum of two tables rather than their product.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use portion_text::column_form::{DateOrder, code_number, plain_number, read_time};
use rusqlite::types::ValueRef;

use crate::cell::Cell;
use crate::column::Comparison;
use crate::typed_column::TypedColumn;

/// Rows by the value of one column. SQLite compares the rows again by its own rules: values that it
/// considers equal must have the same key here, while different values may share a key.
#[derive(Debug)]
pub(crate) struct ColumnIndex {
    comparison: Comparison,
    /// Hashes of keys with their rows, in order.
    rows: Vec<(u32, u32)>,
    /// Number of distinct hashes.
    distinct_count: usize,
}

impl ColumnIndex {
    /// Builds the index of values in the order of their rows; `None` if the query must stop.
    pub(crate) fn build<'a>(
        comparison: Comparison,
        values: impl Iterator<Item = Option<Cell<'a>>>,
    ) -> Option<Self> {
        let mut rows = Vec::new();
        for (at, value) in values.enumerate() {
            let hash = match value? {
                Cell::Null => continue,
                Cell::Integer(n) => number_hash(n as f64),
                Cell::Real(n) => number_hash(n),
                Cell::Text(text) => text_hash(&text, comparison),
            };
            rows.push((hash, u32::try_from(at).ok()?));
        }
        rows.sort_unstable();
        rows.shrink_to_fit();
        let mut distinct_count = usize::from(!rows.is_empty());
        distinct_count += rows.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        Some(Self { comparison, rows, distinct_count })
    }

    /// Returns the rows that may have a value, in order; `None` if the index cannot decide.
    pub(crate) fn lookup(&self, value: ValueRef<'_>) -> Option<Vec<u32>> {
        let hashes = match value {
            ValueRef::Null => return Some(Vec::new()),
            ValueRef::Integer(n) => [number_hash(n as f64); 2],
            // SQLite compares a number with a text by its text, which has fewer digits.
            ValueRef::Real(n) => [number_hash(n), number_hash(format!("{n:.14e}").parse().unwrap_or(n))],
            ValueRef::Text(_) => [text_hash(value.as_str().ok()?, self.comparison); 2],
            ValueRef::Blob(_) => return None,
        };
        let mut rows: Vec<u32> = self.rows_of(hashes[0]).collect();
        if hashes[0] != hashes[1] {
            rows.extend(self.rows_of(hashes[1]));
            rows.sort_unstable();
        }
        Some(rows)
    }

    /// Returns the rows whose key has a hash.
    fn rows_of(&self, hash: u32) -> impl Iterator<Item = u32> {
        let start = self.rows.partition_point(|(other, _)| *other < hash);
        self.rows[start..].iter().take_while(move |(other, _)| *other == hash).map(|(_, row)| *row)
    }

    /// Returns the number of rows that a value has on average.
    pub(crate) fn rows_per_value(&self) -> f64 {
        self.rows.len() as f64 / self.distinct_count.max(1) as f64
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
    }
}

/// Digits of the greatest 64-bit integer.
const MAX_INTEGER_DIGITS: usize = 19;

/// A text that looks like a number, or for which people write a number, has the hash of that number.
fn text_hash(text: &str, comparison: Comparison) -> u32 {
    if let Comparison::Time(order) = comparison
        && let Some(time) = read_time(text, order)
    {
        return hash((1_u8, time.seconds, time.nanos));
    }
    if let Some(n) = code_number(text) {
        return number_hash(n as f64);
    }
    // More digits than a number holds are a code.
    let is_long = text.len() > MAX_INTEGER_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
    if !is_long
        && text.trim_start().starts_with(|c: char| matches!(c, '0'..='9' | '-' | '+' | '.'))
        && let Ok(n) = text.trim().parse::<f64>()
    {
        return number_hash(n);
    }
    match comparison {
        Comparison::NoCase => hash((2_u8, text.to_ascii_lowercase())),
        _ => hash((2_u8, text)),
    }
}

fn number_hash(n: f64) -> u32 {
    // Positive and negative zero are equal.
    hash((3_u8, if n == 0.0 { 0 } else { n.to_bits() }))
}

fn hash(key: impl Hash) -> u32 {
    let mut hasher = std::hash::DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() as u32
}

/// Codes of a column by the numbers that people write for them, where each has one meaning: no other text of the column is
/// that number, or is written for it.
pub(crate) struct NumberCodes {
    values: Arc<TypedColumn>,
    rows: HashMap<u64, u32>,
    /// Bytes of the longest code.
    longest: usize,
}

impl NumberCodes {
    /// Finds the codes of a column; `None` if the query must stop.
    pub(crate) fn build(
        values: Arc<TypedColumn>,
        count: usize,
        mut should_stop: impl FnMut(usize) -> bool,
    ) -> Option<Self> {
        let mut rows: HashMap<u64, Option<u32>> = HashMap::new();
        for at in 0..count {
            if should_stop(at) {
                return None;
            }
            let Cell::Text(text) = values.value(at) else { continue };
            let Some(number) = code_number(without_fraction(&text)) else { continue };
            let row = u32::try_from(at).ok().filter(|_| plain_number(&text).is_none());
            let first = rows.entry(number).or_insert(row);
            if first.is_some_and(|first| values.value(first as usize) != Cell::Text(text)) {
                *first = None;
            }
        }
        let mut rows: HashMap<u64, u32> =
            rows.into_iter().filter_map(|(number, row)| Some((number, row?))).collect();
        rows.shrink_to_fit();
        let length =
            |row: &u32| if let Cell::Text(code) = values.value(*row as usize) { code.len() } else { 0 };
        let longest = rows.values().map(length).max().unwrap_or_default();
        Some(Self { values, rows, longest })
    }

    /// Returns true for a text that may be a number as people write it, without zeros before it, or a telephone number.
    pub(crate) fn may_mean(text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '(' | '+'))
            && (!text.starts_with('0') || text.len() < 2 || text == "0.0")
    }

    /// Returns the code that a number means, or a telephone number with other signs, or the text itself.
    pub(crate) fn meant<'a>(&'a self, text: &'a str) -> Cow<'a, str> {
        let digits = without_fraction(text);
        // A code is longer than the number that is written for it.
        let number = if !digits.bytes().all(|b| b.is_ascii_digit()) {
            code_number(text)
        } else if digits.len() < self.longest {
            plain_number(text).and_then(|_| digits.parse().ok())
        } else {
            None
        };
        let row = number.and_then(|number| self.rows.get(&number));
        match row.map(|row| self.values.value(*row as usize)) {
            Some(Cell::Text(code)) => code,
            _ => Cow::Borrowed(text),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * (size_of::<(u64, u32)>() + 1)
    }
}

/// Returns an integer that SQLite wrote as a float without its fraction.
fn without_fraction(text: &str) -> &str {
    text.strip_suffix(".0").unwrap_or(text)
}

/// Sorts rows by their values as SQLite does: NULL, numbers, texts. Rows with equal values stay in their order.
pub(crate) fn sorted_rows<'a>(
    count: usize,
    is_descending: bool,
    comparison: Comparison,
    value: impl Fn(usize) -> Cell<'a>,
) -> Vec<u32> {
    let time = |cell: &Cell<'a>| match (cell, comparison) {
        (Cell::Text(text), Comparison::Time(order)) => moment(text, order),
        _ => None,
    };
    let keyed = (0..count).map(|at| {
        let cell = value(at);
        (time(&cell), cell, at as u32)
    });
    let mut keyed: Vec<(Moment, Cell<'a>, u32)> = keyed.collect();
    keyed.sort_by(|(a_time, a, at), (b_time, b, bt)| {
        let order = match (a_time, b_time) {
            (Some(a), Some(b)) => a.cmp(b),
            _ => compare_cells(a, b, comparison),
        };
        if is_descending { order.reverse() } else { order }.then(at.cmp(bt))
    });
    keyed.into_iter().map(|(.., row)| row).collect()
}

/// Compares two values as SQLite sorts them: NULL, numbers, texts.
pub(crate) fn compare_cells(a: &Cell<'_>, b: &Cell<'_>, comparison: Comparison) -> Ordering {
    let class = |cell: &Cell<'_>| match cell {
        Cell::Null => 0,
        Cell::Integer(_) | Cell::Real(_) => 1,
        Cell::Text(_) => 2,
    };
    match (a, b) {
        (Cell::Integer(a), Cell::Integer(b)) => a.cmp(b),
        (Cell::Real(a), Cell::Real(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Cell::Integer(a), Cell::Real(b)) => compare_numbers(*a, *b),
        (Cell::Real(a), Cell::Integer(b)) => compare_numbers(*b, *a).reverse(),
        (Cell::Text(a), Cell::Text(b)) => match comparison {
            Comparison::Binary => a.cmp(b),
            Comparison::NoCase => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
            Comparison::Time(order) => compare_times(a, b, |text| moment(text, order)),
        },
        _ => class(a).cmp(&class(b)),
    }
}

/// Compares an integer with a float exactly.
fn compare_numbers(integer: i64, real: f64) -> Ordering {
    let by_float = (integer as f64).partial_cmp(&real).unwrap_or(Ordering::Equal);
    // Of equal floats, the float is an integer in range, or just beyond it.
    by_float.then_with(|| i128::from(integer).cmp(&(real as i128)))
}

/// A time as seconds and nanoseconds; `None` for another text.
type Moment = Option<(i64, u32)>;

fn moment(text: &str, order: DateOrder) -> Moment {
    read_time(text, order).map(|time| (time.seconds, time.nanos))
}

fn compare_times(a: &str, b: &str, mut moment: impl FnMut(&str) -> Moment) -> Ordering {
    if a == b || have_one_form(a, b) {
        return a.cmp(b);
    }
    match (moment(a), moment(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.cmp(b),
    }
}

/// Most times that are remembered for a statement.
const MAX_KNOWN_TIMES: usize = 1 << 16;

/// Compares the texts of times in a statement, each of which is read once.
pub(crate) struct TimeComparison {
    order: DateOrder,
    known: Mutex<HashMap<Box<str>, Moment>>,
}

impl TimeComparison {
    pub(crate) fn new(order: DateOrder) -> Self {
        Self { order, known: Mutex::default() }
    }

    pub(crate) fn compare(&self, a: &str, b: &str) -> Ordering {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        compare_times(a, b, |text| {
            if let Some(known) = known.get(text) {
                return *known;
            }
            let moment = moment(text, self.order);
            if known.len() < MAX_KNOWN_TIMES {
                known.insert(text.into(), moment);
            }
            moment
        })
    }
}

/// Returns true if two times are written alike, so that their texts have the order of the times.
fn have_one_form(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let is_iso = |text: &[u8]| text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    let ends_alike = match a.len() {
        10 | 19 => true,
        20 => a[19] == b'Z' && b.get(19) == Some(&b'Z'),
        _ => false,
    };
    a.len() == b.len() && is_iso(a) && is_iso(b) && ends_alike && a.get(10) == b.get(10)
}
