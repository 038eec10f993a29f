//! What was recorded, asked for: records, figures of endpoints, changes of the configuration.

mod figures;
mod filter;
mod history;
mod kept;
mod noted;
mod pieces;
mod process;
mod quantiles;
mod record;
mod rolled;
mod series;
mod sessions;
mod standing;
mod traffic;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use thiserror::Error;

pub use figures::Figures;
pub(crate) use figures::share;
pub use filter::{Filter, like};
pub use kept::Kept;
pub use noted::Noted;
pub use quantiles::Quantiles;
pub use record::{Endpoint, Record, Traced, Tried};
pub use series::{Series, Slot};
pub use sessions::Session;
pub use traffic::Traffic;

pub(crate) use record::{Cost, count, maybe};

use crate::experiment::{Arms, Comparison};
use crate::store::{self, NEWEST, Standing, standing};

/// How long a question waits for a file that is being moved or checked.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longer than anything is recorded.
const EVER: Duration = Duration::from_hours(24 * 36_500);

/// Answers from the file. It writes nothing, and nobody who writes waits for it.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

/// Why nothing can be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Nothing is there.
    #[error("nothing is recorded in {0} yet: it is made when Portion serves its first request")]
    Missing(PathBuf),
    /// It is something else.
    #[error("{0} is not a file of telemetry; name the right one")]
    Foreign(PathBuf),
    /// A later version of this program made it.
    #[error(
        "{path} was written by a newer Portion (version {found} of the records, {NEWEST} is the newest known); \
             update this program"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
    },
    /// An earlier version of this program made it, and it cannot be brought up to date.
    #[error(
        "{0} was written by an older Portion, and cannot be brought up to date: let one that may write it serve \
             a request first"
    )]
    Older(PathBuf),
    /// The file system or the database does not let it be opened.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The database said no.
    #[error("telemetry cannot be read: {0}")]
    Database(#[from] rusqlite::Error),
}

impl Reader {
    /// Opens the file; one of an earlier version is brought up to date first.
    ///
    /// # Errors
    /// It is not there, or no file that can be read here.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (connection, standing) = open(path)?;
        match standing {
            Standing::Ours(NEWEST) => Ok(Self { connection }),
            Standing::Ours(found) if found > NEWEST => Err(ReadError::Newer { path: path.to_owned(), found }),
            Standing::Ours(_) => {
                drop(connection);
                store::open(path, u64::MAX).map_err(|_| ReadError::Older(path.to_owned()))?;
                Ok(Self { connection: open(path)?.0 })
            }
            Standing::Empty => Err(ReadError::Missing(path.to_owned())),
            Standing::Foreign => Err(ReadError::Foreign(path.to_owned())),
        }
    }

    /// The records that pass, the newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn requests(&self, filter: &Filter) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::new();
        self.each(filter, |record| records.push(record))?;
        Ok(records)
    }

    /// Takes the records that pass one by one, the newest first: for what is larger than memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn each(&self, filter: &Filter, take: impl FnMut(Record)) -> Result<(), ReadError> {
        let (clause, values) = filter.clause("");
        let limit = filter.sql_limit();
        self.select(&format!("{clause} ORDER BY at DESC, requests.id DESC LIMIT {limit}"), values, take)
    }

    /// What endpoints were asked and answered, the busiest first. [`Filter::limit`] is how many of them.
    ///
    /// What is asked by time and endpoint is as fast for a year as for an hour: it was added up when it was written. It
    /// goes on to be known as long as records are kept by age, where single ones had to go by size; then, as for what is
    /// about to be forgotten by age, a time begins and ends with an hour.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn endpoints(&self, filter: &Filter) -> Result<Vec<Traffic>, ReadError> {
        traffic::read(&self.connection, filter)
    }

    /// The figures of the requests that pass, in slots of that length. [`Filter::limit`] does not count here. What is
    /// fast for endpoints is fast here, in slots of minutes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn series(&self, filter: &Filter, step: Duration) -> Result<Series, ReadError> {
        series::read(&self.connection, filter, step)
    }

    /// The figures of all requests that pass. [`Filter::limit`] does not count here.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn total(&self, filter: &Filter) -> Result<Figures, ReadError> {
        let series = self.series(filter, EVER)?;
        Ok(series.slots.into_iter().next().map(|slot| slot.figures).unwrap_or_default())
    }

    /// The arms of experiments, held against each other: each endpoint that has one, and all of them together first.
    /// [`Filter::limit`] does not count here.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn experiment(&self, filter: &Filter) -> Result<Vec<Comparison>, ReadError> {
        let mut arms = Arms::default();
        // As the index of such records has it.
        let (clause, values) = filter.clause("(arm IS NOT NULL OR shadow_outcome IS NOT NULL)");
        self.select(&clause, values, |record| arms.add(&record))?;
        Ok(arms.compare())
    }

    /// Takes the records that are selected so.
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

fn open(path: &Path) -> Result<(Connection, Standing), ReadError> {
    if !path.exists() {
        return Err(ReadError::Missing(path.to_owned()));
    }
    if path.is_dir() {
        return Err(ReadError::Unreadable { path: path.to_owned(), why: "it is a directory".to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = |name: &Path, flags| {
        let connection = Connection::open_with_flags(name, flags)?;
        connection.busy_timeout(PATIENCE)?;
        standing(&connection).map(|standing| (connection, standing))
    };
    let found = match opened(path, flags) {
        // Readers share what is beside the file: where that can be neither made nor written, nobody writes the file either.
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

/// Whether some of what was written is beside the file still.
fn has_log(path: &Path) -> bool {
    let log = store::with_suffix(path, "-wal");
    log.metadata().is_ok_and(|log| log.len() > 0)
}

/// The file as one that does not change, by a name that says so.
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

/// Why a file cannot be opened, by its name.
fn refused(path: &Path, error: &rusqlite::Error) -> ReadError {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => return ReadError::Foreign(path.to_owned()),
        _ if is_denied(error) => {
            format!("{error}: copy it to where you may write, with what is beside it")
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
        assert_eq!(standing(&connection), Ok(Standing::Ours(NEWEST)));
        assert!(!store::with_suffix(&path, "-shm").exists(), "nothing is put beside it");
    }
}
