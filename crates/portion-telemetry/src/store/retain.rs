//! What is forgotten: what is old, and the oldest of what is too much. In small steps, so that nobody waits for long.

use std::time::Duration;

use rusqlite::{Connection, Result, TransactionBehavior, params};

use super::Store;
use super::write::stored;

/// Rows that one step deletes.
const ROWS: i64 = 2_000;
/// Pages that one step gives back to the file system.
const PAGES: i64 = 1_000;

/// How much longer than requests it is kept what was configured: a year, where records are kept for a month.
const CONFIGURATIONS: u32 = 12;

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    /// For how long.
    pub(crate) age: Duration,
    /// How much of it, in bytes.
    pub(crate) bytes: u64,
}

impl Store {
    /// Takes one step towards what is to be kept at that moment, in microseconds since 1970. Whether there is more to do.
    pub(crate) fn retain(&mut self, now: u64, keep: &Keep) -> Result<bool> {
        let before =
            |age: Duration| stored(now.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(u64::MAX)));
        let old = before(keep.age);
        let mut deleted = self.forget("requests", old)? + self.forget("misconfigurations", old)?;
        deleted += self.forget("alerts", old)?;
        deleted += self.forget("configurations", before(keep.age.saturating_mul(CONFIGURATIONS)))?;
        if used(&self.connection)? > keep.bytes {
            // What was configured is little, and goes last.
            deleted += self.forget("requests", i64::MAX)?;
            if deleted == 0 {
                deleted += self.forget("misconfigurations", i64::MAX)?;
                deleted += self.forget("alerts", i64::MAX)?;
                deleted += self.forget("configurations", i64::MAX)?;
            }
        }
        let free: i64 = self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > 0 {
            // A row for each page: they are all to be stepped through.
            self.connection.pragma(None, "incremental_vacuum", PAGES, |_| Ok(()))?;
        }
        Ok(deleted > 0 || free > PAGES)
    }

    /// Deletes the oldest rows of a table, of those before a moment; how many.
    fn forget(&mut self, table: &str, before: i64) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let oldest = format!("SELECT id FROM {table} WHERE at < ?1 ORDER BY at LIMIT ?2");
        let sql = format!("DELETE FROM {table} WHERE id IN ({oldest})");
        let deleted = transaction.execute(&sql, params![before, ROWS])?;
        if deleted > 0 && table == "requests" {
            transaction.execute(
                "DELETE FROM endpoints WHERE NOT EXISTS (SELECT 1 FROM requests WHERE endpoint = endpoints.id)",
                [],
            )?;
        }
        transaction.commit()?;
        Ok(deleted)
    }
}

/// Bytes of the file that hold something.
fn used(connection: &Connection) -> Result<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(u64::try_from(pages * pragma("page_size")?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::event::{Configured, Event, Served};

    use super::*;
    use crate::store::open;

    /// A request at each of these moments, each of an endpoint of its own.
    fn store(directory: &tempfile::TempDir, moments: impl Iterator<Item = u64>) -> Store {
        let mut store = open(&directory.path().join("telemetry.db"), u64::MAX).expect("it can be made");
        let served = |at: u64| {
            let endpoint = Arc::from(format!("file:///{at}"));
            Event::Served(Arc::new(Served { at, endpoint, kind: "resource", ..Served::default() }))
        };
        let mut events: Vec<Event> = moments.map(served).collect();
        let configured = Configured { at: 1, version: 1, source: String::new(), changes: vec![] };
        events.push(Event::Configured(Arc::new(configured)));
        store.write(&events).expect("it can be written");
        store
    }

    fn count(store: &Store, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        store.connection.query_row(&sql, [], |row| row.get(0)).expect("it can be counted")
    }

    fn settle(store: &mut Store, now: u64, keep: &Keep) -> usize {
        let mut steps = 0;
        while store.retain(now, keep).expect("it can be written") {
            steps += 1;
            assert!(steps < 1_000, "it ends");
        }
        steps
    }

    #[test]
    fn what_is_old_goes_in_steps_and_what_was_configured_later() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory, 0..5_000);
        let keep = Keep { age: Duration::from_millis(1), bytes: u64::MAX };
        assert!(settle(&mut store, 5_500, &keep) >= 2);
        assert_eq!((count(&store, "requests"), count(&store, "endpoints")), (500, 500));
        assert_eq!(count(&store, "configurations"), 1);
        settle(&mut store, 20_000, &keep);
        assert_eq!((count(&store, "requests"), count(&store, "configurations")), (0, 0));
    }

    #[test]
    fn the_oldest_of_what_is_too_much_goes_and_its_pages_with_it() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory, 0..20_000);
        let before = used(&store.connection).expect("it is known");
        let keep = Keep { age: Duration::from_hours(1), bytes: before / 2 };
        settle(&mut store, 20_000, &keep);
        let after = used(&store.connection).expect("it is known");
        assert!(after <= before / 2 && after > before / 4, "{after} of {before}");
        let pages: i64 =
            store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("it is known");
        assert!(pages.unsigned_abs() * 4_096 < before * 3 / 4, "{pages} pages are left");
        let oldest: i64 = store
            .connection
            .query_row("SELECT min(at) FROM requests", [], |row| row.get(0))
            .expect("some are left");
        assert_eq!(count(&store, "requests"), 20_000 - oldest);
        assert_eq!(count(&store, "configurations"), 1);
    }
}
