//! Statistics by endpoint.

use rusqlite::Connection;

use super::aggregate::{self, GroupBy};
use super::{Endpoint, Filter, ReadError, TrafficStats};

/// Statistics of one endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Names of the counters of its newest 1,000 requests, separated by commas; empty if none is stored any more.
    pub counter: String,
    /// Statistics of its requests.
    pub stats: TrafficStats,
}

/// Reads the statistics by endpoint, the busiest first.
pub(super) fn read(connection: &Connection, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
    // One transaction keeps names from being deleted between the two queries.
    let transaction = connection.unchecked_transaction()?;
    let tallies = aggregate::tallies(&transaction, filter, GroupBy::Endpoint)?;
    let mut found = Vec::with_capacity(tallies.len());
    let mut named = transaction.prepare(
        "SELECT upstream, kind, name,
            ifnull((SELECT group_concat(counter, ', ') FROM (SELECT DISTINCT counter FROM
                (SELECT counter FROM requests WHERE endpoint = endpoints.id ORDER BY at DESC LIMIT 1000)
                ORDER BY counter)), '')
        FROM endpoints WHERE id = ?",
    )?;
    for (id, tally) in tallies {
        let (endpoint, counter) = named.query_row([id], |row| Ok((Endpoint::of(row, 0)?, row.get(3)?)))?;
        found.push(Traffic { endpoint, counter, stats: tally.into_stats() });
    }
    found.sort_by(|one, other| {
        let busiest = other.stats.requests.cmp(&one.stats.requests);
        busiest.then_with(|| one.endpoint.cmp(&other.endpoint))
    });
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(found)
}
