//! Statistics of one field, collected in one pass over all records.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::quality::FixedState;
use portion_json::scan::{ParsedNumber, unescape};
use portion_json::span::Span;
use portion_text::column_form::{ColumnForm, FormLearner, is_missing, read_time};
use portion_text::timestamp::Timestamp;

use super::distinct_values::DistinctValues;
use super::number_stats::{NumberStats, TimestampRange};
use crate::missing_codes::MissingCodes;
use crate::snapshot::{FieldRank, FieldType, field_names};

/// Length in characters above which a text is measured rather than quoted.
pub(super) const LONG_TEXT_CHARS: usize = 160;

/// Statistics of one field over all records.
#[derive(Clone, Debug)]
pub(super) struct FieldStats {
    /// Dotted path.
    pub path: String,
    /// Rank of the field.
    pub rank: FieldRank,
    /// True if its numbers are codes rather than quantities.
    pub is_code: bool,
    /// True if many distinct values are counted, which is useful for names and high-ranked fields.
    counts_distinct: bool,
    pub null_count: usize,
    /// Codes of missing values, which are not counted as numbers, and how many records have each.
    missing_codes: MissingCodes,
    missing_counts: Vec<usize>,
    pub true_count: usize,
    pub false_count: usize,
    pub string_count: usize,
    /// Number of empty strings.
    pub blank_count: usize,
    pub array_count: usize,
    pub object_count: usize,
    /// Smallest and largest number of items of its arrays.
    pub item_count_range: Option<(usize, usize)>,
    /// Characters of its longest text, if one has more than [`LONG_TEXT_CHARS`] bytes.
    pub max_chars: usize,
    pub numbers: NumberStats,
    pub timestamps: TimestampRange,
    pub tally: DistinctValues,
    /// Learns the form of its texts.
    learner: FormLearner,
    /// Form in which its texts are read.
    form: ColumnForm,
    /// Number of the last record with the field, from 1.
    last_record: usize,
}

impl FieldStats {
    pub(super) fn new(path: String, rank: FieldRank) -> Self {
        Self {
            is_code: rank == FieldRank::Identity || field_names::is_code(&path),
            counts_distinct: rank <= FieldRank::Important
                || field_names::FieldNameHints::from_path(&path).identity_rank.is_some(),
            path,
            rank,
            null_count: 0,
            missing_codes: MissingCodes::default(),
            missing_counts: Vec::new(),
            true_count: 0,
            false_count: 0,
            string_count: 0,
            blank_count: 0,
            array_count: 0,
            object_count: 0,
            item_count_range: None,
            max_chars: 0,
            numbers: NumberStats::default(),
            timestamps: TimestampRange::None,
            tally: DistinctValues::default(),
            learner: FormLearner::default(),
            form: ColumnForm::Text,
            last_record: 0,
        }
    }

    /// Counts all distinct values, also of a field without rank.
    pub(super) fn count_all_distinct(&mut self) {
        self.counts_distinct = true;
    }

    /// Returns the form that its texts have in a query, if that is none of the forms that are read at first.
    pub(super) fn learnt_form(&self) -> ColumnForm {
        match self.learner.form_among(self.numbers.count > 0) {
            _ if self.array_count + self.object_count > 0 => ColumnForm::Text,
            ColumnForm::Boolean => ColumnForm::Text,
            ColumnForm::Time(_) if matches!(self.timestamps, TimestampRange::Range(_)) => ColumnForm::Text,
            form => form,
        }
    }

    /// Sets the form in which its texts are read.
    pub(super) fn read_texts_as(&mut self, form: ColumnForm) {
        self.form = form;
    }

    /// Sets the codes of missing values.
    pub(super) fn set_missing_codes(&mut self, codes: &MissingCodes) {
        self.missing_codes = codes.of_column(&self.path);
        self.missing_counts = vec![0; self.missing_codes.as_slice().len()];
    }

    /// Returns the number of records with a code of a missing value.
    pub(super) fn missing_count(&self) -> usize {
        self.missing_counts.iter().sum()
    }

    /// Returns the codes of missing values with the number of records that have each: `suppressed (-3)`.
    pub(super) fn missing_values(&self) -> impl Iterator<Item = (usize, String)> {
        let codes = self.missing_codes.as_slice().iter().zip(&self.missing_counts);
        codes.map(|(code, count)| (*count, format!("{} ({})", code.meaning, code.number)))
    }

    /// Counts a number that is the code of a missing value. Returns false for other numbers.
    #[inline]
    fn add_missing(&mut self, number: i64) -> bool {
        let Some(at) = self.missing_codes.position(number) else { return false };
        self.missing_counts[at] += 1;
        true
    }

    /// Returns true for the first value in a record. Of duplicate keys, the first counts.
    #[inline]
    pub(super) fn is_first_in_record(&mut self, record: usize) -> bool {
        let first = self.last_record != record + 1;
        self.last_record = record + 1;
        first
    }

    /// Returns the number of records with a value other than `null`.
    pub(super) fn present_count(&self) -> usize {
        self.scalar_count() + self.array_count + self.object_count
    }

    /// Returns the number of records with a string, a number or a boolean.
    pub(super) fn scalar_count(&self) -> usize {
        self.true_count + self.false_count + self.numbers.count + self.string_count
    }

    /// Returns the type of its values.
    pub(super) fn field_type(&self) -> FieldType {
        let present = self.present_count();
        let is_date = matches!(self.timestamps, TimestampRange::Range(_));
        match present {
            0 => FieldType::Null,
            _ if self.numbers.count == present => FieldType::Number,
            _ if self.string_count == present && is_date => FieldType::Date,
            _ if self.string_count == present => FieldType::String,
            _ if self.true_count + self.false_count == present => FieldType::Boolean,
            _ if self.array_count == present => FieldType::Array,
            _ if self.object_count == present => FieldType::Object,
            _ => FieldType::Mixed,
        }
    }

    /// Returns the number of objects that contain the field inside a record.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }

    /// Returns true if all of `records` records have distinct values.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.scalar_count() == records && self.distinct_count() == Some(records)
    }

    /// Returns the number of distinct scalars, or `None` if there are more than were counted.
    pub(super) fn distinct_count(&self) -> Option<usize> {
        Some(
            self.tally.distinct_count()?
                + usize::from(self.true_count > 0)
                + usize::from(self.false_count > 0),
        )
    }

    /// Returns the groups of records with equal texts or numbers, each as its first record and its number of records; `None`
    /// if there are too many, or other values.
    pub(super) fn groups(&self) -> Option<Vec<(usize, usize)>> {
        let DistinctValues::Counted(values) = &self.tally else { return None };
        let mut groups: Vec<_> = values.values().map(|value| (value.first_record, value.count)).collect();
        groups.sort_unstable();
        (self.true_count + self.false_count == 0).then_some(groups)
    }

    /// Adds an array with this number of items.
    pub(super) fn add_array(&mut self, items: usize) {
        self.array_count += 1;
        let (min, max) = self.item_count_range.unwrap_or((items, items));
        self.item_count_range = Some((min.min(items), max.max(items)));
    }

    /// Adds a number as written. `remaining` is the number of hashes that may still be held.
    #[inline]
    pub(super) fn add_number(&mut self, written: &str, at: Span, record: usize, remaining: &mut usize) {
        let number = ParsedNumber::parse(written);
        if let ParsedNumber::Decimal { digits, places: 0 } = &number
            && self.add_missing(*digits)
        {
            return;
        }
        let hash = match &number {
            _ if self.tally.is_exceeded() => None,
            ParsedNumber::Decimal { digits, places: 0 } => Some(NUMBER_HASHER.hash_one(digits)),
            ParsedNumber::Decimal { digits, places } => Some(NUMBER_HASHER.hash_one((digits, places))),
            ParsedNumber::Big(decimal, _) => Some(NUMBER_HASHER.hash_one(decimal)),
        };
        self.numbers.add(&number, at, record, !self.is_code);
        if let Some(hash) = hash {
            self.tally_number(hash, at, remaining);
        }
    }

    /// Adds an integer that occupies these bytes.
    #[inline]
    pub(super) fn add_integer(
        &mut self,
        number: i64,
        at: Range<usize>,
        record: usize,
        remaining: &mut usize,
    ) {
        if self.add_missing(number) {
            return;
        }
        let is_quantity = !self.is_code;
        let is_between = self.numbers.add_between(number, is_quantity);
        if is_between && self.tally.is_exceeded() {
            return;
        }
        let at = Span::new(at.start, at.end);
        if !is_between {
            self.numbers.add(&ParsedNumber::Decimal { digits: number, places: 0 }, at, record, is_quantity);
        }
        if !self.tally.is_exceeded() {
            self.tally_number(NUMBER_HASHER.hash_one(number), at, remaining);
        }
    }

    fn tally_number(&mut self, hash: u64, at: Span, remaining: &mut usize) {
        // The number of distinct quantities is useful only if it is small.
        let mut none = 0;
        let remaining = if self.is_code && self.counts_distinct { remaining } else { &mut none };
        self.tally.add(hash, at, self.last_record, remaining);
    }

    /// Adds a string of the text, with its quotes.
    #[inline]
    pub(super) fn add_string(&mut self, text: &str, at: Span, record: usize, remaining: &mut usize) {
        let length = at.len().saturating_sub(2);
        if self.form != ColumnForm::Text {
            let inside = Span::new(at.start as usize + 1, at.start as usize + 1 + length);
            if is_missing(inside.slice(text)) {
                self.null_count += 1;
                return;
            }
            if let Some(number) = self.form.number(inside.slice(text)) {
                self.add_number(&number.to_string(), inside, record, remaining);
                return;
            }
        }
        self.string_count += 1;
        self.blank_count += usize::from(length == 0);
        let settled = self.tally.is_exceeded()
            && matches!(self.timestamps, TimestampRange::Mixed)
            && self.learner.is_settled();
        if !settled || length > LONG_TEXT_CHARS {
            self.inspect_string(text, at, remaining);
        }
    }

    fn inspect_string(&mut self, text: &str, at: Span, remaining: &mut usize) {
        let inside = text.get(at.start as usize + 1..(at.end as usize).saturating_sub(1)).unwrap_or_default();
        if inside.len() > LONG_TEXT_CHARS {
            self.max_chars = self.max_chars.max(char_count(inside));
        }
        if !matches!(self.timestamps, TimestampRange::Mixed) {
            let timestamp = match self.form {
                ColumnForm::Time(order) => read_time(inside, order),
                _ => Timestamp::parse_iso(inside),
            };
            self.timestamps.add(timestamp, at);
        }
        self.learner.insert(inside);
        if self.tally.is_exceeded() {
            return;
        }
        let hash = match memchr::memchr(b'\\', inside.as_bytes()) {
            None => STRING_HASHER.hash_one(inside.as_bytes()),
            Some(_) => STRING_HASHER.hash_one(unescape(at.slice(text)).as_bytes()),
        };
        let only_timestamps = matches!(self.timestamps, TimestampRange::Range(_));
        let mut none = 0;
        let remaining = if self.counts_distinct && !only_timestamps { remaining } else { &mut none };
        self.tally.add(hash, at, self.last_record, remaining);
    }
}

/// The text `7` and the number 7 are distinct values.
const STRING_HASHER: FixedState = FixedState::with_seed(1);
const NUMBER_HASHER: FixedState = FixedState::with_seed(2);

/// Returns the number of characters of a string's content without escapes.
fn char_count(inside: &str) -> usize {
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return inside.chars().count();
    }
    unescape(inside).chars().count()
}
