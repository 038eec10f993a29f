//! The database: a file that the processes of a user share, or a temporary one that `SQLite` deletes as soon as it is open.
//!
//! The clock of the store does not jump when the clock of the system is set. On Linux it is the time since the boot, added to the time of the boot as the first process knew it, so that all processes
//! agree. Elsewhere it is the clock of the system.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io, thread};

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, Error, ErrorCode, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior,
};

use super::StoreClock;
use super::directory::{create_private_file, no_file, prepare_directory, remove_earlier_format};

/// Name of the file.
const FILE_NAME: &str = "results.db";
/// Version of the tables. A file of another version is emptied.
const VERSION: i64 = 1;
/// Longest wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between attempts to open a file that another process creates.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Pages of free space that are returned to the system in one step.
const VACUUM_PAGES: u32 = 4_096;
/// Largest size of the journal that stays between two writes.
const JOURNAL_BYTES: u32 = 4 << 20;

const SCHEMA: &str = "
    CREATE TABLE snapshots (
        row INTEGER PRIMARY KEY, scope BLOB NOT NULL, id BLOB NOT NULL, used INTEGER NOT NULL, bytes INTEGER NOT NULL,
        gone INTEGER NOT NULL DEFAULT 0, UNIQUE (scope, id));
    CREATE TABLE fields (
        snapshot INTEGER NOT NULL REFERENCES snapshots ON DELETE CASCADE, name TEXT NOT NULL, added INTEGER,
        value BLOB NOT NULL, PRIMARY KEY (snapshot, name));
    CREATE TABLE reuse (scope BLOB, key BLOB, id BLOB, PRIMARY KEY (scope, key));
    CREATE TABLE claims (scope BLOB, id BLOB, owner BLOB, until INTEGER, PRIMARY KEY (scope, id));
    CREATE TABLE boot (id TEXT, millis INTEGER);";

/// The database, which is opened when it is needed, and again when its file was removed.
pub(super) struct Database {
    /// Directory of the file; `None` for a temporary file.
    root: Option<PathBuf>,
    /// Clock of the tests.
    clock: Option<StoreClock>,
    open: Mutex<Option<OpenDatabase>>,
}

struct OpenDatabase {
    connection: Connection,
    identity: Option<FileIdentity>,
    clock: StoreClock,
}

/// Device and inode of a file.
type FileIdentity = (u64, u64);

impl Database {
    pub(super) fn new(root: Option<PathBuf>, clock: Option<StoreClock>) -> Self {
        Self { root, clock, open: Mutex::new(None) }
    }

    /// Runs an operation in a transaction, with the time in milliseconds. If it fails, nothing of it is kept. A damaged file
    /// is emptied, and the operation runs again.
    ///
    /// # Errors
    /// If the file cannot be opened, read or written.
    pub(super) fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        act: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<T>,
    ) -> Result<T, String> {
        self.with(|open| {
            let now = i64::try_from((open.clock)().as_millis()).unwrap_or(i64::MAX);
            let transaction = open.connection.transaction_with_behavior(behavior)?;
            let outcome = act(&transaction, now)?;
            // Otherwise a temporary file would be written later, when that may fail.
            if self.root.is_none() && matches!(behavior, TransactionBehavior::Immediate) {
                transaction.cache_flush()?;
            }
            transaction.commit()?;
            Ok(outcome)
        })
    }

    /// Returns the free space of the file to the system.
    pub(super) fn shrink(&self) -> Result<(), String> {
        self.with(|open| {
            let free = |connection: &Connection| {
                connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0))
            };
            let mut left = free(&open.connection)?;
            while left > 0 {
                let mut step =
                    open.connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
                // It frees a page for each row.
                let mut rows = step.query([])?;
                while rows.next()?.is_some() {}
                let before = std::mem::replace(&mut left, free(&open.connection)?);
                if left >= before {
                    break;
                }
            }
            Ok(())
        })
    }

    fn with<T>(&self, act: impl Fn(&mut OpenDatabase) -> rusqlite::Result<T>) -> Result<T, String> {
        let mut place = self.open.lock();
        let mut outcome = self.attempt(&mut place, &act);
        if outcome.as_ref().is_err_and(is_damage) {
            tracing::warn!(
                "the file of the snapshot store is damaged and was emptied; its cursors read cursor_expired"
            );
            outcome = self.empty(&mut place).and_then(|()| self.attempt(&mut place, &act));
        }
        if let Err(Error::SqliteFailure(failure, _)) = &outcome
            && matches!(
                failure.code,
                ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly
            )
            && self.root.is_some()
        {
            *place = None;
        }
        outcome.map_err(|error| error.to_string())
    }

    fn attempt<T>(
        &self,
        place: &mut Option<OpenDatabase>,
        act: impl Fn(&mut OpenDatabase) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        if place.as_ref().is_some_and(|open| open.identity != self.identity()) {
            *place = None;
        }
        let open = match place {
            Some(open) => open,
            none => none.insert(self.open_in_turn()?),
        };
        act(open)
    }

    /// Opens the database. `SQLite` itself does not wait for a process that creates the file at the same time.
    fn open_in_turn(&self) -> rusqlite::Result<OpenDatabase> {
        let begun = Instant::now();
        loop {
            match self.open() {
                Err(error) if is_busy(&error) && begun.elapsed() < BUSY_TIMEOUT => {
                    thread::sleep(RETRY_INTERVAL);
                }
                opened => return opened,
            }
        }
    }

    fn open(&self) -> rusqlite::Result<OpenDatabase> {
        let connection = self.connect()?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        // This can only be set on an empty file.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        let (journal, synchronous) = if self.root.is_some() { ("wal", "normal") } else { ("memory", "off") };
        connection.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update_and_check(None, "journal_size_limit", JOURNAL_BYTES, |_| Ok(()))?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // In KiB.
        connection.pragma_update(None, "cache_size", -512)?;
        let version = |connection: &Connection| {
            connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        };
        if version(&connection)? > 0 && version(&connection)? != VERSION {
            empty(&connection)?;
        }
        let mut connection = connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? != VERSION {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        let clock = match &self.clock {
            Some(clock) => clock.clone(),
            None => of_boot(&transaction)?,
        };
        transaction.commit()?;
        Ok(OpenDatabase { connection, identity: self.identity(), clock })
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let Some(root) = &self.root else { return Connection::open("") };
        let refused = |error: io::Error| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            Error::SqliteFailure(code, Some(error.to_string()))
        };
        prepare_directory(root).map_err(refused)?;
        let path = root.join(FILE_NAME);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(refused(no_file(&path))),
            // `SQLite` gives the files beside it the same mode.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                remove_earlier_format(root);
                match create_private_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refused(error)),
                    _ => {}
                }
            }
            Err(error) => return Err(refused(error)),
        }
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    /// Empties a damaged file in place, under the locks of `SQLite`: other processes may have it open.
    fn empty(&self, place: &mut Option<OpenDatabase>) -> rusqlite::Result<()> {
        *place = None;
        let connection = self.connect()?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        empty(&connection)
    }

    fn identity(&self) -> Option<FileIdentity> {
        let metadata = fs::symlink_metadata(self.root.as_ref()?.join(FILE_NAME)).ok()?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.dev(), metadata.ino())
        };
        // On other systems an open file can be neither moved nor replaced.
        #[cfg(not(unix))]
        let identity = (u64::from(metadata.is_file()), 0);
        Some(identity)
    }
}

fn empty(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns true if an error says that the file contradicts itself, or is none of this store.
fn is_damage(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    ) || matches!(
        error,
        Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
    )
}

/// Returns the clock of the processes that share a database.
pub(super) fn of_boot(connection: &Connection) -> rusqlite::Result<StoreClock> {
    let system = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let Some(boot_id) = boot_id() else { return Ok(Arc::new(system)) };
    let known = "SELECT millis FROM boot WHERE id = ?";
    let known: Option<i64> = connection.query_row(known, [&boot_id], |row| row.get(0)).optional()?;
    let millis = if let Some(millis) = known {
        millis
    } else {
        let millis = i64::try_from(system().saturating_sub(uptime()).as_millis()).unwrap_or_default();
        connection.execute("DELETE FROM boot", [])?;
        connection.execute("INSERT INTO boot (id, millis) VALUES (?, ?)", (&boot_id, millis))?;
        millis
    };
    let boot = Duration::from_millis(millis.unsigned_abs());
    Ok(Arc::new(move || boot + uptime()))
}

fn boot_id() -> Option<String> {
    cfg!(target_os = "linux").then(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").ok())?
}

/// Returns the time since the boot, suspended time included.
#[cfg(target_os = "linux")]
fn uptime() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(not(target_os = "linux"))]
fn uptime() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;

    use super::of_boot;

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_of_a_boot_agree_on_its_time() {
        let connection = Connection::open("").expect("a database");
        connection.execute_batch("CREATE TABLE boot (id TEXT, millis INTEGER)").expect("a table");
        connection.execute("INSERT INTO boot VALUES ('another boot', 5)", []).expect("a row");
        let time = || of_boot(&connection).expect("a clock")();
        let hour = Duration::from_hours(1);
        assert!(time() > 24 * hour, "the time of another boot is replaced");
        let first = time();
        // The clock of the system is set an hour ahead.
        connection.execute("UPDATE boot SET millis = millis - 3600000", []).expect("a row");
        let later = time() + hour;
        assert!(later >= first && later < first + Duration::from_mins(1), "{first:?} {later:?}");
    }
}
