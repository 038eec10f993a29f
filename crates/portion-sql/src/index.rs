//! Which rows have a value in a column: made when a join first asks, so that it takes the sum of two tables
//! rather than their product.

use std::collections::HashMap;

use rusqlite::types::ValueRef;

use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table::{ColumnSet, TableRows, should_stop_at};

/// The rows by the value of one column. SQLite compares again, by its own rules: what it holds equal must have one key
/// here, while what has one key may well differ.
#[derive(Debug, Default)]
pub(crate) struct ColumnIndex {
    group_by_key: HashMap<IndexKey, usize>,
    rows_by_group: Vec<Vec<u32>>,
}

/// What a value is looked up by: a text that may be taken for a number is one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum IndexKey {
    Number(u64),
    Text(Box<str>),
}

/// What a lookup comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexLookup {
    /// These rows.
    Rows(usize),
    /// No row.
    None,
    /// It is not known: every row has to be looked at.
    Unknown,
}

impl ColumnIndex {
    /// `None` where the clock stopped it.
    pub(crate) fn build(rows: &dyn TableRows, column: usize, clock: &QueryDeadline) -> Option<Self> {
        let mut index = Self::default();
        let mut row = rows.new_row(ColumnSet(1 << column.min(63)));
        for at in 0..rows.len() {
            if should_stop_at(at + 1, clock) {
                return None;
            }
            rows.read_row(at, &mut row);
            let key = match rows.cell(&row, column) {
                Cell::Null => continue,
                Cell::Integer(n) => IndexKey::number(n as f64),
                Cell::Real(n) => IndexKey::number(n),
                Cell::Text(text) => IndexKey::text(&text),
            };
            let place = *index.group_by_key.entry(key).or_insert(index.rows_by_group.len());
            if place == index.rows_by_group.len() {
                index.rows_by_group.push(Vec::new());
            }
            if let Some(rows) = index.rows_by_group.get_mut(place) {
                rows.push(u32::try_from(at).ok()?);
            }
        }
        Some(index)
    }

    pub(crate) fn lookup(&self, value: ValueRef<'_>) -> IndexLookup {
        let key = match value {
            ValueRef::Null => return IndexLookup::None,
            ValueRef::Integer(n) => IndexKey::number(n as f64),
            // A fraction as text has fewer digits than it has itself, and may equal what it is not.
            ValueRef::Real(n) if n.fract() != 0.0 => return IndexLookup::Unknown,
            ValueRef::Real(n) => IndexKey::number(n),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => IndexKey::text(text),
                Err(_) => return IndexLookup::Unknown,
            },
            ValueRef::Blob(_) => return IndexLookup::Unknown,
        };
        self.group_by_key.get(&key).map_or(IndexLookup::None, |place| IndexLookup::Rows(*place))
    }

    /// The `nth` row of those that were found.
    pub(crate) fn row(&self, found: usize, nth: usize) -> Option<usize> {
        self.rows_by_group.get(found)?.get(nth).map(|row| *row as usize)
    }
}

impl IndexKey {
    fn number(n: f64) -> Self {
        // Of zero there are two.
        Self::Number(if n == 0.0 { 0 } else { n.to_bits() })
    }

    fn text(text: &str) -> Self {
        match text.trim().parse::<f64>() {
            Ok(n) if !n.is_nan() => Self::number(n),
            _ => Self::Text(text.into()),
        }
    }
}
