//! What is forgotten: what is old, and the oldest of what is too much. In small steps, so that nobody waits for long.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Result, TransactionBehavior, params};

use super::Store;
use super::roll::{Tallies, put};
use super::write::stored;
use crate::rollup::{Grain, OTHER, Tally};

/// Rows that one step deletes.
const ROWS: i64 = 2_000;
/// Pages that one step gives back to the file system.
const PAGES: i64 = 1_000;

/// How much longer than requests it is kept what was configured: a year, where records are kept for a month.
const CONFIGURATIONS: u32 = 12;

/// How long minutes of single endpoints are kept: what is asked about them later is told by their hours, and a minute
/// of an endpoint that is seldom asked costs no less than its requests.
const MINUTES: Duration = Duration::from_hours(48);

/// An hour or minute of an endpoint costs as much as some of its requests: where there are fewer, it goes with them, and is
/// added to that of all others.
const WORTH: i64 = 8;

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
        // What goes by size stays added up. Where there is no room even for that, it goes all the same.
        let behind = self.roll().unwrap_or_else(|error| {
            tracing::debug!(%error, "requests are forgotten that are not added up");
            false
        });
        let old = before(keep.age);
        let hour = |age| Grain::Hour.floor(before(age));
        let mut deleted = self.forget("requests", old)? + self.forget("misconfigurations", old)?;
        for grain in Grain::ALL {
            let age = if grain == Grain::Minute { keep.age.min(MINUTES) } else { keep.age };
            deleted += self.forget_rollups(grain, hour(age))?;
        }
        deleted += self.forget("alerts", old)?;
        deleted += self.forget("configurations", before(keep.age.saturating_mul(CONFIGURATIONS)))?;
        if !behind && used(&self.connection)? > keep.bytes {
            // What was configured is little, and goes last.
            deleted += self.forget("requests", i64::MAX)?;
            if deleted == 0 {
                for grain in Grain::ALL {
                    deleted += self.forget_rollups(grain, hour(Duration::ZERO))?;
                }
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
        Ok(behind || deleted > 0 || free > PAGES)
    }

    /// Deletes the oldest rows of a table, of those before a moment; how many.
    fn forget(&mut self, table: &str, before: i64) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first = first(&transaction)?;
        let oldest = format!("SELECT id FROM {table} WHERE at < ?1 ORDER BY at LIMIT ?2");
        let sql = format!("DELETE FROM {table} WHERE id IN ({oldest})");
        let deleted = transaction.execute(&sql, params![before, ROWS])?;
        if deleted > 0 && table == "requests" {
            put_together(&transaction, first)?;
            forget_names(&transaction)?;
            // Where the newest ones went, as with a clock that was wrong, their ids are given again.
            transaction.execute(
                "UPDATE rolled SET request = min(request, (SELECT coalesce(max(id), 0) FROM requests))",
                [],
            )?;
        }
        transaction.commit()?;
        Ok(deleted)
    }

    /// Deletes the oldest roll-ups of a grain, of those before an hour; how many.
    fn forget_rollups(&mut self, grain: Grain, before: i64) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let of_grain = "grain = ?1 AND at < ?2";
        let oldest =
            format!("SELECT at, endpoint FROM rollups WHERE {of_grain} ORDER BY at, endpoint LIMIT ?3");
        let sql = format!("DELETE FROM rollups WHERE {of_grain} AND (at, endpoint) IN ({oldest})");
        let deleted = transaction.execute(&sql, params![grain.code(), before, ROWS])?;
        if grain == Grain::Minute {
            transaction.execute("UPDATE rolled SET minutes = ?1 WHERE minutes < ?1", [before])?;
        }
        if deleted > 0 && grain == Grain::Hour {
            forget_names(&transaction)?;
        }
        transaction.commit()?;
        Ok(deleted)
    }
}

/// When the oldest request came; that of none is still to come.
fn first(connection: &Connection) -> Result<i64> {
    connection.query_row("SELECT coalesce(min(at), ?) FROM requests", [i64::MAX], |row| row.get(0))
}

/// Makes one of the roll-ups of endpoints that add too little up, of the hours whose requests went: what endpoints add up to
/// stays what all of them do.
fn put_together(connection: &Connection, before: i64) -> Result<()> {
    let (from, to) = (Grain::Hour.floor(before), Grain::Hour.floor(first(connection)?));
    let few = "grain = ? AND at >= ? AND at < ? AND requests < ?";
    let mut find = connection.prepare(&format!("SELECT at, {} FROM rollups WHERE {few}", Tally::COLUMNS))?;
    let mut tallies = Tallies::new();
    for grain in [Grain::Minute, Grain::Hour] {
        let which = (grain.code(), from, to, WORTH);
        let mut rows = find.query(which)?;
        let mut other = None;
        while let Some(row) = rows.next()? {
            let other = match other {
                Some(id) => id,
                None => *other.insert(others(connection)?),
            };
            tallies.entry((grain, row.get(0)?, other)).or_default().take(row, 1)?;
        }
        connection.execute(&format!("DELETE FROM rollups WHERE {few}"), which)?;
    }
    put(connection, &tallies)
}

/// The row of the endpoint that others are added up as, made where there is none.
fn others(connection: &Connection) -> Result<i64> {
    let find = "SELECT id FROM endpoints WHERE upstream = '' AND kind = ?1 AND name = ?1";
    match connection.query_row(find, [OTHER], |row| row.get(0)).optional()? {
        Some(id) => Ok(id),
        None => connection
            .prepare("INSERT INTO endpoints (upstream, kind, name) VALUES ('', ?1, ?1)")?
            .insert([OTHER]),
    }
}

/// Deletes the endpoints that nothing is kept of.
fn forget_names(connection: &Connection) -> Result<()> {
    connection.execute(
        "DELETE FROM endpoints WHERE NOT EXISTS (SELECT 1 FROM requests WHERE endpoint = endpoints.id)
         AND NOT EXISTS (SELECT 1 FROM rollups WHERE grain = 1 AND endpoint = endpoints.id) AND kind <> ?",
        // Minutes are kept of it whose hours are not.
        [OTHER],
    )?;
    Ok(())
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

    const MINUTE: u64 = 60_000_000;

    /// A request at each of these minutes, each of an endpoint of its own.
    fn store(directory: &tempfile::TempDir, minutes: impl Iterator<Item = u64>) -> Store {
        let mut store = open(&directory.path().join("telemetry.db"), u64::MAX).expect("it can be made");
        let served = |at: u64| {
            let endpoint = Arc::from(format!("file:///{at}"));
            Event::Served(Arc::new(Served { at, endpoint, kind: "resource", ..Served::default() }))
        };
        let mut events: Vec<Event> = minutes.map(|minute| served(minute * MINUTE)).collect();
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
        let keep = Keep { age: Duration::from_mins(1_000), bytes: u64::MAX };
        assert!(settle(&mut store, 5_500 * MINUTE, &keep) >= 2);
        // That of all others stays.
        assert_eq!((count(&store, "requests"), count(&store, "endpoints")), (500, 501));
        assert_eq!(count(&store, "configurations"), 1);
        settle(&mut store, 20_000 * MINUTE, &keep);
        assert_eq!((count(&store, "requests"), count(&store, "configurations")), (0, 0));
    }

    #[test]
    fn the_oldest_of_what_is_too_much_goes_and_its_pages_with_it() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory, 0..20_000);
        let before = used(&store.connection).expect("it is known");
        let keep = Keep { age: Duration::from_hours(1_000), bytes: before / 2 };
        settle(&mut store, 20_000 * MINUTE, &keep);
        let after = used(&store.connection).expect("it is known");
        assert!(after <= before / 2 && after > before / 4, "{after} of {before}");
        let pages: i64 =
            store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("it is known");
        assert!(pages.unsigned_abs() * 4_096 < before * 3 / 4, "{pages} pages are left");
        let oldest: i64 = store
            .connection
            .query_row("SELECT min(at) FROM requests", [], |row| row.get(0))
            .expect("some are left");
        assert_eq!(count(&store, "requests"), 20_000 - oldest / MINUTE.cast_signed());
        assert_eq!(count(&store, "configurations"), 1);
    }
}
