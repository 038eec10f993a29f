//! What each endpoint was asked, and answered.

use std::collections::HashMap;

use rusqlite::{Connection, params_from_iter};

use super::figures::{Seen, Tally};
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
    let (clause, values) = filter.clause("");
    let sql = format!("SELECT endpoint, {} FROM requests {clause}", Seen::COLUMNS);
    // Names are read as they were when requests were: meanwhile, some may be forgotten.
    let moment = connection.unchecked_transaction()?;
    let mut statement = moment.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut tallies: HashMap<i64, Tally> = HashMap::new();
    while let Some(row) = rows.next()? {
        tallies.entry(row.get(0)?).or_default().read(row, 1)?;
    }
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
