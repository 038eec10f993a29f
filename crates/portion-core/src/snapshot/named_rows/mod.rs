//! Names the cells of rows that have no names of their own.
//!
//! Databases answer with rows of values and, elsewhere in the same object, a list of columns: `{"columns":[{"name":"id"}],
//! "rows":[[1],[2]]}`. Some wrap each value, `{"f":[{"v":"1"}]}`, or write each row as pairs, `[{"field":"id","value":"1"}]`.
//! In spreadsheets, the first row has the names.

mod first_row;
mod tables;

pub use tables::{NamedTable, joined_rows, main_table, named_tables, tables_alike};

use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_text::names::split_name;

use super::list::{Layout, List};

/// Most columns.
const MAX_COLUMNS: usize = 4_096;
/// Names, as words, of the member that names a value.
const PAIR_NAMES: [&str; 3] = ["field", "name", "key"];

/// The names of the cells of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRows {
    /// The names, in order.
    pub names: Vec<String>,
    /// Number of rows, at the beginning, that hold the names.
    pub skipped: usize,
    /// Spans of the lists of columns that have the names.
    pub schemas: Vec<Span>,
    form: CellForm,
}

/// The form of the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellForm {
    /// Values in an array.
    Plain,
    /// Objects with a value each, in an array, or in the arrays of an object.
    Wrapped,
    /// Objects with a name and a value each.
    Pairs,
}

/// Returns the names of the cells of a list of rows; `None` if its items have names of their own, or none.
pub fn header_row(text: &str, list: &List) -> Option<NamedRows> {
    let first = list.iter_from(text, 0).next().filter(|_| list.layout == Layout::Array)?;
    CellForm::of_row(text, first.value)?;
    let mut tables = named_tables(text, Span::new(0, text.len())).into_iter();
    tables.find(|table| table.span == list.span).map(|table| table.rows).or_else(|| {
        let (names, skipped) = first_row::names_in_first_row(text, list.span, false)?;
        Some(NamedRows { skipped, ..NamedRows::plain(names) })
    })
}

impl NamedRows {
    /// Creates the names of rows that are arrays of values.
    pub fn plain(names: Vec<String>) -> Self {
        Self { names, skipped: 0, schemas: Vec::new(), form: CellForm::Plain }
    }

    /// Reads the values of a row, one for each name. One that is missing is empty.
    pub fn read_cells(&self, text: &str, row: Span, cells: &mut [Span]) {
        cells.fill(Span::default());
        if self.form == CellForm::Pairs {
            for (name, value) in items(text, row).filter_map(|pair| name_and_value(text, pair)) {
                let at = self.names.iter().position(|other| *other == name);
                if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
                    *cell = value;
                }
            }
        } else {
            cells.iter_mut().zip(self.form.cells(text, row)).for_each(|(cell, value)| *cell = value);
        }
    }
}

impl CellForm {
    /// Returns the form of a row; `None` if it is none.
    fn of_row(text: &str, row: Span) -> Option<Self> {
        let is_array = |value: &Span| JsonKind::of_value(value.slice(text)) == JsonKind::Array;
        let mut cells = Vec::new();
        if is_array(&row) {
            cells.extend(items(text, row).take(MAX_COLUMNS + 1));
        } else {
            for member in members(text, row) {
                cells.extend(Some(member.value).filter(is_array).map(|array| items(text, array))?);
            }
        }
        if cells.is_empty() || cells.len() > MAX_COLUMNS {
            return None;
        }
        if cells.iter().all(|cell| unwrapped(text, *cell).is_some()) {
            let are_pairs = is_array(&row) && cells.iter().all(|cell| name_and_value(text, *cell).is_some());
            return Some(if are_pairs { Self::Pairs } else { Self::Wrapped });
        }
        is_array(&row).then_some(Self::Plain)
    }

    /// Yields the values of a row. One that is missing is empty.
    fn cells(self, text: &str, row: Span) -> impl Iterator<Item = Span> {
        let value =
            move |cell| if self == Self::Plain { cell } else { unwrapped(text, cell).unwrap_or(cell) };
        written_cells(text, row).map(value)
    }
}

/// Yields the cells of a row as they are written.
fn written_cells(text: &str, row: Span) -> impl Iterator<Item = Span> {
    let inner = members(text, row).flat_map(|member| items(text, member.value));
    items(text, row).chain(inner)
}

/// Returns the value in an object around it: `{"v":1}`, `{"stringValue":"a"}`. It is empty in `{"isNull":true}` and `{}`.
fn unwrapped(text: &str, cell: Span) -> Option<Span> {
    if JsonKind::of_value(cell.slice(text)) != JsonKind::Object {
        return None;
    }
    let mut inside = members(text, cell).peekable();
    if inside.peek().is_none() {
        return Some(Span::default());
    }
    inside.find_map(|member| {
        let words = split_name(&unescape(member.key.slice(text)));
        let is_null = words.iter().any(|word| word == "null") && member.value.slice(text) == "true";
        let is_value = words.last().is_some_and(|word| matches!(&**word, "v" | "value"));
        if is_null { Some(Span::default()) } else { is_value.then_some(member.value) }
    })
}

/// Returns the name and the value of a pair.
fn name_and_value(text: &str, pair: Span) -> Option<(String, Span)> {
    let name = member_named(text, pair, &PAIR_NAMES)?;
    Some((name, unwrapped(text, pair)?))
}

/// Returns the string of the member of an object with the first of these names that it has, as words.
fn member_named(text: &str, object: Span, names: &[&str]) -> Option<String> {
    let ranked = members(text, object).filter_map(|member| {
        let words = split_name(&unescape(member.key.slice(text))).join(" ");
        Some((names.iter().position(|name| *name == words)?, member.value.slice(text)))
    });
    let (_, value) = ranked.min_by_key(|(rank, _)| *rank)?;
    (JsonKind::of_value(value) == JsonKind::String).then(|| unescape(value))
}
