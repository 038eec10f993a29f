//! How much each field tells, by its name and by what it holds.

use super::salience::Naming;
use super::sight::{Seen, Sight};
use super::{Field, Rank};

/// Bytes from which a text is long.
const LONG: usize = 160;
/// Bytes of a value that tells records apart, quotes included.
const IDENTIFIES: usize = 64;
/// Names that are kept of a record.
const NAMES: usize = 2;
/// Records from which it is believed that something differs in each.
const BELIEVED: usize = 3;
/// Records in which a state has to come twice.
const STATES: usize = 8;
/// What a level of depth takes from the weight of a name.
const DEEPER: usize = 12;
/// The weight from which a field inside an object is asked for like one of the record's own.
const ASKED: usize = 45;

/// The fields of so many records, the most telling first.
pub(super) fn ranked(seen: &Seen, records: usize) -> Vec<Field> {
    let named: Vec<Named<'_>> = seen.fields.iter().map(|sight| Named::of(sight, records)).collect();
    let mut ranks: Vec<Rank> = named.iter().map(Named::rank).collect();
    // Of several one each is the record's own.
    settle(&mut ranks, Rank::Identity, 1, named.iter().map(Named::identifies));
    settle(&mut ranks, Rank::Name, NAMES, named.iter().map(Named::names));
    settle(&mut ranks, Rank::Status, 1, named.iter().map(Named::states));
    let mut order: Vec<usize> = (0..named.len()).collect();
    order.sort_by_key(|at| {
        let named = &named[*at];
        let (first, depth) = match ranks[*at] {
            Rank::Name => (named.names().unwrap_or(0), 0),
            Rank::Salient => (usize::MAX - named.weight(), named.depth),
            _ => (0, 0),
        };
        (ranks[*at], first, named.little, depth, *at)
    });
    order.into_iter().map(|at| Field { path: seen.fields[at].path.clone(), rank: ranks[at] }).collect()
}

/// Gives a rank to so many of the fields that claim it and are of no higher one: the lowest claims, the first fields.
fn settle(ranks: &mut [Rank], rank: Rank, most: usize, claims: impl Iterator<Item = Option<usize>>) {
    let mut claims: Vec<(usize, usize)> =
        claims.enumerate().filter_map(|(at, claim)| Some((claim?, at))).collect();
    claims.retain(|(_, at)| ranks[*at] > rank && !matches!(ranks[*at], Rank::Identity | Rank::Name));
    claims.sort_unstable();
    claims.into_iter().take(most).for_each(|(_, at)| ranks[at] = rank);
}

/// A field with what its name says of it.
struct Named<'a> {
    sight: &'a Sight,
    naming: Naming,
    depth: usize,
    records: usize,
    unique: bool,
    /// Whether it tells next to nothing: the same everywhere, or hardly anywhere.
    little: bool,
}

impl<'a> Named<'a> {
    fn of(sight: &'a Sight, records: usize) -> Self {
        Self {
            sight,
            naming: Naming::of(&sight.path),
            depth: sight.depth(),
            records,
            unique: sight.is_unique(records),
            little: sight.tells_little(records),
        }
    }

    /// What it tells where it is not the identity, a name or the state of the record.
    fn rank(&self) -> Rank {
        let sight = self.sight;
        let repeated = sight.is_repeated(self.records);
        if sight.empty == sight.times || sight.address || self.naming.is_noise {
            Rank::Noise
        } else if sight.container {
            Rank::Container
        } else if sight.longest > LONG {
            Rank::Long
        } else if !repeated && self.naming.weight > 0 && (self.depth == 0 || self.weight() >= ASKED) {
            Rank::Salient
        } else if self.depth == 0 {
            Rank::Plain
        } else if self.naming.names.is_some() || self.naming.is_state || self.naming.identifies.is_some() {
            Rank::Inner
        } else {
            Rank::Nested
        }
    }

    /// How much it is asked for, the less the deeper it is.
    fn weight(&self) -> usize {
        let little = if self.little { 2 } else { 1 };
        (self.naming.weight / little).saturating_sub(DEEPER * self.depth)
    }

    /// Whether it is a short value of the record itself, or of an object right in it.
    fn is_own(&self) -> bool {
        let short = !self.sight.container && !self.naming.is_noise && !self.sight.address;
        short && self.depth <= 1 && self.sight.longest <= LONG && !self.sight.is_repeated(self.records)
    }

    /// Its claim to be what the record is called by programs: the lower, the better.
    fn identifies(&self) -> Option<usize> {
        let sight = self.sight;
        let fits = self.is_own() && self.unique && !sight.bool && !sight.fraction;
        if !fits || sight.longest > IDENTIFIES {
            return None;
        }
        let (depth, by_data) = (self.depth * 3, self.records >= BELIEVED && self.depth == 0);
        let spaced = sight.values.iter().any(|value| value.contains(' '));
        match (self.naming.identifies, self.naming.names) {
            (Some(how), _) => Some(how + depth),
            (None, Some(_)) if self.records >= BELIEVED => Some(10 + depth),
            // Numbers that differ may be amounts; sentences and dates are no names.
            (None, None) if by_data && (sight.text || self.naming.weight == 0) => {
                Some(20 + 2 * usize::from(self.naming.weight > 0) + 4 * usize::from(spaced))
            }
            _ => None,
        }
    }

    /// Its claim to be what the record is called by people.
    fn names(&self) -> Option<usize> {
        let how = self.naming.names.filter(|_| self.is_own() && self.sight.text)?;
        // What many records share is the name of something else.
        let shared = self.records >= BELIEVED && self.sight.values.len() * 2 < self.records;
        let empty = self.sight.empty == self.sight.times;
        (!empty).then_some(100 * self.depth + 10 * usize::from(shared) + 5 * usize::from(self.little) + how)
    }

    /// Its claim to be the state that the record is in.
    fn states(&self) -> Option<usize> {
        let several = self.records < STATES || self.sight.values.len() * 4 <= self.records * 3;
        let fits = self.naming.is_state && self.is_own() && several && self.sight.empty < self.sight.times;
        fits.then(|| 10 * self.depth + self.naming.words.saturating_sub(1).min(4) + usize::from(self.little))
    }
}
