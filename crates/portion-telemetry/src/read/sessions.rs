//! Who asked in some time: the sessions, and what each was answered.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Filter, ReadError, Reader, Traffic, count};

/// Requests of a session that figures are of, at most: the newest.
const COUNTED: u64 = 1_000;

/// What a session asked in some time, and was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Whose it was: a hash that says nothing else.
    pub session: u64,
    /// When its first request in that time came, in microseconds since 1970.
    pub first: u64,
    /// When its last one came.
    pub last: u64,
    /// How many there were.
    pub requests: u64,
    /// The figures of each endpoint that it asked, the busiest first: of its newest 1,000 requests.
    pub traffic: Vec<Traffic>,
}

impl Reader {
    /// The sessions in which anything was asked, those first that asked last. Of the filter, times and limit count; so
    /// many before them are passed over.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sessions(&self, filter: &Filter, skip: usize) -> Result<Vec<Session>, ReadError> {
        let mut sessions = found(&self.connection, filter, skip)?;
        for session in &mut sessions {
            session.traffic = self.endpoints(&newest(&self.connection, filter, session)?)?;
        }
        Ok(sessions)
    }
}

/// All that an index knows of them: no request is looked at.
fn found(connection: &Connection, filter: &Filter, skip: usize) -> Result<Vec<Session>, ReadError> {
    let sql = "SELECT session, min(at), max(at), count(*) FROM requests INDEXED BY requests_session
               WHERE at >= ? AND at < ? GROUP BY session ORDER BY max(at) DESC, session LIMIT ? OFFSET ?";
    let (times, skip) = (filter.times(), i64::try_from(skip).unwrap_or(i64::MAX));
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(params![times.start, times.end, filter.sql_limit(), skip], |row| {
        let session = row.get::<_, i64>(0)? as u64;
        let (first, last, requests) = (count(row, 1)?, count(row, 2)?, count(row, 3)?);
        Ok(Session { session, first, last, requests, traffic: Vec::new() })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Its newest requests.
fn newest(connection: &Connection, filter: &Filter, session: &Session) -> Result<Filter, ReadError> {
    let mut since = filter.since;
    if session.requests > COUNTED {
        let sql = "SELECT at FROM requests INDEXED BY requests_session WHERE session = ? AND at < ?
                   ORDER BY at DESC LIMIT 1 OFFSET ?";
        let values = params![session.session as i64, filter.times().end, COUNTED as i64 - 1];
        // Meanwhile, some may be forgotten.
        since = connection.query_row(sql, values, |row| count(row, 0)).optional()?.or(since);
    }
    Ok(Filter { since, until: filter.until, session: Some(session.session), ..Filter::default() })
}
