//! Opening the file: made where it is missing, migrated where it is old, set aside where it is corrupt.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::Store;
use super::aside::set_aside;
use super::lock::{Lock, owner_only};
use super::migrate::{NEWEST, Standing, migrate, standing};
use super::trouble::{Cure, Trouble};

/// How long a write waits for others.
const PATIENCE: Duration = Duration::from_secs(1);

/// Pages that any file may have.
const LEAST_PAGES: i64 = 256;

/// Which file stands at a path: its device and its number.
pub(super) type Identity = (u64, u64);

/// Opens the file. It does not grow above `most` bytes.
pub(crate) fn open(path: &Path, most: u64) -> Result<Store, Trouble> {
    make_directory(path)?;
    let _lock = Lock::take(path)?;
    let connection = match prepare(path, most) {
        Err(trouble) if trouble.cure() == Cure::Inspect => {
            if !may_be_ours(path) {
                return Err(Trouble::Foreign(path.to_owned()));
            }
            tell(&trouble, &set_aside(path)?);
            prepare(path, most)?
        }
        prepared => prepared?,
    };
    Ok(Store { connection, identity: identity(path) })
}

impl Store {
    /// Whether the file is still the one at that path.
    pub(crate) fn stands_at(&self, path: &Path) -> bool {
        self.identity == identity(path)
    }

    /// Closes a file that `SQLite` called corrupt, and sets it aside where that is so.
    pub(crate) fn give_up(self, path: &Path) -> Result<(), Trouble> {
        let _lock = Lock::take(path)?;
        let found = self.inspect();
        // Another process may have set it aside already.
        let stands = self.stands_at(path);
        drop(self);
        match found {
            Err(trouble) if stands && trouble.cure() == Cure::Inspect => {
                tell(&trouble, &set_aside(path)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An error where what is in the file contradicts itself.
    fn inspect(&self) -> Result<(), Trouble> {
        let found: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(corrupt(&found)) }
    }
}

fn tell(trouble: &Trouble, place: &Path) {
    tracing::warn!(error = %trouble, moved_to = %place.display(), "telemetry was corrupt: a new file is begun");
}

/// Opens what is there, and sees what it is before anything of it is changed.
fn prepare(path: &Path, most: u64) -> Result<Connection, Trouble> {
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Statements are few and written here: what a file says of itself is no code.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    match standing(&connection)? {
        Standing::Foreign => return Err(Trouble::Foreign(path.to_owned())),
        Standing::Ours(found) if found > NEWEST => {
            return Err(Trouble::Newer { path: path.to_owned(), found, known: NEWEST });
        }
        // Can only be said of a file with nothing in it.
        Standing::Empty => connection.pragma_update(None, "auto_vacuum", "incremental")?,
        Standing::Ours(_) => {}
    }
    let set = |pragma, to: i64| connection.pragma_update_and_check(None, pragma, to, |_| Ok(()));
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    set("journal_size_limit", 4 << 20)?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    set("max_page_count", (i64::try_from(most).unwrap_or(i64::MAX) / page.max(1)).max(LEAST_PAGES))?;
    // KiB: what the connection holds for good.
    connection.pragma_update(None, "cache_size", -4_096)?;
    migrate(&mut connection)?;
    Ok(connection)
}

fn make_directory(path: &Path) -> Result<(), Trouble> {
    let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|source| Trouble::Files { path: directory.to_owned(), source })
}

/// Makes the file its owner's alone; `SQLite` gives those beside it the same rights. One that is there is not opened:
/// closing it would end the locks that this process holds on it.
fn make_file(path: &Path) -> Result<(), Trouble> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    owner_only(&mut options);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(Trouble::Files { path: path.to_owned(), source }),
    }
}

/// Whether a file that is no database may have been one of ours: it begins as `SQLite`'s do, or with nothing, as after a
/// crash. Nobody of this process has it open as a database.
fn may_be_ours(path: &Path) -> bool {
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
    // Elsewhere an open file can be neither moved nor replaced.
    #[cfg(not(unix))]
    let identity = known.is_file().then_some((0, 0));
    identity
}

fn corrupt(found: &str) -> Trouble {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Trouble::Database(rusqlite::Error::SqliteFailure(code, Some(found.to_owned())))
}
