//! Schema versions. A new version is a file in `migrations` and a line here. Released files never change.

use rusqlite::{Connection, Result, TransactionBehavior};

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
