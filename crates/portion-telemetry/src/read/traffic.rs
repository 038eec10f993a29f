//! What an endpoint was asked, and answered.

use std::collections::{BTreeMap, HashMap};

use portion_core::policy::Policy;
use rusqlite::{Connection, Row, params_from_iter};

use super::record::{Cost, count, maybe};
use super::{Endpoint, Filter, Quantiles, ReadError};

/// What an endpoint was asked, and answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The endpoint.
    pub endpoint: Endpoint,
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
}

impl Traffic {
    /// Share of the tokens that were kept out, follow-ups counted against it; negative where they cost more than was
    /// saved. `None` where nothing is known.
    pub fn reduction(&self) -> Option<f64> {
        (self.original_tokens > 0).then(|| 1.0 - self.served_tokens as f64 / self.original_tokens as f64)
    }

    /// Share of the first calls whose payload was above what a reply could cost.
    pub fn oversized_share(&self) -> Option<f64> {
        (self.sized > 0).then(|| self.oversized as f64 / self.sized as f64)
    }

    /// Follow-ups for each first call.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        let first = self.requests.saturating_sub(self.follow_ups);
        (first > 0).then(|| self.follow_ups as f64 / first as f64)
    }
}

/// What of a request counts.
#[derive(Debug, Default)]
struct Seen {
    follow_up: bool,
    error: bool,
    served: Option<u64>,
    original: Option<u64>,
    budget: Option<u64>,
    latency: u64,
    overhead: u64,
}

/// Figures in the making.
#[derive(Debug, Default)]
struct Tally {
    traffic: Traffic,
    latencies: Vec<u64>,
    overheads: Vec<u64>,
}

/// What was asked, the busiest first.
pub(super) fn read(connection: &Connection, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
    let (clause, values) = filter.clause("");
    let sql = format!(
        "SELECT endpoint, outcome, follow_up, error IS NOT NULL, estimated_tokens, original_tokens, budget,
             latency, overhead, response_bytes
         FROM requests {clause}"
    );
    // Names are read as they were when requests were: meanwhile, some may be forgotten.
    let moment = connection.unchecked_transaction()?;
    let mut statement = moment.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut tallies: HashMap<i64, Tally> = HashMap::new();
    while let Some(row) = rows.next()? {
        let outcome = row.get_ref(1)?.as_str().unwrap_or_default();
        tallies.entry(row.get(0)?).or_default().add(outcome, &Seen::of(row, outcome)?);
    }
    let mut found = Vec::with_capacity(tallies.len());
    let mut named = moment.prepare("SELECT upstream, kind, name FROM endpoints WHERE id = ?")?;
    for (id, tally) in tallies {
        let endpoint = named.query_row([id], |row| Endpoint::of(row, 0))?;
        found.push(Traffic { endpoint, ..tally.into_traffic() });
    }
    found.sort_by(|one, other| {
        other.requests.cmp(&one.requests).then_with(|| one.endpoint.cmp(&other.endpoint))
    });
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(found)
}

impl Seen {
    fn of(row: &Row<'_>, outcome: &str) -> rusqlite::Result<Self> {
        let cost = Cost::of(outcome, maybe(row, 4)?, maybe(row, 5)?, count(row, 9)?);
        Ok(Self {
            follow_up: row.get(2)?,
            error: row.get(3)?,
            served: cost.served,
            original: cost.payload,
            budget: maybe(row, 6)?,
            latency: count(row, 7)?,
            overhead: count(row, 8)?,
        })
    }
}

impl Tally {
    fn add(&mut self, outcome: &str, seen: &Seen) {
        let traffic = &mut self.traffic;
        traffic.requests += 1;
        traffic.errors += u64::from(seen.error);
        match traffic.outcomes.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(traffic.outcomes.insert(outcome.to_owned(), 1)),
        }
        match (seen.follow_up, seen.original, seen.served) {
            // The payload was counted when it came.
            (true, _, served) => {
                traffic.follow_ups += 1;
                traffic.served_tokens = traffic.served_tokens.saturating_add(served.unwrap_or_default());
            }
            (false, Some(original), Some(served)) => {
                let budget = seen.budget.unwrap_or(Policy::default().token_budget_threshold as u64);
                traffic.sized += 1;
                traffic.oversized += u64::from(original > budget);
                traffic.original_tokens = traffic.original_tokens.saturating_add(original);
                traffic.served_tokens = traffic.served_tokens.saturating_add(served);
            }
            _ => {}
        }
        self.latencies.push(seen.latency);
        self.overheads.push(seen.overhead);
    }

    fn into_traffic(self) -> Traffic {
        let (latency, overhead) = (Quantiles::of(self.latencies), Quantiles::of(self.overheads));
        Traffic { latency, overhead, ..self.traffic }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(seen: &[Seen]) -> Traffic {
        let mut tally = Tally::default();
        seen.iter().for_each(|seen| tally.add("paginated", seen));
        tally.into_traffic()
    }

    #[test]
    fn follow_ups_count_against_what_is_saved() {
        let first = || Seen { original: Some(10_000), served: Some(2_000), ..Seen::default() };
        let next = || Seen { follow_up: true, ..first() };
        let check = |seen: &[Seen], reduction, follow_ups| {
            let traffic = traffic(seen);
            assert_eq!((traffic.reduction(), traffic.follow_ups_per_first()), (reduction, follow_ups));
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
            assert_eq!(traffic(&[seen]).oversized_share(), Some(expect), "{original} of {budget:?}");
        };
        check(4_000, None, 0.0);
        check(4_001, None, 1.0);
        check(4_001, Some(8_000), 0.0);
        check(8_001, Some(8_000), 1.0);
    }
}
