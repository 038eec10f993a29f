//! What each endpoint was asked, and answered.

use rusqlite::Connection;

use super::rolled::{self, By};
use super::{Endpoint, Figures, Filter, ReadError};

/// What an endpoint was asked, and answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The figures.
    pub figures: Figures,
}

/// What was asked, the busiest first.
pub(super) fn read(connection: &Connection, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
    // Names are read as they were when requests were: meanwhile, some may be forgotten.
    let moment = connection.unchecked_transaction()?;
    let tallies = rolled::tallies(&moment, filter, By::Endpoint)?;
    let mut found = Vec::with_capacity(tallies.len());
    let mut named = moment.prepare("SELECT upstream, kind, name FROM endpoints WHERE id = ?")?;
    for (id, tally) in tallies {
        let endpoint = named.query_row([id], |row| Endpoint::of(row, 0))?;
        found.push(Traffic { endpoint, figures: tally.into_figures() });
    }
    found.sort_by(|one, other| {
        let busiest = other.figures.requests.cmp(&one.figures.requests);
        busiest.then_with(|| one.endpoint.cmp(&other.endpoint))
    });
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(found)
}
