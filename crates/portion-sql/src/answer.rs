//! Result rows as JSON.

use std::collections::BTreeSet;

use portion_core::scan::{Reader, escape};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::column::{HUGE, JSON, Names, RECORD};
use crate::limits::Limits;

/// What a question was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// A JSON array of one object a row, its members in the order of the columns. Where the only column is the record
    /// itself (`SELECT item FROM items`), the rows are the records, as they are written.
    pub json: String,
    /// How many rows there are in it.
    pub rows: usize,
    /// Whether rows are missing because of the limits of rows and bytes: an answer that is cut must say so.
    pub cut: bool,
    /// Columns in which whole numbers beyond 64 bits are shown, which are rounded; `item` has them exactly.
    pub rounded: Vec<String>,
}

/// An answer being written.
pub(crate) struct Writing {
    json: String,
    rows: usize,
    cut: bool,
    columns: Vec<Shown>,
    /// Whether a row is its only column, a record.
    bare: bool,
    rounded: BTreeSet<usize>,
}

/// A column of the answer.
struct Shown {
    name: String,
    /// Its name as a key, with what stands before it.
    key: String,
    declared: Declared,
}

/// What is known of a column of the answer: it is one of a table's as it is, or else an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declared {
    /// Objects and arrays are embedded.
    Json,
    /// Whole numbers beyond 64 bits may be in it.
    Huge,
    /// Text is text.
    Scalar,
    /// Text that is a JSON object or array is one: `json_group_array(…)`.
    Expression,
}

impl Writing {
    pub(crate) fn of(statement: &Statement<'_>) -> Self {
        let mut names = Names::default();
        let mut bare = false;
        let columns = statement.columns().map(|column| {
            bare = column.decl_type() == Some(RECORD);
            let declared = match column.decl_type() {
                None => Declared::Expression,
                Some(RECORD | JSON) => Declared::Json,
                Some(HUGE) => Declared::Huge,
                Some(_) => Declared::Scalar,
            };
            let name = names.unique(column.name());
            let mut key = String::from("\"");
            escape(&name, &mut key);
            key.push_str("\":");
            Shown { name, key, declared }
        });
        let columns: Vec<Shown> = columns.collect();
        let bare = bare && columns.len() == 1;
        Self { json: String::from("["), rows: 0, cut: false, columns, bare, rounded: BTreeSet::new() }
    }

    /// Writes a row; whether there is room for it and so perhaps for more.
    pub(crate) fn row(&mut self, row: &Row<'_>, limits: &Limits) -> rusqlite::Result<bool> {
        let before = self.json.len();
        if self.rows > 0 {
            self.json.push(',');
        }
        let mut rounded = None;
        if !self.bare {
            self.json.push('{');
        }
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            if !self.bare {
                self.json.push_str(&column.key);
            }
            let value = row.get_ref(at)?;
            write(value, column.declared, &mut self.json);
            if column.declared == Declared::Huge
                && let ValueRef::Real(n) = value
                && n.abs() >= TWO_TO_63
            {
                rounded = Some(at);
            }
        }
        if !self.bare {
            self.json.push('}');
        }
        let room = self.rows < limits.rows && self.json.len() < limits.bytes;
        if room {
            self.rows += 1;
            self.rounded.extend(rounded);
        } else {
            self.json.truncate(before);
            self.cut = true;
        }
        Ok(room)
    }

    pub(crate) fn finish(mut self) -> Answer {
        self.json.push(']');
        let rounded =
            self.rounded.iter().filter_map(|at| Some(self.columns.get(*at)?.name.clone())).collect();
        Answer { json: self.json, rows: self.rows, cut: self.cut, rounded }
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn write(value: ValueRef<'_>, declared: Declared, out: &mut String) {
    match value {
        ValueRef::Null => out.push_str("null"),
        ValueRef::Integer(n) => out.push_str(&n.to_string()),
        ValueRef::Real(n) => match serde_json::Number::from_f64(n) {
            Some(shortest) => out.push_str(&shortest.to_string()),
            None => out.push_str("null"),
        },
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            if declared != Declared::Scalar && is_container(&text) {
                out.push_str(text.trim());
            } else {
                out.push('"');
                escape(&text, out);
                out.push('"');
            }
        }
    }
}

/// Whether a text is a JSON object or array, and nothing else.
fn is_container(text: &str) -> bool {
    let text = text.trim_start();
    let mut reader = Reader::new(text);
    text.starts_with(['{', '[']) && reader.skip().is_ok() && reader.end().is_ok()
}
