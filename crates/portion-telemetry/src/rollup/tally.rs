//! How figures are added up, of requests and of what was added up before.

use portion_core::policy::Policy;
use rusqlite::Row;

use super::Spread;
use crate::read::{Cost, Figures, Quantiles, count, maybe};

/// What of a request counts.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) follow_up: bool,
    pub(crate) error: bool,
    pub(crate) served: Option<u64>,
    pub(crate) original: Option<u64>,
    pub(crate) budget: Option<u64>,
    pub(crate) latency: u64,
    pub(crate) overhead: u64,
    /// Estimated, and counted exactly.
    pub(crate) counted: Option<(u64, u64)>,
}

/// Figures in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(super) figures: Figures,
    pub(super) latency: Spread,
    pub(super) overhead: Spread,
}

impl Seen {
    /// What [`Seen::of`] reads, in its order; the outcome is first.
    pub(crate) const COLUMNS: &str =
        "outcome, follow_up, error IS NOT NULL, estimated_tokens, original_tokens, budget,
        latency, overhead, response_bytes, actual_tokens";

    /// Reads one from the columns from that one on.
    pub(crate) fn of(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
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
    pub(crate) fn read(&mut self, row: &Row<'_>, from: usize) -> rusqlite::Result<()> {
        self.add(row.get_ref(from)?.as_str().unwrap_or_default(), &Seen::of(row, from)?);
        Ok(())
    }

    pub(crate) fn add(&mut self, outcome: &str, seen: &Seen) {
        let figures = &mut self.figures;
        figures.requests += 1;
        figures.errors += u64::from(seen.error);
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
        self.latency.add(seen.latency);
        self.overhead.add(seen.overhead);
        self.count(outcome, 1);
    }

    /// Counts requests of an outcome.
    pub(super) fn count(&mut self, outcome: &str, requests: u64) {
        match self.figures.outcomes.get_mut(outcome) {
            Some(count) => *count = count.saturating_add(requests),
            None => drop(self.figures.outcomes.insert(outcome.to_owned(), requests)),
        }
    }

    pub(crate) fn into_figures(self) -> Figures {
        let (latency, overhead) = (Quantiles::from(&self.latency), Quantiles::from(&self.overhead));
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
