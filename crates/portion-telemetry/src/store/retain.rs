//! Deletes records by age and by size, in small steps that block nobody for long.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Result, TransactionBehavior, params};

use super::Store;
use super::roll::{Tallies, put};
use super::write::stored;
use crate::rollup::{Grain, OTHER, Tally};

/// Rows deleted per step.
const ROWS_PER_STEP: i64 = 2_000;
/// Pages returned to the file system per step.
const PAGES_PER_STEP: i64 = 1_000;

/// Configurations are kept this many times longer than requests: a year if records are kept for a month.
const CONFIGURATION_AGE_FACTOR: u32 = 12;

/// Age up to which minutes of single endpoints are kept. Later, hours answer. A minute of a rarely used endpoint costs
/// as much as its requests.
const MINUTE_RETENTION: Duration = Duration::from_hours(48);

/// A roll-up costs about as much as this many requests. Smaller ones are merged into `other` when their requests are
/// deleted.
const MIN_REQUESTS_PER_ROLLUP: i64 = 8;

/// Retention limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Maximum age.
    pub(crate) age: Duration,
    /// Maximum size in bytes.
    pub(crate) bytes: u64,
}

impl Store {
    /// Takes one step towards the limits; `now` is in microseconds since 1970. Returns true if there is more to do.
    pub(crate) fn retain(&mut self, now: u64, keep: &Keep) -> Result<bool> {
        let before =
            |age: Duration| stored(now.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(u64::MAX)));
        // Requests deleted for size stay in the roll-ups. If there is no room even for that, they are deleted anyway.
        let behind = self.roll().unwrap_or_else(|error| {
            tracing::debug!(%error, "deleting requests that are not rolled up");
            false
        });
        let old = before(keep.age);
        let hour = |age| Grain::Hour.floor(before(age));
        let mut deleted =
            self.delete_oldest("requests", old)? + self.delete_oldest("misconfigurations", old)?;
        for grain in Grain::ALL {
            let age = if grain == Grain::Minute { keep.age.min(MINUTE_RETENTION) } else { keep.age };
            deleted += self.delete_rollups(grain, hour(age))?;
        }
        deleted += self.delete_oldest("alerts", old)?;
        deleted +=
            self.delete_oldest("configurations", before(keep.age.saturating_mul(CONFIGURATION_AGE_FACTOR)))?;
        if !behind && used_bytes(&self.connection)? > keep.bytes {
            // Configurations are small and are deleted last.
            deleted += self.delete_oldest("requests", i64::MAX)?;
            if deleted == 0 {
                for grain in Grain::ALL {
                    deleted += self.delete_rollups(grain, hour(Duration::ZERO))?;
                }
                deleted += self.delete_oldest("misconfigurations", i64::MAX)?;
                deleted += self.delete_oldest("alerts", i64::MAX)?;
                deleted += self.delete_oldest("configurations", i64::MAX)?;
            }
        }
        let free: i64 = self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > 0 {
            // The pragma returns a row per page, and all must be stepped through.
            self.connection.pragma(None, "incremental_vacuum", PAGES_PER_STEP, |_| Ok(()))?;
        }
        Ok(behind || deleted > 0 || free > PAGES_PER_STEP)
    }

    /// Deletes the oldest rows of a table that are older than `before`, and returns their number.
    fn delete_oldest(&mut self, table: &str, before: i64) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first = oldest_request(&transaction)?;
        let oldest = format!("SELECT id FROM {table} WHERE at < ?1 ORDER BY at LIMIT ?2");
        let sql = format!("DELETE FROM {table} WHERE id IN ({oldest})");
        let deleted = transaction.execute(&sql, params![before, ROWS_PER_STEP])?;
        if deleted > 0 && table == "requests" {
            merge_small_rollups(&transaction, first)?;
            delete_unused_endpoints(&transaction)?;
            // If the newest requests were deleted, as after a wrong clock, their ids are reused.
            transaction.execute(
                "UPDATE rolled SET request = min(request, (SELECT coalesce(max(id), 0) FROM requests))",
                [],
            )?;
        }
        transaction.commit()?;
        Ok(deleted)
    }

    /// Deletes the oldest roll-ups of a grain that are older than `before`, and returns their number.
    fn delete_rollups(&mut self, grain: Grain, before: i64) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let of_grain = "grain = ?1 AND at < ?2";
        let oldest =
            format!("SELECT at, endpoint FROM rollups WHERE {of_grain} ORDER BY at, endpoint LIMIT ?3");
        let sql = format!("DELETE FROM rollups WHERE {of_grain} AND (at, endpoint) IN ({oldest})");
        let deleted = transaction.execute(&sql, params![grain.code(), before, ROWS_PER_STEP])?;
        if grain == Grain::Minute {
            transaction.execute("UPDATE rolled SET minutes = ?1 WHERE minutes < ?1", [before])?;
        }
        if deleted > 0 && grain == Grain::Hour {
            delete_unused_endpoints(&transaction)?;
        }
        transaction.commit()?;
        Ok(deleted)
    }
}

/// Returns the time of the oldest request, or the maximum if there is none.
fn oldest_request(connection: &Connection) -> Result<i64> {
    connection.query_row("SELECT coalesce(min(at), ?) FROM requests", [i64::MAX], |row| row.get(0))
}

/// Merges small roll-ups of the hours whose requests were deleted, so that endpoints still add up to the total.
fn merge_small_rollups(connection: &Connection, before: i64) -> Result<()> {
    let (from, to) = (Grain::Hour.floor(before), Grain::Hour.floor(oldest_request(connection)?));
    let few = "grain = ? AND at >= ? AND at < ? AND requests < ?";
    let mut find = connection.prepare(&format!("SELECT at, {} FROM rollups WHERE {few}", Tally::COLUMNS))?;
    let mut tallies = Tallies::new();
    for grain in [Grain::Minute, Grain::Hour] {
        let which = (grain.code(), from, to, MIN_REQUESTS_PER_ROLLUP);
        let mut rows = find.query(which)?;
        let mut other = None;
        while let Some(row) = rows.next()? {
            let other = match other {
                Some(id) => id,
                None => *other.insert(other_endpoint(connection)?),
            };
            tallies.entry((grain, row.get(0)?, other)).or_default().take(row, 1)?;
        }
        connection.execute(&format!("DELETE FROM rollups WHERE {few}"), which)?;
    }
    put(connection, &tallies)
}

/// Returns the row of the endpoint that collects small roll-ups, and inserts it if missing.
fn other_endpoint(connection: &Connection) -> Result<i64> {
    let find = "SELECT id FROM endpoints WHERE upstream = '' AND kind = ?1 AND name = ?1";
    match connection.query_row(find, [OTHER], |row| row.get(0)).optional()? {
        Some(id) => Ok(id),
        None => connection
            .prepare("INSERT INTO endpoints (upstream, kind, name) VALUES ('', ?1, ?1)")?
            .insert([OTHER]),
    }
}

/// Deletes endpoints without requests and roll-ups.
fn delete_unused_endpoints(connection: &Connection) -> Result<()> {
    connection.execute(
        "DELETE FROM endpoints WHERE NOT EXISTS (SELECT 1 FROM requests WHERE endpoint = endpoints.id)
         AND NOT EXISTS (SELECT 1 FROM rollups WHERE grain = 1 AND endpoint = endpoints.id) AND kind <> ?",
        // Its minutes may outlive its hours.
        [OTHER],
    )?;
    Ok(())
}

/// Returns the bytes of the file in use.
fn used_bytes(connection: &Connection) -> Result<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(u64::try_from(pages * pragma("page_size")?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::event::{ConfigApplied, EndpointKind, Event, RequestServed};

    use super::*;
    use crate::store::open;

    const MINUTE: u64 = 60_000_000;

    /// One request at each of these minutes, each of a different endpoint.
    fn store(directory: &tempfile::TempDir, minutes: impl Iterator<Item = u64>) -> Store {
        let mut store = open(&directory.path().join("telemetry.db"), u64::MAX).expect("it can be made");
        let served = |at: u64| {
            let endpoint = Arc::from(format!("file:///{at}"));
            Event::RequestServed(Arc::new(RequestServed {
                at,
                endpoint,
                kind: EndpointKind::Resource,
                ..RequestServed::default()
            }))
        };
        let mut events: Vec<Event> = minutes.map(|minute| served(minute * MINUTE)).collect();
        let configured = ConfigApplied { at: 1, version: 1, source: String::new(), changes: vec![] };
        events.push(Event::ConfigApplied(Arc::new(configured)));
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
        // The roll-ups of `other` stay.
        assert_eq!((count(&store, "requests"), count(&store, "endpoints")), (500, 501));
        assert_eq!(count(&store, "configurations"), 1);
        settle(&mut store, 20_000 * MINUTE, &keep);
        assert_eq!((count(&store, "requests"), count(&store, "configurations")), (0, 0));
    }

    #[test]
    fn the_oldest_of_what_is_too_much_goes_and_its_pages_with_it() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory, 0..20_000);
        let before = used_bytes(&store.connection).expect("it is known");
        let keep = Keep { age: Duration::from_hours(1_000), bytes: before / 2 };
        settle(&mut store, 20_000 * MINUTE, &keep);
        let after = used_bytes(&store.connection).expect("it is known");
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
