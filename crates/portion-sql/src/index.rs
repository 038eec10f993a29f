//! Which rows have a value in a column: made when a join first asks, so that it takes the sum of two tables
//! rather than their product.

use std::collections::HashMap;

use rusqlite::types::ValueRef;

use crate::cell::Cell;
use crate::limits::Clock;
use crate::table::{Rows, Wanted, every};

/// The rows by the value of one column. SQLite compares again, by its own rules: what it holds equal must have one key
/// here, while what has one key may well differ.
#[derive(Debug, Default)]
pub(crate) struct Index {
    places: HashMap<Key, usize>,
    rows: Vec<Vec<u32>>,
}

/// What a value is looked up by: a text that may be taken for a number is one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Text(Box<str>),
}

/// What a lookup comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// These rows.
    Rows(usize),
    /// No row.
    None,
    /// It is not known: every row has to be looked at.
    Unknown,
}

impl Index {
    /// `None` where the clock stopped it.
    pub(crate) fn of(rows: &dyn Rows, column: usize, clock: &Clock) -> Option<Self> {
        let mut index = Self::default();
        let mut row = rows.blank(Wanted(1 << column.min(63)));
        for at in 0..rows.len() {
            if every(at + 1, clock) {
                return None;
            }
            rows.read(at, &mut row);
            let key = match rows.cell(&row, column) {
                Cell::Null => continue,
                Cell::Integer(n) => Key::number(n as f64),
                Cell::Real(n) => Key::number(n),
                Cell::Text(text) => Key::text(&text),
            };
            let place = *index.places.entry(key).or_insert(index.rows.len());
            if place == index.rows.len() {
                index.rows.push(Vec::new());
            }
            if let Some(rows) = index.rows.get_mut(place) {
                rows.push(u32::try_from(at).ok()?);
            }
        }
        Some(index)
    }

    pub(crate) fn find(&self, value: ValueRef<'_>) -> Found {
        let key = match value {
            ValueRef::Null => return Found::None,
            ValueRef::Integer(n) => Key::number(n as f64),
            // A fraction as text has fewer digits than it has itself, and may equal what it is not.
            ValueRef::Real(n) if n.fract() != 0.0 => return Found::Unknown,
            ValueRef::Real(n) => Key::number(n),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Key::text(text),
                Err(_) => return Found::Unknown,
            },
            ValueRef::Blob(_) => return Found::Unknown,
        };
        self.places.get(&key).map_or(Found::None, |place| Found::Rows(*place))
    }

    /// The `nth` row of those that were found.
    pub(crate) fn row(&self, found: usize, nth: usize) -> Option<usize> {
        self.rows.get(found)?.get(nth).map(|row| *row as usize)
    }
}

impl Key {
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
