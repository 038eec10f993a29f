//! Estimates replies under other limits, from recorded sizes.
//!
//! The result is an **estimate**. Records hold sizes, not payloads. The cost of a page is taken from the average cost
//! of an item, a page size set by the caller is ignored, and callers are assumed to send the same requests.
//! [`Forecast::agreed`] counts how often the same estimate, made with the limits in force, matches the recorded reply.
//! It is the measure of how far to trust the result.
//!
//! ```
//! use portion_core::event::Outcome;
//! use portion_core::policy::Policy;
//! use portion_telemetry::read::Record;
//! use portion_telemetry::what_if::{Limits, estimate};
//!
//! let limits = Limits { shaped: true, policy: Policy::default() };
//! let list = Record {
//!     outcome: "untouched".to_owned(),
//!     form: Some("list".to_owned()),
//!     original_tokens: Some(6_000),
//!     original_bytes: 24_000,
//!     total_items: Some(100),
//!     ..Record::default()
//! };
//! let reply = estimate(&list, &limits).unwrap();
//! assert_eq!((reply.outcome, reply.tokens), (Outcome::Paginated, 3_000));
//! ```

mod estimate;

use std::collections::BTreeMap;

use portion_core::event::Outcome;

use crate::read::{Endpoint, Record};
pub use estimate::{Estimated, Limits, Payload, estimate};

/// Estimated replies of one endpoint under two sets of limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// First calls with an estimate.
    pub requests: u64,
    /// First calls without an estimate: errors, and payloads of unknown size.
    pub unknown: u64,
    /// Requests whose estimate under the limits before matches the recorded reply: the same outcome, and tokens within
    /// 20 %.
    pub agreed: u64,
    /// Requests that would be answered differently, by outcome before and after, the most frequent first.
    pub outcome_changes: Vec<OutcomeChange>,
    /// Tokens of all replies under the limits before.
    pub tokens_before: u64,
    /// Tokens of all replies under the limits after.
    pub tokens_after: u64,
}

/// A number of requests whose reply would change in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// Outcome under the limits before.
    pub before: Outcome,
    /// Outcome under the limits after. Equal to `before` if only the size of the reply changes.
    pub after: Outcome,
    /// Number of requests.
    pub requests: u64,
}

impl Forecast {
    /// Returns the number of requests that would be answered differently.
    pub fn changed(&self) -> u64 {
        self.outcome_changes.iter().map(|change| change.requests).sum()
    }

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
            let same =
                |change: &&mut OutcomeChange| (change.before, change.after) == (old.outcome, new.outcome);
            match self.outcome_changes.iter_mut().find(same) {
                Some(change) => change.requests += 1,
                None => {
                    self.outcome_changes.push(OutcomeChange {
                        before: old.outcome,
                        after: new.outcome,
                        requests: 1,
                    });
                }
            }
        }
    }

    fn sorted(mut self) -> Self {
        self.outcome_changes.sort_by_key(|change| std::cmp::Reverse(change.requests));
        self
    }
}

/// Estimates each endpoint under the limits before and after, sorted by the number of changed requests in descending
/// order. Follow-ups are left out, because they depend on first replies.
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
