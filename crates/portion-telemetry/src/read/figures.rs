//! What was asked in some time, and what was answered: figures, and how they are added up.

use std::collections::BTreeMap;

use portion_core::policy::Policy;
use rusqlite::Row;

use super::record::{Cost, count, maybe};
use super::{Accuracy, Quantiles};

/// What was asked in some time, and what was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Requests, follow-ups among them.
    pub requests: u64,
    /// Those that were answered from a snapshot.
    pub follow_ups: u64,
    /// How many had which outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Those that were answered by an error, ours or the upstream's.
    pub errors: u64,
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// Those of them that were above what a reply could cost then.
    pub oversized: u64,
    /// What those payloads would have cost, in tokens.
    pub original_tokens: u64,
    /// What was served of them instead, in tokens, follow-ups included.
    pub served_tokens: u64,
    /// From requests to replies.
    pub latency: Quantiles,
    /// What of that was ours.
    pub overhead: Quantiles,
    /// How near estimates come to exact counts.
    pub accuracy: Accuracy,
}

impl Figures {
    /// Share of the tokens that were kept out, follow-ups counted against it; negative where they cost more than was
    /// saved. `None` where nothing is known.
    pub fn reduction(&self) -> Option<f64> {
        (self.original_tokens > 0).then(|| 1.0 - self.served_tokens as f64 / self.original_tokens as f64)
    }

    /// Share of the first calls whose payload was above what a reply could cost.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Follow-ups for each first call.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests.saturating_sub(self.follow_ups))
    }

    /// Requests of that outcome.
    pub fn of(&self, outcome: portion_core::event::Outcome) -> u64 {
        self.outcomes.get(outcome.name()).copied().unwrap_or_default()
    }
}

/// `None` of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What of a request counts.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) follow_up: bool,
    pub(super) error: bool,
    pub(super) served: Option<u64>,
    pub(super) original: Option<u64>,
    pub(super) budget: Option<u64>,
    pub(super) latency: u64,
    pub(super) overhead: u64,
    /// Estimated, and counted exactly.
    pub(super) counted: Option<(u64, u64)>,
}

/// Figures in the making.
#[derive(Debug, Default)]
pub(super) struct Tally {
    figures: Figures,
    latencies: Vec<u64>,
    overheads: Vec<u64>,
}

impl Seen {
    /// What [`Seen::of`] reads, in its order; the outcome is first.
    pub(super) const COLUMNS: &str =
        "outcome, follow_up, error IS NOT NULL, estimated_tokens, original_tokens, budget,
        latency, overhead, response_bytes, actual_tokens";

    /// Reads one from the columns from that one on.
    pub(super) fn of(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
        let outcome = row.get_ref(from)?.as_str().unwrap_or_default();
        let estimated = maybe(row, from + 3)?;
        let cost = Cost::of(outcome, estimated, maybe(row, from + 4)?, count(row, from + 8)?);
        Ok(Self {
            follow_up: row.get(from + 1)?,
            error: row.get(from + 2)?,
            served: cost.served,
            original: cost.payload,
            budget: maybe(row, from + 5)?,
            latency: count(row, from + 6)?,
            overhead: count(row, from + 7)?,
            counted: estimated.zip(maybe(row, from + 9)?),
        })
    }
}

impl Tally {
    /// Adds what a row says, from that column on.
    pub(super) fn read(&mut self, row: &Row<'_>, from: usize) -> rusqlite::Result<()> {
        self.add(row.get_ref(from)?.as_str().unwrap_or_default(), &Seen::of(row, from)?);
        Ok(())
    }

    pub(super) fn add(&mut self, outcome: &str, seen: &Seen) {
        let figures = &mut self.figures;
        figures.requests += 1;
        figures.errors += u64::from(seen.error);
        match figures.outcomes.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(figures.outcomes.insert(outcome.to_owned(), 1)),
        }
        match (seen.follow_up, seen.original, seen.served) {
            // The payload was counted when it came.
            (true, _, served) => {
                figures.follow_ups += 1;
                figures.served_tokens = figures.served_tokens.saturating_add(served.unwrap_or_default());
            }
            (false, Some(original), Some(served)) => {
                let budget = seen.budget.unwrap_or(Policy::default().token_budget_threshold as u64);
                figures.sized += 1;
                figures.oversized += u64::from(original > budget);
                figures.original_tokens = figures.original_tokens.saturating_add(original);
                figures.served_tokens = figures.served_tokens.saturating_add(served);
            }
            _ => {}
        }
        if let Some((estimated, actual)) = seen.counted {
            figures.accuracy.add(estimated, actual);
        }
        self.latencies.push(seen.latency);
        self.overheads.push(seen.overhead);
    }

    pub(super) fn into_figures(self) -> Figures {
        let (latency, overhead) = (Quantiles::of(self.latencies), Quantiles::of(self.overheads));
        Figures { latency, overhead, ..self.figures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(seen: &[Seen]) -> Figures {
        let mut tally = Tally::default();
        seen.iter().for_each(|seen| tally.add("paginated", seen));
        tally.into_figures()
    }

    #[test]
    fn follow_ups_count_against_what_is_saved() {
        let first = || Seen { original: Some(10_000), served: Some(2_000), ..Seen::default() };
        let next = || Seen { follow_up: true, ..first() };
        let check = |seen: &[Seen], reduction, follow_ups| {
            let figures = figures(seen);
            assert_eq!((figures.reduction(), figures.follow_ups_per_first()), (reduction, follow_ups));
        };
        check(&[], None, None);
        check(&[first()], Some(0.8), Some(0.0));
        check(&[first(), next(), next()], Some(0.4), Some(2.0));
        check(&[first(), next(), first(), first()], Some(1.0 - 8.0 / 30.0), Some(1.0 / 3.0));
        check(&[next()], None, None);
        check(&[Seen { original: None, ..first() }], None, Some(0.0));
    }

    #[test]
    fn oversized_is_what_the_budget_of_the_time_says() {
        let check = |original, budget, expect| {
            let seen = Seen { original: Some(original), served: Some(1), budget, ..Seen::default() };
            assert_eq!(figures(&[seen]).oversized_share(), Some(expect), "{original} of {budget:?}");
        };
        check(4_000, None, 0.0);
        check(4_001, None, 1.0);
        check(4_001, Some(8_000), 0.0);
        check(8_001, Some(8_000), 1.0);
    }
}
