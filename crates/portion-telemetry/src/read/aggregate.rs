//! Adds up requests: from roll-ups where they can answer, from single requests elsewhere. Statistics by endpoint.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::{Endpoint, Filter, ReadError, Reader, TrafficStats, rows};
use crate::record::count;
use crate::rollup::{Grain, RequestSample, Tally};

/// Maximum number of requests of a session in its statistics, the newest first.
const MAX_COUNTED: u64 = 1_000;

/// Number of requests of a session that are searched for the name of its client, the newest first.
const MAX_SEARCHED: i64 = 100;

/// Key of the tallies.
#[derive(Clone, Copy, Debug)]
pub(super) enum GroupBy {
    /// Row of an endpoint.
    Endpoint,
    /// Start of a time slot of that length.
    Time(Duration),
}

/// Extent of the roll-ups.
struct RollupProgress {
    /// Last request included.
    request: i64,
    /// Start of the minute roll-ups of single endpoints.
    minutes: i64,
}

struct Aggregation<'a> {
    connection: &'a Connection,
    filter: &'a Filter,
    group_by: GroupBy,
    tallies: BTreeMap<i64, Tally>,
}

impl GroupBy {
    /// Returns the grains that can answer, the longest first, with the time from which each is kept.
    fn grains(self, filter: &Filter, minutes: i64) -> Vec<(Grain, i64)> {
        let (grains, step) = match self {
            // Totals over all endpoints have no endpoint key.
            Self::Time(step) if filter.selects_all_endpoints() => {
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

impl Aggregation<'_> {
    /// Adds single requests.
    fn add_requests(&mut self, span: Range<i64>, table: &str, condition: &str) -> Result<(), ReadError> {
        self.add(&span, (RequestSample::COLUMNS, table), condition, Tally::read)
    }

    /// Adds roll-ups.
    fn add_rollups(&mut self, grain: Grain, span: Range<i64>) -> Result<(), ReadError> {
        let condition = format!("grain = {}", grain.code());
        self.add(&span, (Tally::COLUMNS, "rollups"), &condition, Tally::take)
    }

    /// Adds the rows of a table; `read` adds one to a tally, from a column on.
    fn add(
        &mut self,
        span: &Range<i64>,
        (columns, table): (&str, &str),
        condition: &str,
        read: fn(&mut Tally, &Row<'_>, usize) -> rusqlite::Result<()>,
    ) -> Result<(), ReadError> {
        let (clause, values) = self.within(span).clause(condition);
        let sql = format!("SELECT at, endpoint, {columns} FROM {table} {clause}");
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let key = self.group_by.key(row.get(0)?, row.get(1)?);
            read(self.tallies.entry(key).or_default(), row, 2)?;
        }
        Ok(())
    }

    fn within(&self, span: &Range<i64>) -> Filter {
        let timestamp = |at: i64| u64::try_from(at).ok();
        let since = timestamp(span.start).filter(|_| span.start > 0);
        let until = timestamp(span.end).filter(|_| span.end < i64::MAX);
        Filter { since, until, ..self.filter.clone() }
    }
}

/// Returns the tallies of the requests that match.
pub(super) fn tallies(
    connection: &Connection,
    filter: &Filter,
    group_by: GroupBy,
) -> Result<BTreeMap<i64, Tally>, ReadError> {
    let mut aggregation = Aggregation { connection, filter, group_by, tallies: BTreeMap::new() };
    if !filter.selects_by_time_and_endpoint_only() {
        aggregation.add_requests(filter.times(), "requests", "")?;
        return Ok(aggregation.tallies);
    }
    let progress = connection.query_row("SELECT request, minutes FROM rolled", [], |row| {
        Ok(RollupProgress { request: row.get(0)?, minutes: row.get(1)? })
    })?;
    for (grain, span) in split(filter.times(), &group_by.grains(filter, progress.minutes)) {
        match grain {
            Some(grain) => aggregation.add_rollups(grain, span)?,
            // The unary plus keeps SQLite from choosing the id index for a condition that holds for nearly every row.
            None => aggregation.add_requests(
                span,
                "requests",
                &format!("+requests.id <= {}", progress.request),
            )?,
        }
    }
    aggregation.add_requests(
        filter.times(),
        "requests NOT INDEXED",
        &format!("requests.id > {}", progress.request),
    )?;
    Ok(aggregation.tallies)
}

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
pub(super) fn read_traffic(connection: &Connection, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
    // One transaction keeps names from being deleted between the two queries.
    let transaction = connection.unchecked_transaction()?;
    let tallies = tallies(&transaction, filter, GroupBy::Endpoint)?;
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

/// Part of a span and the roll-ups that answer it. `None` means single requests.
pub(super) type Segment = (Option<Grain>, Range<i64>);

/// Requests of a session in a time range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Session hash.
    pub session: u64,
    /// Name that its client gave itself.
    pub client: Option<String>,
    /// Time of the first request in the range, in microseconds since 1970.
    pub first: u64,
    /// Time of the last request in the range, in microseconds since 1970.
    pub last: u64,
    /// Number of requests in the range.
    pub requests: u64,
    /// Statistics of each endpoint, the busiest first, over the newest 1,000 requests.
    pub traffic: Vec<Traffic>,
}

/// Names of those that took part in requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Participants {
    /// Servers.
    pub servers: Vec<String>,
    /// Clients, as they name themselves.
    pub clients: Vec<String>,
}

impl Reader {
    /// Returns the sessions with requests in the range, the latest first, after skipping `skip` of them. Only times
    /// and limit of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sessions(&self, filter: &Filter, skip: usize) -> Result<Vec<Session>, ReadError> {
        let mut sessions = found(&self.connection, filter, skip)?;
        for session in &mut sessions {
            session.client = client(&self.connection, session)?;
            session.traffic = self.endpoints(&newest(&self.connection, filter, session)?)?;
        }
        Ok(sessions)
    }

    /// Returns the names of servers and clients with requests in the range, in order. Only times of the filter apply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn participants(&self, filter: &Filter) -> Result<Participants, ReadError> {
        let names = |sql: &str| -> Result<Vec<String>, ReadError> {
            let times = filter.times();
            rows(&self.connection, sql, params![times.start, times.end], |row| row.get(0))
        };
        Ok(Participants {
            servers: names(
                "SELECT DISTINCT upstream FROM endpoints WHERE upstream <> '' AND id IN
                 (SELECT endpoint FROM requests WHERE at >= ? AND at < ?) ORDER BY 1",
            )?,
            clients: names(
                "SELECT DISTINCT client FROM requests WHERE at >= ? AND at < ? AND client IS NOT NULL ORDER BY 1",
            )?,
        })
    }
}

/// Splits a span in microseconds by the given grains, the longest first. Each grain comes with the first time from
/// which it is kept.
fn split(span: Range<i64>, grains: &[(Grain, i64)]) -> Vec<Segment> {
    let Some(((grain, first), shorter)) = grains.split_first() else {
        return if span.is_empty() { Vec::new() } else { vec![(None, span)] };
    };
    let inner = grain.ceiling(span.start.max(*first))..grain.floor(span.end);
    if inner.is_empty() {
        return split(span, shorter);
    }
    let mut segments = split(span.start..inner.start, shorter);
    let after = split(inner.end..span.end, shorter);
    segments.push((Some(*grain), inner));
    segments.extend(after);
    segments
}

/// Reads sessions from the index alone, without their statistics.
fn found(connection: &Connection, filter: &Filter, skip: usize) -> Result<Vec<Session>, ReadError> {
    let sql = "SELECT session, min(at), max(at), count(*) FROM requests INDEXED BY requests_session
               WHERE at >= ? AND at < ? GROUP BY session ORDER BY max(at) DESC, session LIMIT ? OFFSET ?";
    let (times, skip) = (filter.times(), i64::try_from(skip).unwrap_or(i64::MAX));
    rows(connection, sql, params![times.start, times.end, filter.sql_limit(), skip], |row| {
        let session = row.get::<_, i64>(0)? as u64;
        let (first, last, requests) = (count(row, 1)?, count(row, 2)?, count(row, 3)?);
        Ok(Session { session, first, last, requests, ..Session::default() })
    })
}

/// Reads the client of a session from the newest of its last requests that names one.
fn client(connection: &Connection, session: &Session) -> Result<Option<String>, ReadError> {
    let sql = "SELECT client FROM (SELECT client FROM requests INDEXED BY requests_session WHERE session = ? AND at <= ?
               ORDER BY at DESC LIMIT ?) WHERE client IS NOT NULL LIMIT 1";
    let last = i64::try_from(session.last).unwrap_or(i64::MAX);
    let values = params![session.session as i64, last, MAX_SEARCHED];
    Ok(connection.query_row(sql, values, |row| row.get(0)).optional()?.flatten())
}

/// Returns a filter for the newest requests of a session.
fn newest(connection: &Connection, filter: &Filter, session: &Session) -> Result<Filter, ReadError> {
    let mut since = filter.since;
    if session.requests > MAX_COUNTED {
        let sql = "SELECT at FROM requests INDEXED BY requests_session WHERE session = ? AND at < ?
                   ORDER BY at DESC LIMIT 1 OFFSET ?";
        let values = params![session.session as i64, filter.times().end, MAX_COUNTED as i64 - 1];
        // Requests may have been deleted meanwhile.
        since = connection.query_row(sql, values, |row| count(row, 0)).optional()?.or(since);
    }
    Ok(Filter { since, until: filter.until, session: Some(session.session), ..Filter::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_then_minutes_then_what_is_left() {
        let minute = Grain::Minute.length();
        let check = |span: Range<i64>, grains: &[(Grain, i64)], expect: &[(Option<Grain>, Range<i64>)]| {
            let segments = split(span.clone(), grains);
            assert_eq!(segments, expect, "{span:?}");
            let ends = segments.iter().map(|(_, piece)| piece.end);
            let joined = segments.iter().map(|(_, piece)| piece.start).skip(1).zip(ends);
            assert!({ joined }.all(|(start, end)| start == end), "nothing is left out or comes twice");
        };
        let (hours, minutes, raw) = (Some(Grain::Hour), Some(Grain::Minute), None);
        let both = [(Grain::Hour, 0), (Grain::Minute, 0)];
        check(7..7, &both, &[]);
        check(3..7, &both, &[(raw, 3..7)]);
        check(0..i64::MAX, &[], &[(raw, 0..i64::MAX)]);
        check(0..60 * minute, &both, &[(hours, 0..60 * minute)]);
        check(0..60 * minute, &both[1..], &[(minutes, 0..60 * minute)]);
        check(
            minute / 2..3 * minute + 5,
            &both,
            &[(raw, minute / 2..minute), (minutes, minute..3 * minute), (raw, 3 * minute..3 * minute + 5)],
        );
        check(
            58 * minute - 1..121 * minute + 1,
            &both,
            &[
                (raw, 58 * minute - 1..58 * minute),
                (minutes, 58 * minute..60 * minute),
                (hours, 60 * minute..120 * minute),
                (minutes, 120 * minute..121 * minute),
                (raw, 121 * minute..121 * minute + 1),
            ],
        );
        check(
            58 * minute..121 * minute,
            &[(Grain::Hour, 0), (Grain::Minute, 120 * minute)],
            &[
                (raw, 58 * minute..60 * minute),
                (hours, 60 * minute..120 * minute),
                (minutes, 120 * minute..121 * minute),
            ],
        );
    }
}
