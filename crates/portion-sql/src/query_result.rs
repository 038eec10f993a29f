//! Result rows as JSON.

use std::collections::BTreeSet;

use portion_core::scan::{JsonReader, escape_into};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::column::{BIG_INTEGER_TYPE, JSON_TYPE, RECORD_TYPE, UniqueNames};
use crate::limits::QueryLimits;

/// What a question was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// A JSON array of one object a row, its members in the order of the columns. Where the only column is the record
    /// itself (`SELECT item FROM items`), the rows are the records, as they are written.
    pub json: String,
    /// How many rows there are in it.
    pub row_count: usize,
    /// Whether rows are missing because of the limits of rows and bytes: an answer that is cut must say so.
    pub is_truncated: bool,
    /// Columns in which whole numbers beyond 64 bits are shown, which are rounded; `item` has them exactly.
    pub rounded_columns: Vec<String>,
}

/// An answer being written.
pub(crate) struct ResultWriter {
    json: String,
    row_count: usize,
    is_truncated: bool,
    columns: Vec<ResultColumn>,
    /// Whether a row is its only column, a record.
    is_bare_record: bool,
    rounded_columns: BTreeSet<usize>,
}

/// A column of the answer.
struct ResultColumn {
    name: String,
    /// Its name as a key, with what stands before it.
    json_key: String,
    declared_type: DeclaredType,
}

/// What is known of a column of the answer: it is one of a table's as it is, or else an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclaredType {
    /// Whatever is JSON is embedded.
    Record,
    /// Objects and arrays are embedded.
    Json,
    /// Whole numbers beyond 64 bits may be in it.
    BigInteger,
    /// Text is text.
    Scalar,
    /// Text that is a JSON object or array is one: `json_group_array(…)`.
    Expression,
}

impl ResultWriter {
    pub(crate) fn for_statement(statement: &Statement<'_>) -> Self {
        let mut names = UniqueNames::default();
        let mut bare = false;
        let columns = statement.columns().map(|column| {
            bare = column.decl_type() == Some(RECORD_TYPE);
            let declared = match column.decl_type() {
                None => DeclaredType::Expression,
                Some(RECORD_TYPE) => DeclaredType::Record,
                Some(JSON_TYPE) => DeclaredType::Json,
                Some(BIG_INTEGER_TYPE) => DeclaredType::BigInteger,
                Some(_) => DeclaredType::Scalar,
            };
            let name = names.unique(column.name());
            let mut key = String::from("\"");
            escape_into(&name, &mut key);
            key.push_str("\":");
            ResultColumn { name, json_key: key, declared_type: declared }
        });
        let columns: Vec<ResultColumn> = columns.collect();
        let bare = bare && columns.len() == 1;
        Self {
            json: String::from("["),
            row_count: 0,
            is_truncated: false,
            columns,
            is_bare_record: bare,
            rounded_columns: BTreeSet::new(),
        }
    }

    /// Writes a row; whether there is room for it and so perhaps for more.
    pub(crate) fn write_row(&mut self, row: &Row<'_>, limits: &QueryLimits) -> rusqlite::Result<bool> {
        let before = self.json.len();
        if self.row_count > 0 {
            self.json.push(',');
        }
        let mut rounded = None;
        if !self.is_bare_record {
            self.json.push('{');
        }
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            if !self.is_bare_record {
                self.json.push_str(&column.json_key);
            }
            let value = row.get_ref(at)?;
            write_value(value, column.declared_type, &mut self.json);
            if self.json.len() > limits.max_bytes {
                break;
            }
            if column.declared_type == DeclaredType::BigInteger
                && let ValueRef::Real(n) = value
                && n.abs() >= TWO_TO_63
            {
                rounded = Some(at);
            }
        }
        if !self.is_bare_record {
            self.json.push('}');
        }
        let room = self.row_count < limits.max_rows && self.json.len() <= limits.max_bytes;
        if room {
            self.row_count += 1;
            self.rounded_columns.extend(rounded);
        } else {
            self.json.truncate(before);
            self.is_truncated = true;
        }
        Ok(room)
    }

    /// Whether not even one row was written for want of room.
    pub(crate) fn is_too_wide(&self) -> bool {
        self.is_truncated && self.row_count == 0
    }

    pub(crate) fn finish(mut self) -> QueryResult {
        self.json.push(']');
        let rounded =
            self.rounded_columns.iter().filter_map(|at| Some(self.columns.get(*at)?.name.clone())).collect();
        QueryResult {
            json: self.json,
            row_count: self.row_count,
            is_truncated: self.is_truncated,
            rounded_columns: rounded,
        }
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn write_value(value: ValueRef<'_>, declared: DeclaredType, out: &mut String) {
    match value {
        ValueRef::Null => out.push_str("null"),
        ValueRef::Integer(n) => out.push_str(&n.to_string()),
        ValueRef::Real(n) => match serde_json::Number::from_f64(n) {
            Some(shortest) => out.push_str(&shortest.to_string()),
            None => out.push_str("null"),
        },
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let embedded = match declared {
                DeclaredType::Record => is_json(&text),
                DeclaredType::Json | DeclaredType::Expression => {
                    text.trim_start().starts_with(['{', '[']) && is_json(&text)
                }
                DeclaredType::BigInteger | DeclaredType::Scalar => false,
            };
            if embedded {
                out.push_str(text.trim());
            } else {
                out.push('"');
                escape_into(&text, out);
                out.push('"');
            }
        }
    }
}

/// Whether a text is one JSON value, and nothing else.
fn is_json(text: &str) -> bool {
    let mut reader = JsonReader::new(text);
    reader.skip().is_ok() && reader.expect_end().is_ok()
}
