//! Queries recorded requests, endpoint statistics and configuration changes.
//!
//! ```no_run
//! use portion_telemetry::read::{Filter, Reader};
//!
//! let reader = Reader::open("telemetry.db".as_ref())?;
//! for record in reader.requests(&Filter::default())? {
//!     println!("{} {}: {:?} tokens", record.endpoint.name, record.outcome, record.estimated_tokens);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aggregate;
mod filter;
mod history;
mod series;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row, params_from_iter};
use thiserror::Error;

pub use aggregate::{Participants, Session};
pub use filter::{Filter, star_glob};
pub use history::Notable;
pub use series::Retention;
pub use series::{Series, Slot};

pub use crate::record::{Endpoint, Record, ShadowResult, TraceContext};
pub use crate::rollup::{Quantiles, TrafficStats};
pub use aggregate::Traffic;

use crate::experiment::{Arms, Comparison};
use crate::record;
use crate::store::{self, FileKind, NEWEST, file_kind};

/// Maximum wait for a file that is being moved or checked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// A slot length that covers all recorded time.
const WHOLE_RANGE: Duration = Duration::from_hours(24 * 36_500);

/// Read-only access to the file. It never blocks writers.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

/// Error of opening or reading the file.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not exist or is empty.
    #[error("no telemetry in {0} yet: Portion creates the file with its first request")]
    Missing(PathBuf),
    /// The file is not a telemetry file.
    #[error("{0} is not a Portion telemetry file; name another file")]
    Foreign(PathBuf),
    /// The file was written by a later version.
    #[error(
        "{path} was written by a newer Portion (schema version {found}, the newest known here is \
             {NEWEST}); update this program"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
    },
    /// The file was written by an earlier version and cannot be migrated.
    #[error(
        "{0} was written by an older Portion and cannot be migrated: let a process that may write it serve a \
             request first"
    )]
    Older(PathBuf),
    /// The file system or the database refused to open the file.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The database reported an error.
    #[error("telemetry cannot be read: {0}")]
    Database(#[from] rusqlite::Error),
}

impl Reader {
    /// Opens the file. A file of an earlier version is migrated first.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (connection, file_kind) = open(path)?;
        match file_kind {
            FileKind::Telemetry(NEWEST) => Ok(Self { connection }),
            FileKind::Telemetry(found) if found > NEWEST => {
                Err(ReadError::Newer { path: path.to_owned(), found })
            }
            FileKind::Telemetry(_) => {
                drop(connection);
                store::open(path, u64::MAX).map_err(|_| ReadError::Older(path.to_owned()))?;
                Ok(Self { connection: open(path)?.0 })
            }
            FileKind::Empty => Err(ReadError::Missing(path.to_owned())),
            FileKind::Foreign => Err(ReadError::Foreign(path.to_owned())),
        }
    }

    /// Returns the records that match, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn requests(&self, filter: &Filter) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::new();
        self.each(filter, |record| records.push(record))?;
        Ok(records)
    }

    /// Passes the records that match to `take` one by one, the newest first. Use it for results larger than memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn each(&self, filter: &Filter, take: impl FnMut(Record)) -> Result<(), ReadError> {
        self.newest_records(filter, "", take)
    }

    fn newest_records(
        &self,
        filter: &Filter,
        condition: &str,
        take: impl FnMut(Record),
    ) -> Result<(), ReadError> {
        let (clause, values) = filter.clause(condition);
        let limit = filter.sql_limit();
        self.select(&format!("{clause} ORDER BY at DESC, requests.id DESC LIMIT {limit}"), values, take)
    }

    /// Returns the statistics of each endpoint, the busiest first. [`Filter::limit`] is the maximum number of
    /// endpoints.
    ///
    /// Queries by time and endpoint use roll-ups, so a year is as fast as an hour. Roll-ups are kept for the full
    /// retention time, also where single records were deleted for their size. There, and near the end of the retention
    /// time, ranges begin and end with a full hour.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn endpoints(&self, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
        aggregate::read_traffic(&self.connection, filter)
    }

    /// Returns the statistics of the requests that match, in slots of length `step`. [`Filter::limit`] is ignored.
    /// Queries that are fast for endpoints are fast here if `step` is a whole number of minutes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn series(&self, filter: &Filter, step: Duration) -> Result<Series, ReadError> {
        series::read(&self.connection, filter, step)
    }

    /// Returns the statistics of all requests that match. [`Filter::limit`] is ignored.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn total(&self, filter: &Filter) -> Result<TrafficStats, ReadError> {
        let series = self.series(filter, WHOLE_RANGE)?;
        Ok(series.slots.into_iter().next().map(|slot| slot.stats).unwrap_or_default())
    }

    /// Compares the arms of experiments: all endpoints together first, then each endpoint that has one.
    /// [`Filter::limit`] is ignored.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn experiment(&self, filter: &Filter) -> Result<Vec<Comparison>, ReadError> {
        let mut arms = Arms::default();
        // The same condition as the partial index on these records.
        let (clause, values) = filter.clause("(arm IS NOT NULL OR shadow_outcome IS NOT NULL)");
        self.select(&clause, values, |record| arms.add(&record))?;
        Ok(arms.compare())
    }

    /// Passes the records selected by `which` to `take`.
    fn select(&self, which: &str, values: Vec<Value>, mut take: impl FnMut(Record)) -> Result<(), ReadError> {
        let columns = record::COLUMNS;
        let sql = format!("SELECT {columns} FROM requests JOIN endpoints ON endpoints.id = endpoint {which}");
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            take(Record::of(row)?);
        }
        Ok(())
    }
}

/// Returns the rows of a query.
fn rows<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, ReadError> {
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map(values, read)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn open(path: &Path) -> Result<(Connection, FileKind), ReadError> {
    if !path.exists() {
        return Err(ReadError::Missing(path.to_owned()));
    }
    if path.is_dir() {
        return Err(ReadError::Unreadable { path: path.to_owned(), why: "it is a directory".to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = |name: &Path, flags| {
        let connection = Connection::open_with_flags(name, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        file_kind(&connection).map(|file_kind| (connection, file_kind))
    };
    let found = match opened(path, flags) {
        // Readers need the `-shm` and `-wal` files. If they can be neither created nor written, no writer is active
        // either.
        Err(error) if is_denied(&error) && !has_log(path) => {
            opened(&unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        found => found,
    };
    found.map_err(|error| refused(path, &error))
}

fn is_denied(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Returns true if the write-ahead log holds data.
fn has_log(path: &Path) -> bool {
    let log = store::with_suffix(path, "-wal");
    log.metadata().is_ok_and(|log| log.len() > 0)
}

/// Returns a URI that opens the file as immutable.
fn unchanging(path: &Path) -> PathBuf {
    let mut name = String::from("file:");
    for character in path.to_string_lossy().chars() {
        match character {
            '%' => name.push_str("%25"),
            '?' => name.push_str("%3f"),
            '#' => name.push_str("%23"),
            plain => name.push(plain),
        }
    }
    PathBuf::from(name + "?immutable=1")
}

/// Converts an error of opening `path`.
fn refused(path: &Path, error: &rusqlite::Error) -> ReadError {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => return ReadError::Foreign(path.to_owned()),
        _ if is_denied(error) => {
            format!("{error}: copy it, with its -wal and -shm files, to a directory that you can write to")
        }
        _ => error.to_string(),
    };
    ReadError::Unreadable { path: path.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_change_is_read_by_itself() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let path = directory.path().join("100 %?#.db");
        drop(store::open(&path, u64::MAX).expect("it can be made"));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(unchanging(&path), flags).expect("it can be opened");
        assert_eq!(file_kind(&connection), Ok(FileKind::Telemetry(NEWEST)));
        assert!(!store::with_suffix(&path, "-shm").exists(), "nothing is put beside it");
    }
}
