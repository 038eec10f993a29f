//! How much each field tells, by its name and by what it holds.

use super::field_names::FieldNameHints;
use super::samples::{FieldSample, FieldSamples};
use super::{Field, FieldRank};

/// Bytes from which a text is long.
const LONG_TEXT_BYTES: usize = 160;
/// Bytes of a value that tells records apart, quotes included.
const MAX_IDENTITY_BYTES: usize = 64;
/// Names that are kept of a record.
const MAX_NAMES: usize = 2;
/// Records from which it is believed that something differs in each.
const MIN_RECORDS_FOR_UNIQUENESS: usize = 3;
/// Records in which a state has to come twice.
const MIN_RECORDS_FOR_STATUS: usize = 8;
/// What a level of depth takes from the weight of a name.
const DEPTH_PENALTY: usize = 12;
/// The weight from which a field inside an object is asked for like one of the record's own.
const MIN_NESTED_IMPORTANCE: usize = 45;

/// The fields of so many records, the most telling first.
pub(super) fn rank_fields(seen: &FieldSamples, records: usize) -> Vec<Field> {
    let named: Vec<FieldCandidate<'_>> =
        seen.fields.iter().map(|sight| FieldCandidate::new(sight, records)).collect();
    let mut ranks: Vec<FieldRank> = named.iter().map(FieldCandidate::base_rank).collect();
    // Of several one each is the record's own.
    assign_rank(&mut ranks, FieldRank::Identity, 1, named.iter().map(FieldCandidate::identity_claim));
    assign_rank(&mut ranks, FieldRank::Name, MAX_NAMES, named.iter().map(FieldCandidate::name_claim));
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
    order.into_iter().map(|at| Field { path: seen.fields[at].path.clone(), rank: ranks[at] }).collect()
}

/// Gives a rank to so many of the fields that claim it and are of no higher one: the lowest claims, the first fields.
fn assign_rank(
    ranks: &mut [FieldRank],
    rank: FieldRank,
    most: usize,
    claims: impl Iterator<Item = Option<usize>>,
) {
    let mut claims: Vec<(usize, usize)> =
        claims.enumerate().filter_map(|(at, claim)| Some((claim?, at))).collect();
    claims
        .retain(|(_, at)| ranks[*at] > rank && !matches!(ranks[*at], FieldRank::Identity | FieldRank::Name));
    claims.sort_unstable();
    claims.into_iter().take(most).for_each(|(_, at)| ranks[at] = rank);
}

/// A field with what its name says of it.
struct FieldCandidate<'a> {
    sample: &'a FieldSample,
    name_hints: FieldNameHints,
    depth: usize,
    record_count: usize,
    is_unique: bool,
    /// Whether it tells next to nothing: the same everywhere, or hardly anywhere.
    is_uninformative: bool,
}

impl<'a> FieldCandidate<'a> {
    fn new(sight: &'a FieldSample, records: usize) -> Self {
        Self {
            sample: sight,
            name_hints: FieldNameHints::from_path(&sight.path),
            depth: sight.depth(),
            record_count: records,
            is_unique: sight.is_unique(records),
            is_uninformative: sight.is_uninformative(records),
        }
    }

    /// What it tells where it is not the identity, a name or the state of the record.
    fn base_rank(&self) -> FieldRank {
        let sight = self.sample;
        let repeated = sight.is_repeated(self.record_count);
        if sight.empty_count == sight.occurrence_count || sight.is_url || self.name_hints.is_noise {
            FieldRank::Noise
        } else if sight.has_containers {
            FieldRank::Container
        } else if sight.max_bytes > LONG_TEXT_BYTES {
            FieldRank::LongText
        } else if !repeated
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

    /// How much it is asked for, the less the deeper it is.
    fn importance(&self) -> usize {
        let little = if self.is_uninformative { 2 } else { 1 };
        (self.name_hints.importance / little).saturating_sub(DEPTH_PENALTY * self.depth)
    }

    /// Whether it is a short value of the record itself, or of an object right in it.
    fn is_own_short_value(&self) -> bool {
        let short = !self.sample.has_containers && !self.name_hints.is_noise && !self.sample.is_url;
        short
            && self.depth <= 1
            && self.sample.max_bytes <= LONG_TEXT_BYTES
            && !self.sample.is_repeated(self.record_count)
    }

    /// Its claim to be what the record is called by programs: the lower, the better.
    fn identity_claim(&self) -> Option<usize> {
        let sight = self.sample;
        let fits = self.is_own_short_value() && self.is_unique && !sight.has_bools && !sight.has_fractions;
        if !fits || sight.max_bytes > MAX_IDENTITY_BYTES {
            return None;
        }
        let (depth, by_data) =
            (self.depth * 3, self.record_count >= MIN_RECORDS_FOR_UNIQUENESS && self.depth == 0);
        let spaced = sight.distinct_values.iter().any(|value| value.contains(' '));
        match (self.name_hints.identity_rank, self.name_hints.name_rank) {
            (Some(how), _) => Some(how + depth),
            (None, Some(_)) if self.record_count >= MIN_RECORDS_FOR_UNIQUENESS => Some(10 + depth),
            // Numbers that differ may be amounts; sentences and dates are no names.
            (None, None) if by_data && (sight.has_strings || self.name_hints.importance == 0) => {
                Some(20 + 2 * usize::from(self.name_hints.importance > 0) + 4 * usize::from(spaced))
            }
            _ => None,
        }
    }

    /// Its claim to be what the record is called by people.
    fn name_claim(&self) -> Option<usize> {
        let how =
            self.name_hints.name_rank.filter(|_| self.is_own_short_value() && self.sample.has_strings)?;
        // What many records share is the name of something else.
        let shared = self.record_count >= MIN_RECORDS_FOR_UNIQUENESS
            && self.sample.distinct_values.len() * 2 < self.record_count;
        let empty = self.sample.empty_count == self.sample.occurrence_count;
        (!empty).then_some(
            100 * self.depth + 10 * usize::from(shared) + 5 * usize::from(self.is_uninformative) + how,
        )
    }

    /// Its claim to be the state that the record is in.
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
