//! What is gathered of one field while all records are passed.

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

use super::moment::Moments;
use super::number::Number;
use super::sum::Numbers;
use super::tally::Tally;
use crate::scan::{Kind, decoded};
use crate::snapshot::{Rank, salience};
use crate::span::Span;

/// Characters from which a text is long: it is measured rather than quoted.
pub(super) const LONG: usize = 160;

/// One field, seen in all records.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    /// Its dotted path.
    pub path: String,
    /// How much it tells.
    pub rank: Rank,
    /// Whether its numbers name or place rather than count.
    pub is_code: bool,
    pub nulls: usize,
    pub trues: usize,
    pub falses: usize,
    pub strings: usize,
    /// Strings that are empty.
    pub blank: usize,
    pub arrays: usize,
    pub objects: usize,
    /// The fewest and the most items of its arrays.
    pub items: Option<(usize, usize)>,
    /// Characters of its longest text, where one is longer than [`LONG`] bytes.
    pub longest: usize,
    pub numbers: Numbers,
    pub moments: Moments,
    pub tally: Tally,
    /// The number, from 1, of the last record in which it was seen.
    last: usize,
}

impl Gathered {
    pub(super) fn new(path: String, rank: Rank) -> Self {
        Self {
            is_code: rank == Rank::Identity || salience::is_code(&path),
            path,
            rank,
            nulls: 0,
            trues: 0,
            falses: 0,
            strings: 0,
            blank: 0,
            arrays: 0,
            objects: 0,
            items: None,
            longest: 0,
            numbers: Numbers::default(),
            moments: Moments::None,
            tally: Tally::default(),
            last: 0,
        }
    }

    /// Whether this is the first value of that record: of duplicate keys the first is meant.
    #[inline]
    pub(super) fn is_first(&mut self, record: usize) -> bool {
        let first = self.last != record + 1;
        self.last = record + 1;
        first
    }

    /// Records that hold a value, `null` apart.
    pub(super) fn present(&self) -> usize {
        self.scalars() + self.arrays + self.objects
    }

    /// Records that hold a string, a number or a boolean.
    pub(super) fn scalars(&self) -> usize {
        self.trues + self.falses + self.numbers.count + self.strings
    }

    /// Whether each of so many records holds another value.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.scalars() == records && self.distinct() == Some(records)
    }

    /// How many different scalars there are; `None` where they are more than were counted.
    pub(super) fn distinct(&self) -> Option<usize> {
        Some(self.tally.distinct()? + usize::from(self.trues > 0) + usize::from(self.falses > 0))
    }

    /// Adds an array of so many items.
    pub(super) fn array(&mut self, items: usize) {
        self.arrays += 1;
        let (fewest, most) = self.items.unwrap_or((items, items));
        self.items = Some((fewest.min(items), most.max(items)));
    }

    /// Adds a value that is no array. `room` is how many hashes may be held.
    #[inline]
    pub(super) fn add(&mut self, kind: Kind, value: &str, at: Span, record: usize, room: &mut usize) {
        match kind {
            Kind::Null => self.nulls += 1,
            Kind::Bool if value == "true" => self.trues += 1,
            Kind::Bool => self.falses += 1,
            Kind::Object | Kind::Array => self.objects += 1,
            Kind::Number => {
                let number = Number::of(value);
                self.numbers.add(number, at, record);
                if self.tally.is_over() {
                    return;
                }
                let hash = match number {
                    Number::Decimal { digits, places } => NUMBERS.hash_one((digits, places)),
                    Number::Other(_) => NUMBERS.hash_one(value.as_bytes()),
                };
                // Whether quantities differ is of interest only where they are few.
                let mut none = 0;
                self.tally.add(hash, at, if self.is_code { room } else { &mut none });
            }
            Kind::String => self.string(value, at, room),
        }
    }

    fn string(&mut self, quoted: &str, at: Span, room: &mut usize) {
        let text = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        self.strings += 1;
        self.blank += usize::from(text.is_empty());
        if text.len() > LONG {
            self.longest = self.longest.max(characters(text));
        }
        self.moments.add(text, at);
        if self.tally.is_over() {
            return;
        }
        let mut hash = TEXTS.hash_one(text.as_bytes());
        if !self.tally.counts(hash) && memchr::memchr(b'\\', text.as_bytes()).is_some() {
            hash = TEXTS.hash_one(decoded(quoted).as_bytes());
        }
        let only_moments = matches!(self.moments, Moments::All(_));
        let mut none = 0;
        self.tally.add(hash, at, if only_moments { &mut none } else { room });
    }
}

/// The text `7` and the number 7 are two values.
const TEXTS: FixedState = FixedState::with_seed(1);
const NUMBERS: FixedState = FixedState::with_seed(2);

/// Characters of a string's inside once it is out of its escapes.
fn characters(inside: &str) -> usize {
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return inside.chars().count();
    }
    decoded(inside).chars().count()
}
