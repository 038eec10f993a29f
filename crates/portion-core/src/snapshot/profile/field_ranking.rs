//! Ranks fields by how informative they are, from their names and sampled values.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use portion_json::scan::JsonKind;

use super::field_names::{FieldNameHints, is_id_of_element};
use super::{Field, FieldRank};

/// Length in bytes above which a text is long.
const LONG_TEXT_BYTES: usize = 160;
/// Maximum bytes of a value that identifies a record, quotes included.
const MAX_IDENTITY_BYTES: usize = 64;
/// Maximum name fields of a record.
const MAX_NAMES: usize = 2;
/// Minimum records to conclude that a field is unique.
const MIN_RECORDS_FOR_UNIQUENESS: usize = 3;
/// Minimum records to require that values of a status repeat.
const MIN_RECORDS_FOR_STATUS: usize = 8;
/// Importance of the id of an element.
const MAX_IMPORTANCE: usize = 100;
/// Importance that each level of depth subtracts.
const DEPTH_PENALTY: usize = 12;
/// Minimum importance for a field in a nested object to rank with the record's own.
const MIN_NESTED_IMPORTANCE: usize = 45;

/// Returns the fields of `records` sampled records, the most informative first.
pub(super) fn rank_fields(samples: &FieldSamples<'_>, records: usize) -> Vec<Field> {
    let named: Vec<FieldCandidate<'_>> =
        samples.fields.iter().map(|sample| FieldCandidate::new(sample, records)).collect();
    let mut ranks: Vec<FieldRank> = named.iter().map(FieldCandidate::base_rank).collect();
    // Of several candidates only the best ones are the identity, the names and the status.
    assign_rank(&mut ranks, FieldRank::Identity, 1, named.iter().map(FieldCandidate::identity_claim));
    assign_rank(&mut ranks, FieldRank::Name, MAX_NAMES, named.iter().map(FieldCandidate::name_claim));
    let is_name = |(field, rank): (&FieldCandidate<'_>, &FieldRank)| {
        *rank == FieldRank::Name && !field.is_uninformative
    };
    if !named.iter().zip(&ranks).any(is_name) {
        let is_anonymous = !ranks.contains(&FieldRank::Identity);
        let claims = named.iter().map(|field| field.label_claim(is_anonymous));
        assign_rank(&mut ranks, FieldRank::Name, MAX_NAMES, claims);
    }
    assign_rank(&mut ranks, FieldRank::Status, 1, named.iter().map(FieldCandidate::status_claim));
    let mut order: Vec<usize> = (0..named.len()).collect();
    order.sort_by_key(|at| {
        let named = &named[*at];
        let (first, depth) = match ranks[*at] {
            FieldRank::Name => (named.name_claim().unwrap_or(0), 0),
            FieldRank::Important => (usize::MAX - named.importance(), named.depth),
            _ => (0, 0),
        };
        (ranks[*at], first, named.is_uninformative, depth, *at)
    });
    order.into_iter().map(|at| Field { path: samples.fields[at].path.clone(), rank: ranks[at] }).collect()
}

/// Gives a rank to at most `max` fields that claim it and have a lower one: the lowest claims win, then
/// the first fields.
fn assign_rank(
    ranks: &mut [FieldRank],
    rank: FieldRank,
    max: usize,
    claims: impl Iterator<Item = Option<usize>>,
) {
    let mut claims: Vec<(usize, usize)> =
        claims.enumerate().filter_map(|(at, claim)| Some((claim?, at))).collect();
    claims
        .retain(|(_, at)| ranks[*at] > rank && !matches!(ranks[*at], FieldRank::Identity | FieldRank::Name));
    claims.sort_unstable();
    claims.into_iter().take(max).for_each(|(_, at)| ranks[at] = rank);
}

/// A field with the hints from its name.
struct FieldCandidate<'a> {
    sample: &'a FieldSample<'a>,
    name_hints: FieldNameHints,
    depth: usize,
    record_count: usize,
    is_unique: bool,
    is_id_of_element: bool,
    /// True if it is almost uninformative: the same value everywhere, or hardly any value.
    is_uninformative: bool,
}

impl<'a> FieldCandidate<'a> {
    fn new(sample: &'a FieldSample<'a>, records: usize) -> Self {
        Self {
            sample,
            name_hints: FieldNameHints::from_path(&sample.path),
            depth: sample.depth(),
            record_count: records,
            is_unique: sample.is_unique(records),
            is_id_of_element: is_id_of_element(&sample.path),
            is_uninformative: sample.is_uninformative(records),
        }
    }

    /// Returns the rank of the field if it is not the identity, a name or the status of the record.
    fn base_rank(&self) -> FieldRank {
        let sample = self.sample;
        let repeated = sample.is_repeated(self.record_count);
        if sample.empty_count == sample.occurrence_count || sample.is_url || self.name_hints.is_noise {
            FieldRank::Noise
        } else if sample.has_containers {
            FieldRank::Container
        } else if sample.max_bytes > LONG_TEXT_BYTES {
            FieldRank::LongText
        } else if self.is_id_of_element
            || !repeated
                && self.name_hints.importance > 0
                && (self.depth == 0 || self.importance() >= MIN_NESTED_IMPORTANCE)
        {
            FieldRank::Important
        } else if self.depth == 0 {
            FieldRank::Plain
        } else if self.name_hints.name_rank.is_some()
            || self.name_hints.is_state
            || self.name_hints.identity_rank.is_some()
        {
            FieldRank::NestedLabel
        } else {
            FieldRank::Nested
        }
    }

    /// Returns the importance, reduced by depth.
    fn importance(&self) -> usize {
        if self.is_id_of_element {
            return MAX_IMPORTANCE;
        }
        let little = if self.is_uninformative { 2 } else { 1 };
        (self.name_hints.importance / little).saturating_sub(DEPTH_PENALTY * self.depth)
    }

    /// Returns true if it is a short value of the record, or of an object directly in it.
    fn is_own_short_value(&self) -> bool {
        let short = !self.sample.has_containers && !self.name_hints.is_noise && !self.sample.is_url;
        short
            && self.depth <= 1
            && self.sample.max_bytes <= LONG_TEXT_BYTES
            && !self.sample.is_repeated(self.record_count)
    }

    /// Returns its claim to be the identity for programs; lower is better.
    fn identity_claim(&self) -> Option<usize> {
        let sample = self.sample;
        let fits = self.is_own_short_value() && self.is_unique && !sample.has_bools && !sample.has_fractions;
        if !fits || sample.max_bytes > MAX_IDENTITY_BYTES {
            return None;
        }
        let (depth, by_data) =
            (self.depth * 3, self.record_count >= MIN_RECORDS_FOR_UNIQUENESS && self.depth == 0);
        let spaced = sample.distinct_values.iter().any(|value| value.contains(' '));
        match (self.name_hints.identity_rank, self.name_hints.name_rank) {
            (Some(how), _) => Some(how + depth),
            (None, Some(_)) if self.record_count >= MIN_RECORDS_FOR_UNIQUENESS => Some(10 + depth),
            // Distinct numbers may be amounts; sentences and dates are not names.
            (None, None) if by_data && (sample.has_strings || self.name_hints.importance == 0) => {
                Some(20 + 2 * usize::from(self.name_hints.importance > 0) + 4 * usize::from(spaced))
            }
            _ => None,
        }
    }

    /// Returns its claim to be the name for people; lower is better.
    fn name_claim(&self) -> Option<usize> {
        let how =
            self.name_hints.name_rank.filter(|_| self.is_own_short_value() && self.sample.has_strings)?;
        // A value that many records share is the name of something else.
        let shared = self.record_count >= MIN_RECORDS_FOR_UNIQUENESS
            && self.sample.distinct_values.len() * 2 < self.record_count;
        let empty = self.sample.empty_count == self.sample.occurrence_count;
        (!empty).then_some(
            100 * self.depth + 10 * usize::from(shared) + 5 * usize::from(self.is_uninformative) + how,
        )
    }

    /// Returns its claim to stand for the name of a record without one, as nested names do and, if nothing else identifies the
    /// record, the labels in it; lower is better.
    fn label_claim(&self, is_anonymous: bool) -> Option<usize> {
        let sample = self.sample;
        let is_short = sample.has_strings
            && !sample.has_containers
            && !sample.is_url
            && sample.max_bytes <= MAX_IDENTITY_BYTES
            && !sample.is_repeated(self.record_count);
        let is_label = self.name_hints.name_rank.is_some() || is_anonymous && self.depth == 1;
        let is_telling = self.depth > 0 && !self.is_uninformative && !self.name_hints.is_noise;
        (is_short && is_label && is_telling).then_some(self.depth)
    }

    /// Returns its claim to be the status of the record; lower is better.
    fn status_claim(&self) -> Option<usize> {
        let several = self.record_count < MIN_RECORDS_FOR_STATUS
            || self.sample.distinct_values.len() * 4 <= self.record_count * 3;
        let fits = self.name_hints.is_state
            && self.is_own_short_value()
            && several
            && self.sample.empty_count < self.sample.occurrence_count;
        fits.then(|| {
            10 * self.depth
                + self.name_hints.word_count.saturating_sub(1).min(4)
                + usize::from(self.is_uninformative)
        })
    }
}

/// Sampled fields, in order of first occurrence.
#[derive(Default)]
pub(super) struct FieldSamples<'a> {
    pub fields: Vec<FieldSample<'a>>,
    index: HashMap<String, usize, FixedState>,
    /// Index of the field after the last one, in records of the same fields.
    next: usize,
}

/// Observations of one field.
pub(super) struct FieldSample<'a> {
    pub path: String,
    /// Number of occurrences.
    pub occurrence_count: usize,
    /// Number of empty values: `null`, `""`, `[]`, `{}`.
    pub empty_count: usize,
    /// Number of `null` values.
    pub null_count: usize,
    /// Distinct values, without those above [`MAX_COMPARED_BYTES`].
    pub distinct_values: HashSet<&'a str, FixedState>,
    /// Bytes of the longest value.
    pub max_bytes: usize,
    /// True if a value is an object or an array.
    pub has_containers: bool,
    /// True if a value is a string.
    pub has_strings: bool,
    /// True if a value is `true` or `false`.
    pub has_bools: bool,
    /// True if a value is a number with a fraction or an exponent.
    pub has_fractions: bool,
    /// True if all non-empty values are web addresses.
    pub is_url: bool,
}

/// Maximum bytes of a value that is compared with others.
const MAX_COMPARED_BYTES: usize = 200;

impl<'a> FieldSamples<'a> {
    /// Adds a value of a field.
    pub(super) fn add(&mut self, path: &str, value: &'a str) {
        let expected = self.fields.get(self.next).filter(|field| field.path == path).map(|_| self.next);
        let at = expected.or_else(|| self.index.get(path).copied()).unwrap_or_else(|| {
            self.index.insert(path.to_owned(), self.fields.len());
            self.fields.push(FieldSample {
                path: path.to_owned(),
                occurrence_count: 0,
                empty_count: 0,
                null_count: 0,
                distinct_values: HashSet::default(),
                max_bytes: 0,
                has_containers: false,
                has_strings: false,
                has_bools: false,
                has_fractions: false,
                is_url: true,
            });
            self.fields.len() - 1
        });
        self.next = at + 1;
        let field = &mut self.fields[at];
        let kind = JsonKind::of_value(value);
        field.occurrence_count += 1;
        field.max_bytes = field.max_bytes.max(value.len());
        field.has_containers |= kind.is_container();
        field.has_strings |= kind == JsonKind::String;
        field.has_bools |= kind == JsonKind::Bool;
        field.has_fractions |= kind == JsonKind::Number && value.contains(['.', 'e', 'E']);
        let empty = matches!(value, "null" | "\"\"" | "[]" | "{}");
        field.empty_count += usize::from(empty);
        field.null_count += usize::from(kind == JsonKind::Null);
        field.is_url &= empty || value.starts_with("\"http://") || value.starts_with("\"https://");
        if value.len() <= MAX_COMPARED_BYTES {
            field.distinct_values.insert(value);
        }
    }
}

impl FieldSample<'_> {
    /// Returns true if each of `records` records has a different value.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.distinct_values.len() == records && self.occurrence_count == records && self.empty_count == 0
    }

    /// Returns true if a record has several values.
    pub(super) fn is_repeated(&self, records: usize) -> bool {
        self.occurrence_count > records
    }

    /// Returns true if the value is the same in all of `records` records, or almost always empty.
    pub(super) fn is_uninformative(&self, records: usize) -> bool {
        const FEW: usize = 3;
        let gaps = records.saturating_sub(self.occurrence_count) + self.empty_count;
        records >= FEW && (self.distinct_values.len() <= 1 || gaps * 4 > records * 3)
    }

    /// Returns the number of enclosing objects.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }
}
