//! Lists sessions with their statistics.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Filter, ReadError, Reader, Traffic, rows};
use crate::record::count;

/// Maximum number of requests of a session in its statistics, the newest first.
const MAX_COUNTED: u64 = 1_000;

/// Number of requests of a session that are searched for the name of its client, the newest first.
const MAX_SEARCHED: i64 = 100;

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
