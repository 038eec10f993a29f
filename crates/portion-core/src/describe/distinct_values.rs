//! Counts the distinct values of a field, and describes those that are few with their counts.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, Hasher};

use portion_json::scan::unescape;
use portion_json::span::Span;

use super::field_stats::FieldStats;

/// Largest number of distinct values that are counted one by one.
const MAX_COUNTED_VALUES: usize = 64;

/// Distinct values of a field, by their 64-bit hashes. A collision among a million values occurs by chance in
/// one of forty million lists.
#[derive(Clone, Debug)]
pub(super) enum DistinctValues {
    /// Each value with its count.
    Counted(HashMap<u64, ValueCount, IdentityHashBuilder>),
    /// Hashes only, for more values.
    Hashes(HashSet<u64, IdentityHashBuilder>),
    /// More distinct values than this; no longer counted.
    Exceeded(usize),
}

/// A counted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueCount {
    /// Number of occurrences.
    pub count: usize,
    /// Span of the first occurrence.
    pub first_span: Span,
    /// Number of the record of the first occurrence, from 1.
    pub first_record: usize,
}

/// Hasher for keys that are hashes already.
pub(super) type IdentityHashBuilder = BuildHasherDefault<IdentityHasher>;

/// Returns the key as its hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called for `u64`; present so that any key works.
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Default for DistinctValues {
    fn default() -> Self {
        Self::Counted(HashMap::default())
    }
}

impl DistinctValues {
    /// Counts a value of this record. `remaining` is the number of hashes that all fields together may still hold.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, at: Span, record: usize, remaining: &mut usize) {
        match self {
            Self::Counted(few) => {
                if let Some(stored) = few.get_mut(&hash) {
                    stored.count += 1;
                } else if few.len() < MAX_COUNTED_VALUES {
                    few.insert(hash, ValueCount { count: 1, first_span: at, first_record: record });
                } else {
                    *self = Self::spill_to_hashes(few, hash, remaining);
                }
            }
            Self::Hashes(many) => {
                if *remaining > 0 {
                    *remaining -= usize::from(many.insert(hash));
                } else if !many.contains(&hash) {
                    *remaining += many.len();
                    *self = Self::Exceeded(many.len());
                }
            }
            Self::Exceeded(_) => {}
        }
    }

    #[cold]
    fn spill_to_hashes(
        few: &HashMap<u64, ValueCount, IdentityHashBuilder>,
        hash: u64,
        remaining: &mut usize,
    ) -> Self {
        match remaining.checked_sub(few.len() + 1) {
            Some(rest) => {
                *remaining = rest;
                Self::Hashes(few.keys().copied().chain([hash]).collect())
            }
            None => Self::Exceeded(few.len()),
        }
    }

    /// Returns true if it no longer counts.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        matches!(self, Self::Exceeded(_))
    }

    /// Returns the number of distinct values, or `None` if there are more than were counted.
    pub(super) fn distinct_count(&self) -> Option<usize> {
        match self {
            Self::Counted(few) => Some(few.len()),
            Self::Hashes(many) => Some(many.len()),
            Self::Exceeded(_) => None,
        }
    }
}

/// Largest number of distinct values of a category.
pub(super) const MAX_CATEGORY_VALUES: usize = 20;
/// Values listed of a category.
const MAX_LISTED_VALUES: usize = 10;
/// Values listed of a field with more distinct values than a category.
const MAX_COMMON_VALUES: usize = 4;
/// Longest value that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Describes a category: `CA=1200, NV=12, +3 more`
pub(super) fn describe_category(field: &FieldStats, text: &str) -> Option<String> {
    let distinct = field.distinct_count()?;
    if distinct <= MAX_CATEGORY_VALUES {
        return describe_counts(field, text, MAX_LISTED_VALUES);
    }
    let counts = describe_common(field, text)?;
    Some(format!("{distinct} distinct: {counts}"))
}

/// Describes the most common values with their counts. If all values are about equally common, none is worth listing.
pub(super) fn describe_common(field: &FieldStats, text: &str) -> Option<String> {
    let distinct = field.distinct_count()?;
    let commonest = value_counts(field, text)?.first()?.1;
    let stands_out = distinct <= MAX_COMMON_VALUES || commonest * distinct >= field.present_count() * 2;
    stands_out.then(|| describe_counts(field, text, MAX_COMMON_VALUES)).flatten()
}

/// Describes the most common values with their counts, if some occur more than once.
fn describe_counts(field: &FieldStats, text: &str, max: usize) -> Option<String> {
    let values = value_counts(field, text)?;
    if values.len() > 1 && values.len() >= field.present_count() {
        return None;
    }
    let once = values.iter().filter(|(_, count)| *count == 1).count();
    let several = values.len() - once;
    // Values that occur once each are listed if there are at most two.
    let shown = if once > 2 { several.min(max) } else { values.len().min(max) };
    let listed: Vec<String> =
        values.iter().take(shown).map(|(value, count)| format!("{value}={count}")).collect();
    let mut words = listed.join(", ");
    if shown < values.len() {
        let each = if shown == several { " (1 each)" } else { "" };
        let _ = write!(words, ", +{} more{each}", values.len() - shown);
    }
    Some(words)
}

/// Returns all values with their counts, the most common first, then by value, or `None` if there are too
/// many or too long values.
pub(super) fn value_counts(field: &FieldStats, text: &str) -> Option<Vec<(String, usize)>> {
    let DistinctValues::Counted(few) = &field.tally else { return None };
    let mut stored: Vec<ValueCount> = few.values().copied().collect();
    stored.sort_by_key(|stored| (usize::MAX - stored.count, stored.first_span.start));
    let mut values = Vec::with_capacity(stored.len() + 2);
    for ValueCount { count, first_span: at, .. } in stored {
        let value = display_value(at.slice(text));
        if value.chars().count() > MAX_QUOTED_CHARS {
            return None;
        }
        values.push((value, count));
    }
    let bools = [("true", field.true_count), ("false", field.false_count)];
    values.extend(bools.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| (word.to_owned(), n)));
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare_values(&a.0, &b.0)));
    Some(values)
}

/// Returns a value as displayed: in quotes if it is ambiguous otherwise.
pub(super) fn display_value(json: &str) -> String {
    if !json.starts_with('"') {
        return json.to_owned();
    }
    let text = unescape(json);
    let literal = matches!(text.as_str(), "" | "true" | "false" | "null") || text.parse::<f64>().is_ok();
    let broken = text.trim().len() < text.len() || text.contains(['=', ',', ';', '\'', '\n']);
    if literal || broken { format!("'{}'", text.replace('\'', "''")) } else { text }
}

/// Compares values: numbers by size, before other values in alphabetical order.
fn compare_values(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
