//! What endpoints would have served, by the limits in force and by others.

use std::collections::BTreeMap;

use portion_core::event::Outcome;

use super::estimate::{Limits, estimate};
use crate::read::{Endpoint, Record};

/// What an endpoint would have served. Estimates, all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// First calls that something can be said of.
    pub requests: u64,
    /// Those that nothing can be said of: errors, and payloads whose size is not known.
    pub unknown: u64,
    /// Requests whose estimate by the limits before is what they were served: outcome, and tokens within 20 %.
    pub agreed: u64,
    /// What would become of requests that are served differently, the most frequent first.
    pub passages: Vec<Passage>,
    /// Tokens of all replies by the limits before.
    pub tokens_before: u64,
    /// Tokens of all replies by the limits after.
    pub tokens_after: u64,
}

/// Requests that would be served differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What became of them by the limits before.
    pub before: Outcome,
    /// What would by those after; the same where it is only larger or smaller.
    pub after: Outcome,
    /// How many.
    pub requests: u64,
}

impl Forecast {
    /// Requests that would be served differently.
    pub fn changed(&self) -> u64 {
        self.passages.iter().map(|passage| passage.requests).sum()
    }
}

/// What endpoints would have served by the limits before and after, those with the most changes first. Follow-ups do not
/// count: they depend on first replies.
pub fn forecast<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    before: impl Fn(&Endpoint) -> Limits,
    after: impl Fn(&Endpoint) -> Limits,
) -> Vec<Forecast> {
    let mut found: BTreeMap<&Endpoint, (Limits, Limits, Forecast)> = BTreeMap::new();
    for record in records.into_iter().filter(|record| !record.follow_up) {
        let (before, after, forecast) = found.entry(&record.endpoint).or_insert_with_key(|endpoint| {
            let forecast = Forecast { endpoint: (*endpoint).clone(), ..Forecast::default() };
            (before(endpoint), after(endpoint), forecast)
        });
        forecast.add(record, before, after);
    }
    let mut found: Vec<Forecast> = found.into_values().map(|(_, _, forecast)| forecast.sorted()).collect();
    found.sort_by(|one, other| {
        other.changed().cmp(&one.changed()).then_with(|| one.endpoint.cmp(&other.endpoint))
    });
    found
}

impl Forecast {
    fn add(&mut self, record: &Record, before: &Limits, after: &Limits) {
        let (Some(old), Some(new)) = (estimate(record, before), estimate(record, after)) else {
            self.unknown += 1;
            return;
        };
        self.requests += 1;
        self.tokens_before = self.tokens_before.saturating_add(old.tokens);
        self.tokens_after = self.tokens_after.saturating_add(new.tokens);
        let near = |served: u64| served.abs_diff(old.tokens) <= served.max(old.tokens) / 5;
        let agrees = old.outcome.name() == record.outcome && record.served_tokens().is_some_and(near);
        self.agreed += u64::from(agrees);
        if old != new {
            let same = |passage: &&mut Passage| (passage.before, passage.after) == (old.outcome, new.outcome);
            match self.passages.iter_mut().find(same) {
                Some(passage) => passage.requests += 1,
                None => {
                    self.passages.push(Passage { before: old.outcome, after: new.outcome, requests: 1 });
                }
            }
        }
    }

    fn sorted(mut self) -> Self {
        self.passages.sort_by_key(|passage| std::cmp::Reverse(passage.requests));
        self
    }
}
