//! What is asked, added up: from roll-ups where they can answer, from single requests for the rest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rusqlite::{Connection, params_from_iter};

use super::pieces::cut;
use super::{Filter, ReadError};
use crate::rollup::{Grain, Seen, Tally};

/// What tallies are for.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// An endpoint: its row.
    Endpoint,
    /// Slots of that length: where they begin.
    Time(Duration),
}

/// How far roll-ups go.
struct Rolled {
    /// Up to that request.
    request: i64,
    /// Minutes of single endpoints from that moment on.
    minutes: i64,
}

/// The tallies of the requests that pass.
pub(super) fn tallies(
    connection: &Connection,
    filter: &Filter,
    by: By,
) -> Result<BTreeMap<i64, Tally>, ReadError> {
    let mut gathered = Gathered { connection, filter, by, tallies: BTreeMap::new() };
    if !filter.is_of_time_and_endpoint() {
        gathered.raw(filter.times(), "requests", "")?;
        return Ok(gathered.tallies);
    }
    let rolled = connection.query_row("SELECT request, minutes FROM rolled", [], |row| {
        Ok(Rolled { request: row.get(0)?, minutes: row.get(1)? })
    })?;
    for (grain, span) in cut(filter.times(), &by.grains(filter, rolled.minutes)) {
        match grain {
            Some(grain) => gathered.rollups(grain, span)?,
            // The plus keeps an index from being left for what is true of nearly every row.
            None => gathered.raw(span, "requests", &format!("+requests.id <= {}", rolled.request))?,
        }
    }
    gathered.raw(filter.times(), "requests NOT INDEXED", &format!("requests.id > {}", rolled.request))?;
    Ok(gathered.tallies)
}

struct Gathered<'a> {
    connection: &'a Connection,
    filter: &'a Filter,
    by: By,
    tallies: BTreeMap<i64, Tally>,
}

impl Gathered<'_> {
    /// Adds what single requests say.
    fn raw(&mut self, span: Range<i64>, table: &str, besides: &str) -> Result<(), ReadError> {
        let (clause, values) = self.within(&span).clause(besides);
        let sql = format!("SELECT at, endpoint, {} FROM {table} {clause}", Seen::COLUMNS);
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let key = self.by.key(row.get(0)?, row.get(1)?);
            self.tallies.entry(key).or_default().read(row, 2)?;
        }
        Ok(())
    }

    /// Adds what roll-ups say.
    fn rollups(&mut self, grain: Grain, span: Range<i64>) -> Result<(), ReadError> {
        let (clause, values) = self.within(&span).clause(&format!("grain = {}", grain.code()));
        let sql = format!("SELECT at, endpoint, {} FROM rollups {clause}", Tally::COLUMNS);
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let key = self.by.key(row.get(0)?, row.get(1)?);
            self.tallies.entry(key).or_default().take(row, 2)?;
        }
        Ok(())
    }

    fn within(&self, span: &Range<i64>) -> Filter {
        let moment = |at: i64| u64::try_from(at).ok();
        let since = moment(span.start).filter(|_| span.start > 0);
        let until = moment(span.end).filter(|_| span.end < i64::MAX);
        Filter { since, until, ..self.filter.clone() }
    }
}

impl By {
    /// The grains that can answer, the longest first, with the moment from which on they are kept.
    fn grains(self, filter: &Filter, minutes: i64) -> Vec<(Grain, i64)> {
        let (grains, step) = match self {
            // All together are no endpoint.
            Self::Time(step) if filter.is_of_all() => {
                ([(Grain::HourOfAll, 0), (Grain::MinuteOfAll, 0)], Some(step))
            }
            Self::Time(step) => ([(Grain::Hour, 0), (Grain::Minute, minutes)], Some(step)),
            Self::Endpoint => ([(Grain::Hour, 0), (Grain::Minute, minutes)], None),
        };
        let fits = |grain: Grain| {
            step.is_none_or(|step| step.as_micros().is_multiple_of(grain.length().unsigned_abs().into()))
        };
        grains.into_iter().filter(|(grain, _)| fits(*grain)).collect()
    }

    fn key(self, at: i64, endpoint: i64) -> i64 {
        match self {
            Self::Endpoint => endpoint,
            Self::Time(step) => {
                let length = i64::try_from(step.as_micros()).unwrap_or(i64::MAX).max(1);
                at / length * length
            }
        }
    }
}
