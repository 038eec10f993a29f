//! The texts as which the numbers of a column are written: `$2.50` of 2.5.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::cell::Cell;

/// The numbers of a column, each with its text.
#[derive(Default)]
pub(crate) struct Spellings {
    texts: HashMap<(bool, u64), Spelling>,
    bytes: usize,
}

/// The way in which a number is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Text(Box<str>),
    /// As a number, not as a text.
    Number,
    /// In several ways.
    Several,
}

impl Spelling {
    /// Returns the way in which a number is written, by its cell; `None` if that is missing.
    pub(crate) fn of(written: Cell<'_>) -> Option<Self> {
        match written {
            Cell::Text(text) => Some(Self::Text(text.into())),
            Cell::Integer(_) | Cell::Real(_) => Some(Self::Number),
            Cell::Null => None,
        }
    }
}

/// Returns the key of a number: true for an integer, and its bits.
fn key(number: &Cell<'_>) -> Option<(bool, u64)> {
    match number {
        Cell::Integer(n) => Some((true, *n as u64)),
        Cell::Real(n) => Some((false, n.to_bits())),
        Cell::Text(_) | Cell::Null => None,
    }
}

impl Spellings {
    /// Adds a value with the cell as it is written. Only numbers have spellings.
    pub(crate) fn insert(&mut self, value: &Cell<'_>, written: Cell<'_>) {
        let (Some(key), Some(spelling)) = (key(value), Spelling::of(written)) else { return };
        match self.texts.entry(key) {
            Entry::Vacant(entry) => {
                self.bytes += if let Spelling::Text(text) = &spelling { text.len() } else { 0 };
                entry.insert(spelling);
            }
            Entry::Occupied(mut known) if *known.get() != spelling => {
                known.insert(Spelling::Several);
            }
            Entry::Occupied(_) => {}
        }
    }

    pub(crate) fn get(&self, number: &Cell<'_>) -> Option<&Spelling> {
        self.texts.get(&key(number)?)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes + self.texts.capacity() * size_of::<((bool, u64), Spelling)>()
    }
}
