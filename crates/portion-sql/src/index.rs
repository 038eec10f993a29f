//! Indexes the rows of a table by the value of a column. An index is built at the first lookup of a join,
//! so that the join takes the sum of two tables rather than their product.

use std::collections::HashMap;

use rusqlite::types::ValueRef;

use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table_rows::{ColumnSet, TableRows, should_stop_at};

/// Rows by the value of one column. SQLite compares the rows again by its own rules: values that it
/// considers equal must have the same key here, while different values may share a key.
#[derive(Debug, Default)]
pub(crate) struct ColumnIndex {
    group_by_key: HashMap<IndexKey, usize>,
    rows_by_group: Vec<Vec<u32>>,
}

/// The lookup key of a value. A text that looks like a number has the key of that number.
#[derive(Debug, PartialEq, Eq, Hash)]
enum IndexKey {
    Number(u64),
    Text(Box<str>),
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexLookup {
    /// The rows of this group.
    Rows(usize),
    /// No row.
    None,
    /// The index cannot decide: every row must be checked.
    Unknown,
}

impl ColumnIndex {
    /// Builds the index; `None` if the deadline was reached.
    pub(crate) fn build(rows: &dyn TableRows, column: usize, deadline: &QueryDeadline) -> Option<Self> {
        let mut index = Self::default();
        let mut row = rows.new_row(ColumnSet(1 << column.min(63)));
        for at in 0..rows.len() {
            if should_stop_at(at + 1, deadline) {
                return None;
            }
            rows.read_row(at, &mut row);
            let key = match rows.cell(&row, column) {
                Cell::Null => continue,
                Cell::Integer(n) => IndexKey::number(n as f64),
                Cell::Real(n) => IndexKey::number(n),
                Cell::Text(text) => IndexKey::text(&text),
            };
            let group = *index.group_by_key.entry(key).or_insert(index.rows_by_group.len());
            if group == index.rows_by_group.len() {
                index.rows_by_group.push(Vec::new());
            }
            if let Some(rows) = index.rows_by_group.get_mut(group) {
                rows.push(u32::try_from(at).ok()?);
            }
        }
        Some(index)
    }

    pub(crate) fn lookup(&self, value: ValueRef<'_>) -> IndexLookup {
        let key = match value {
            ValueRef::Null => return IndexLookup::None,
            ValueRef::Integer(n) => IndexKey::number(n as f64),
            // The text of a fraction has fewer digits than the number, so a text may equal a different
            // number.
            ValueRef::Real(n) if n.fract() != 0.0 => return IndexLookup::Unknown,
            ValueRef::Real(n) => IndexKey::number(n),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => IndexKey::text(text),
                Err(_) => return IndexLookup::Unknown,
            },
            ValueRef::Blob(_) => return IndexLookup::Unknown,
        };
        self.group_by_key.get(&key).map_or(IndexLookup::None, |group| IndexLookup::Rows(*group))
    }

    /// Returns the `nth` row of a group.
    pub(crate) fn row(&self, found: usize, nth: usize) -> Option<usize> {
        self.rows_by_group.get(found)?.get(nth).map(|row| *row as usize)
    }
}

impl IndexKey {
    fn number(n: f64) -> Self {
        // Positive and negative zero are equal.
        Self::Number(if n == 0.0 { 0 } else { n.to_bits() })
    }

    fn text(text: &str) -> Self {
        match text.trim().parse::<f64>() {
            Ok(n) if !n.is_nan() => Self::number(n),
            _ => Self::Text(text.into()),
        }
    }
}
