//! Opens the file: creates it if missing, migrates it if old, moves it if corrupt. Corrupt files are never deleted, because
//! their content may be recoverable.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Result, TransactionBehavior};

use super::{Recovery, Store, StoreError};

/// Maximum wait of a write for other writers.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum size limit of a file, in pages.
const MIN_PAGES: i64 = 256;

/// Attempts to take the lock and the pause between two of them. Their product is the maximum wait.
const LOCK_ATTEMPTS: usize = 50;

const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Statements that turn version n into version n + 1.
const MIGRATIONS: [&str; 5] = [
    include_str!("migrations/0001-requests.sql"),
    include_str!("migrations/0002-configurations.sql"),
    include_str!("migrations/0003-origins.sql"),
    include_str!("migrations/0004-rollups.sql"),
    include_str!("migrations/0005-clients.sql"),
];

/// Schema version that this program reads and writes.
pub(crate) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// `application_id` of telemetry files.
const APPLICATION: i64 = i32::from_be_bytes(*b"Prtn") as i64;

/// Device and inode of a file.
pub(super) type Identity = (u64, u64);

/// Opens the file and limits it to `max_bytes` bytes.
pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<Store, StoreError> {
    make_directory(path)?;
    let _lock = Lock::take(path)?;
    let connection = match prepare(path, max_bytes) {
        Err(error) if error.recovery() == Recovery::Inspect => {
            if !may_be_telemetry(path) {
                return Err(StoreError::Foreign(path.to_owned()));
            }
            log_corrupt(&error, &quarantine(path)?);
            prepare(path, max_bytes)?
        }
        prepared => prepared?,
    };
    Ok(Store { connection, identity: identity(path) })
}

impl Store {
    /// Returns true if the open file is still the one at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.identity == identity(path)
    }

    /// Closes a file that `SQLite` reported as corrupt, and moves it if a check confirms that.
    pub(crate) fn quarantine_if_corrupt(self, path: &Path) -> Result<(), StoreError> {
        let _lock = Lock::take(path)?;
        let found = self.inspect();
        // Another process may have moved it already.
        let is_current = self.is_at(path);
        drop(self);
        match found {
            Err(error) if is_current && error.recovery() == Recovery::Inspect => {
                log_corrupt(&error, &quarantine(path)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the file contradicts itself.
    fn inspect(&self) -> Result<(), StoreError> {
        let found: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(corrupt(&found)) }
    }
}

/// Exclusive right to open the file, until dropped.
#[derive(Debug)]
struct Lock(#[expect(dead_code, reason = "is held, not used")] File);

impl Lock {
    /// Takes the lock. It is a separate file, because closing a database file in the same process would release
    /// `SQLite`'s locks on it.
    fn take(path: &Path) -> Result<Self, StoreError> {
        let beside = with_suffix(path, ".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let io_error = |source| StoreError::Io { path: beside.clone(), source };
        let file = options.open(&beside).map_err(io_error)?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_INTERVAL),
                Err(TryLockError::Error(source)) => return Err(io_error(source)),
            }
        }
        Err(StoreError::Locked(path.to_owned()))
    }
}

/// Returns the path with `suffix` appended.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Kind of a database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// An empty file.
    Empty,
    /// A telemetry file of that schema version.
    Telemetry(i64),
    /// A database of another application.
    Foreign,
}

/// Returns the kind of the file without writing to it.
pub(crate) fn file_kind(connection: &Connection) -> Result<FileKind> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match application {
        APPLICATION => FileKind::Telemetry(version),
        0 if tables == 0 && version == 0 => FileKind::Empty,
        _ => FileKind::Foreign,
    })
}

/// Migrates an empty file or a telemetry file to the newest version, in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    to(connection, MIGRATIONS.len())
}

/// Restricts a new file to its owner.
fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Maximum number of corrupt files kept.
pub(super) const MAX_CORRUPT_FILES: usize = 9;

/// Moves the file and its `-wal` and `-shm` files, and returns the new path. The caller holds the lock.
fn quarantine(path: &Path) -> Result<PathBuf, StoreError> {
    let places = (1..=MAX_CORRUPT_FILES).map(|number| with_suffix(path, &format!(".corrupt-{number}")));
    let place = places.into_iter().find(|place| !place.exists());
    let Some(place) = place else { return Err(StoreError::TooManyCorrupt(path.to_owned())) };
    for suffix in ["-wal", "-shm", ""] {
        let from = with_suffix(path, suffix);
        match fs::rename(&from, with_suffix(&place, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { path: from, source }),
        }
    }
    Ok(place)
}

fn log_corrupt(error: &StoreError, place: &Path) {
    tracing::warn!(error = %error, moved_to = %place.display(), "the telemetry file was corrupt; it was moved and a new one created");
}

/// Opens the file and checks its kind before changing anything.
fn prepare(path: &Path, max_bytes: u64) -> Result<Connection, StoreError> {
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // All statements come from this program; a schema in the file must not run code.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    match file_kind(&connection)? {
        FileKind::Foreign => return Err(StoreError::Foreign(path.to_owned())),
        FileKind::Telemetry(found) if found > NEWEST => {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: NEWEST });
        }
        // This can only be set on an empty file.
        FileKind::Empty => connection.pragma_update(None, "auto_vacuum", "incremental")?,
        FileKind::Telemetry(_) => {}
    }
    let set = |pragma, to: i64| connection.pragma_update_and_check(None, pragma, to, |_| Ok(()));
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    set("journal_size_limit", 4 << 20)?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    set("max_page_count", (i64::try_from(max_bytes).unwrap_or(i64::MAX) / page.max(1)).max(MIN_PAGES))?;
    // In KiB. Records are appended, so few pages are used again; a larger cache fills up over thousands of requests and
    // only takes memory.
    connection.pragma_update(None, "cache_size", -512)?;
    migrate(&mut connection)?;
    Ok(connection)
}

fn make_directory(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|source| StoreError::Io { path: directory.to_owned(), source })
}

/// Creates the file with rights for its owner only; `SQLite` copies them to the files beside it. An existing file is
/// not opened, because closing it would release the locks of this process.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    owner_only(&mut options);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::Io { path: path.to_owned(), source }),
    }
}

/// Returns true if an unreadable file may be a telemetry file: it begins with the `SQLite` header, or with zeros as
/// after a crash. This process must not have it open as a database.
fn may_be_telemetry(path: &Path) -> bool {
    let mut begins = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && (begins == *b"SQLite format 3\0" || begins == [0; 16])
}

fn identity(path: &Path) -> Option<Identity> {
    let known = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        Some((known.dev(), known.ino()))
    };
    // On other systems an open file can be neither moved nor replaced.
    #[cfg(not(unix))]
    let identity = known.is_file().then_some((0, 0));
    identity
}

fn corrupt(found: &str) -> StoreError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    StoreError::Database(rusqlite::Error::SqliteFailure(code, Some(found.to_owned())))
}

fn to(connection: &mut Connection, version: usize) -> Result<()> {
    // Checked without the lock first: mostly there is nothing to do.
    if done(connection)? >= version {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in MIGRATIONS.iter().take(version).skip(done(&transaction)?) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", version as i64)?;
    transaction.commit()
}

fn done(connection: &Connection) -> Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_version(version: usize) -> Connection {
        let mut connection = Connection::open_in_memory().expect("memory can be opened");
        to(&mut connection, version).expect("the version can be made");
        connection
    }

    fn schema(connection: &Connection) -> Vec<(String, String)> {
        let sql = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        let mut statement = connection.prepare(sql).expect("it is SQL");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("it can be read");
        rows.collect::<Result<_>>().expect("names and SQL are text")
    }

    #[test]
    fn every_older_version_becomes_the_newest_and_keeps_what_is_in_it() {
        let newest = schema(&of_version(MIGRATIONS.len()));
        for version in 0..=MIGRATIONS.len() {
            let mut old = of_version(version);
            if version > 0 {
                old.execute_batch("INSERT INTO endpoints VALUES (7, '', 'tool', 'list_bookings')")
                    .expect("it fits");
            }
            migrate(&mut old).expect("it can be migrated");
            assert_eq!(file_kind(&old), Ok(FileKind::Telemetry(NEWEST)), "from {version}");
            assert_eq!(schema(&old), newest, "from {version}");
            let kept: i64 =
                old.query_row("SELECT count(*) FROM endpoints", [], |row| row.get(0)).expect("a count");
            assert_eq!(kept, i64::from(version > 0), "from {version}");
        }
    }

    #[test]
    fn what_is_not_ours_is_told_apart() {
        let check = |sql: &str, expect| {
            let connection = Connection::open_in_memory().expect("memory can be opened");
            connection.execute_batch(sql).expect("it is SQL");
            assert_eq!(file_kind(&connection), Ok(expect), "{sql}");
        };
        check("", FileKind::Empty);
        check("CREATE TABLE notes (text)", FileKind::Foreign);
        check("PRAGMA user_version = 3", FileKind::Foreign);
        check("PRAGMA application_id = 1", FileKind::Foreign);
        check("PRAGMA application_id = 0x5072746e; PRAGMA user_version = 99", FileKind::Telemetry(99));
    }

    #[test]
    fn a_newer_file_is_not_migrated_down() {
        let mut newer = of_version(MIGRATIONS.len());
        newer.pragma_update(None, "user_version", 99).expect("it can be set");
        migrate(&mut newer).expect("nothing is to be done");
        assert_eq!(file_kind(&newer), Ok(FileKind::Telemetry(99)));
    }
}
