//! What is gathered of one field while all records are passed.

use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::ops::Range;

use super::moment::Moments;
use super::number::Number;
use super::sum::Numbers;
use super::tally::Tally;
use crate::scan::decoded;
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
    /// Whether many different values are counted: how many there are is of interest where they are names or asked for.
    is_counted: bool,
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
            is_counted: rank <= Rank::Salient || salience::Naming::of(&path).identifies.is_some(),
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

    /// Objects that it is inside of.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
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

    /// Adds a number as it is written. `room` is how many hashes may be held.
    #[inline]
    pub(super) fn number(&mut self, written: &str, at: Span, record: usize, room: &mut usize) {
        let number = Number::of(written);
        self.numbers.add(number, at, record, !self.is_code);
        if !self.tally.is_over() {
            let hash = match number {
                Number::Decimal { digits, places: 0 } => NUMBERS.hash_one(digits),
                Number::Decimal { digits, places } => NUMBERS.hash_one((digits, places)),
                Number::Other(_) => NUMBERS.hash_one(written.as_bytes()),
            };
            self.tally_number(hash, at, room);
        }
    }

    /// The same for a whole number that stands at those bytes.
    #[inline]
    pub(super) fn whole(&mut self, number: i64, at: Range<usize>, record: usize, room: &mut usize) {
        let is_quantity = !self.is_code;
        let is_between = self.numbers.add_between(number, is_quantity);
        if is_between && self.tally.is_over() {
            return;
        }
        let at = Span::new(at.start, at.end);
        if !is_between {
            self.numbers.add(Number::Decimal { digits: number, places: 0 }, at, record, is_quantity);
        }
        if !self.tally.is_over() {
            self.tally_number(NUMBERS.hash_one(number), at, room);
        }
    }

    fn tally_number(&mut self, hash: u64, at: Span, room: &mut usize) {
        // Whether quantities differ is of interest only where they are few.
        let mut none = 0;
        self.tally.add(hash, at, if self.is_code && self.is_counted { room } else { &mut none });
    }

    /// Adds a string of the text, which stands there with its quotes.
    #[inline]
    pub(super) fn string(&mut self, text: &str, at: Span, room: &mut usize) {
        let length = at.len().saturating_sub(2);
        self.strings += 1;
        self.blank += usize::from(length == 0);
        let settled = self.tally.is_over() && matches!(self.moments, Moments::Not);
        if !settled || length > LONG {
            self.look_into(text, at, room);
        }
    }

    fn look_into(&mut self, text: &str, at: Span, room: &mut usize) {
        let inside = text.get(at.start as usize + 1..(at.end as usize).saturating_sub(1)).unwrap_or_default();
        if inside.len() > LONG {
            self.longest = self.longest.max(characters(inside));
        }
        self.moments.add(inside, at);
        if self.tally.is_over() {
            return;
        }
        let hash = match memchr::memchr(b'\\', inside.as_bytes()) {
            None => TEXTS.hash_one(inside.as_bytes()),
            Some(_) => TEXTS.hash_one(decoded(at.of(text)).as_bytes()),
        };
        let only_moments = matches!(self.moments, Moments::All(_));
        let mut none = 0;
        self.tally.add(hash, at, if self.is_counted && !only_moments { room } else { &mut none });
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
