//! Deletes records by age and by size, and rolls up requests by minute and hour before, in small steps that block
//! nobody for long.
//!
//! The table `rolled` holds the last request included. It is updated in the same transaction, so concurrent processes
//! count no request twice and a crash loses none. Readers add the remaining requests themselves.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Result, TransactionBehavior, params};

use super::Store;
use super::write::stored;
use crate::rollup::{ALL, Grain, OTHER, RequestSample, Tally};

/// Rows deleted or rolled up per step.
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

/// Minimum number of pending requests for a step. Batches are cheaper, and readers add pending requests themselves.
const MIN_PENDING: i64 = 1_000;

/// Tallies by grain, start and endpoint.
type Tallies = HashMap<(Grain, i64, i64), Tally>;

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

    /// Rolls up a step of pending requests if there are enough. Returns true if there are more.
    pub(crate) fn roll(&mut self) -> Result<bool> {
        // Checked without the lock first: mostly there is nothing to do.
        if !is_due(&self.connection)? {
            return Ok(false);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done it meanwhile.
        if !is_due(&transaction)? {
            return Ok(false);
        }
        let (tallies, last) = step(&transaction)?;
        put(&transaction, &tallies)?;
        transaction.execute("UPDATE rolled SET request = ?", [last])?;
        let more = is_due(&transaction)?;
        transaction.commit()?;
        Ok(more)
    }
}

fn is_due(connection: &Connection) -> Result<bool> {
    let sql = "SELECT (SELECT coalesce(max(id), 0) FROM requests) - request FROM rolled";
    Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))? >= MIN_PENDING)
}

/// Adds up the requests of a step and returns the id of the last one.
fn step(connection: &Connection) -> Result<(Tallies, i64)> {
    let kept: i64 = connection.query_row("SELECT minutes FROM rolled", [], |row| row.get(0))?;
    let sql = format!(
        "SELECT id, at, endpoint, {} FROM requests WHERE id > (SELECT request FROM rolled) ORDER BY id LIMIT {ROWS_PER_STEP}",
        RequestSample::COLUMNS
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut tallies, mut last) = (Tallies::new(), 0);
    while let Some(row) = rows.next()? {
        let (at, endpoint): (i64, i64) = (row.get(1)?, row.get(2)?);
        last = row.get(0)?;
        let (outcome, sample) = (row.get_ref(3)?.as_str().unwrap_or_default(), RequestSample::of(row, 3)?);
        let grains = Grain::ALL.into_iter().filter(|grain| *grain != Grain::Minute || at >= kept);
        for grain in grains {
            let owner = if grain.is_of_all() { ALL } else { endpoint };
            tallies.entry((grain, grain.floor(at), owner)).or_default().add(outcome, &sample);
        }
    }
    Ok((tallies, last))
}

/// Adds tallies to the stored roll-ups.
pub(super) fn put(connection: &Connection, tallies: &Tallies) -> Result<()> {
    let columns = Tally::COLUMNS;
    let sql = format!("SELECT {columns} FROM rollups WHERE grain = ? AND at = ? AND endpoint = ?");
    let (mut find, mut put) = (connection.prepare(&sql)?, connection.prepare(Tally::PUT)?);
    for ((grain, at, endpoint), tally) in tallies {
        let mut sum = tally.clone();
        find.query_row((grain.code(), at, endpoint), |row| sum.take(row, 0)).optional()?;
        sum.put(&mut put, *grain, *at, *endpoint)?;
    }
    Ok(())
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

#[cfg(test)]
mod roll_tests {
    use std::sync::Arc;
    use std::time::Duration;

    use portion_core::event::{EndpointKind, Event, Outcome, RequestServed, ServedError};
    use proptest::prelude::*;

    use super::super::{Keep, open};
    use super::*;
    use crate::read::{Endpoint, Filter, Reader, TrafficStats};

    const HOUR: u64 = 3_600_000_000;

    fn store(directory: &tempfile::TempDir) -> Store {
        open(&directory.path().join("telemetry.db"), u64::MAX).expect("it can be made")
    }

    fn reader(directory: &tempfile::TempDir) -> Reader {
        Reader::open(&directory.path().join("telemetry.db")).expect("it can be read")
    }

    fn write(store: &mut Store, requests: &[RequestServed]) {
        let events: Vec<Event> =
            requests.iter().map(|served| Event::RequestServed(Arc::new(served.clone()))).collect();
        store.write(&events).expect("it can be written");
    }

    fn roll(store: &mut Store) {
        while store.roll().expect("it can be written") {}
    }

    fn rolled(store: &Store) -> (i64, i64) {
        let sql = "SELECT request, (SELECT count(*) FROM rollups) FROM rolled";
        store.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("it is one row")
    }

    /// One request per second, of three endpoints.
    fn requests(from: u64, count: u64) -> Vec<RequestServed> {
        let request = |number: u64| RequestServed {
            at: number * 1_000_000,
            endpoint: Arc::from(format!("list_{}", number % 3)),
            kind: EndpointKind::Tool,
            latency: Duration::from_micros(number % 997),
            ..RequestServed::default()
        };
        (from..from + count).map(request).collect()
    }

    /// Floating-point sums depend on their order in the last digits.
    fn near(one: &TrafficStats, other: &TrafficStats) -> bool {
        let (mut one, mut other) = (one.clone(), other.clone());
        let apart = (one.accuracy.error_sum - other.accuracy.error_sum).abs();
        let whole = 1.0 + one.accuracy.error_sum.abs();
        (one.accuracy.error_sum, other.accuracy.error_sum) = (0.0, 0.0);
        one == other && apart < 1e-9 * whole
    }

    /// Asserts that both files give the same answers.
    fn agree(one: &Reader, other: &Reader, filter: &Filter) {
        let [ours, theirs] = [one, other].map(|reader| reader.endpoints(filter).expect("it can be read"));
        assert_eq!(ours.len(), theirs.len(), "{filter:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.endpoint, theirs.endpoint, "{filter:?}");
            assert!(near(&ours.stats, &theirs.stats), "{filter:?}: {ours:?} {theirs:?}");
        }
        for seconds in [7, 60, 300, 3_600, 86_400] {
            let [ours, theirs] = [one, other].map(|reader| {
                reader.series(filter, Duration::from_secs(seconds)).expect("it can be read").slots
            });
            assert_eq!(ours.len(), theirs.len(), "{filter:?} by {seconds}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours.at, theirs.at, "{filter:?} by {seconds}");
                assert!(near(&ours.stats, &theirs.stats), "{filter:?} by {seconds}");
            }
        }
    }

    fn any_request() -> impl Strategy<Value = RequestServed> {
        let sizes = || prop::option::of(0..50_000_u64);
        let what = (0..4_u8, prop::sample::select(Outcome::ALL.to_vec()), any::<bool>(), any::<bool>());
        let when = (0..3 * HOUR, 0..5_000_000_u64, 0..3_000_u64);
        (what, when, (sizes(), sizes(), sizes(), sizes())).prop_map(|(what, when, sizes)| RequestServed {
            at: 20 * HOUR + when.0,
            endpoint: Arc::from(format!("list_{}", what.0)),
            kind: EndpointKind::Tool,
            outcome: what.1,
            follow_up: what.2,
            error: what.3.then_some(ServedError::Upstream),
            latency: Duration::from_micros(when.1),
            overhead: Duration::from_micros(when.2),
            estimated_tokens: sizes.0,
            actual_tokens: sizes.1,
            original_tokens: sizes.2,
            budget: sizes.3,
            response_bytes: when.1,
            ..RequestServed::default()
        })
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        let moment = || prop::option::of(prop_oneof![19 * HOUR..24 * HOUR, Just(21 * HOUR), Just(22 * HOUR)]);
        let endpoint = prop::option::of(prop::sample::select(vec!["list_1", "list_[02]", "*", "none"]));
        let outcome = prop::option::weighted(0.1, Just(Outcome::Paginated));
        let of = prop::option::weighted(0.2, prop::sample::select(vec!["list_1", "none"]));
        (moment(), moment(), endpoint, of, outcome).prop_map(|(since, until, endpoint, of, outcome)| Filter {
            since,
            until,
            endpoint: endpoint.map(str::to_owned),
            of: of.map(|name| Endpoint { upstream: None, kind: "tool".to_owned(), name: name.to_owned() }),
            outcome,
            ..Filter::default()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn what_is_added_up_answers_as_requests_do(
            requests in prop::collection::vec(any_request(), 1_000..2_600),
            more in prop::collection::vec(any_request(), 0..30),
            filters in prop::collection::vec(any_filter(), 8),
            hours in 0..4_u64,
        ) {
            let (one, other) = (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
            let (mut added_up, mut raw) = (store(&one), store(&other));
            for batch in requests.chunks(700) {
                write(&mut added_up, batch);
                roll(&mut added_up);
            }
            prop_assert!(rolled(&added_up).1 > 0);
            // Minutes of endpoints are deleted first.
            let keep = Keep { age: Duration::MAX, bytes: u64::MAX };
            while added_up.retain((48 + 20 + hours) * HOUR, &keep).expect("it can be written") {}
            write(&mut added_up, &more);
            write(&mut raw, &requests);
            write(&mut raw, &more);
            let (added_up, raw) = (reader(&one), reader(&other));
            for filter in filters {
                agree(&added_up, &raw, &filter);
            }
        }
    }

    #[test]
    fn an_earlier_file_is_caught_up_with_by_whoever_writes() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let (mut one, mut other) = (store(&directory), store(&directory));
        write(&mut one, &requests(0, 6_500));
        assert_eq!(rolled(&one), (0, 0));
        assert!(one.roll().expect("it can be written"));
        assert!(other.roll().expect("it can be written"));
        assert!(!one.roll().expect("it can be written"), "the rest is too little for a step");
        assert_eq!(rolled(&other).0, 6_000);
        let found = reader(&directory).endpoints(&Filter::default()).expect("it can be read");
        let counts: Vec<u64> = found.iter().map(|traffic| traffic.stats.requests).collect();
        assert_eq!(counts, [2_167, 2_167, 2_166]);
    }

    #[test]
    fn ids_that_are_given_again_are_added_up_again() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory);
        write(&mut store, &requests(0, 3_000));
        roll(&mut store);
        // All of them are old and deleted, and so are their hours.
        let keep = Keep { age: Duration::from_hours(1), bytes: u64::MAX };
        while store.retain(10 * HOUR, &keep).expect("it can be written") {}
        assert_eq!(rolled(&store), (0, 0));
        write(&mut store, &requests(36_000, 1_500));
        roll(&mut store);
        assert_eq!(rolled(&store).0, 1_500);
        let found = reader(&directory).endpoints(&Filter::default()).expect("it can be read");
        assert_eq!(found.iter().map(|traffic| traffic.stats.requests).sum::<u64>(), 1_500);
    }

    #[test]
    fn what_goes_by_size_stays_added_up() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory);
        write(&mut store, &requests(0, 9_000));
        let keep = Keep { age: Duration::from_hours(24), bytes: 1 << 19 };
        while store.retain(3 * HOUR, &keep).expect("it can be written") {}
        let left: i64 = store
            .connection
            .query_row("SELECT count(*) FROM requests", [], |row| row.get(0))
            .expect("they can be counted");
        assert!(left < 6_000, "{left}");
        let reader = reader(&directory);
        let found = reader.endpoints(&Filter::default()).expect("it can be read");
        assert_eq!(found.iter().map(|traffic| traffic.stats.requests).sum::<u64>(), 9_000);
        let hour = Filter { until: Some(HOUR), ..Filter::default() };
        let series = reader.series(&hour, Duration::from_mins(1)).expect("it can be read");
        assert_eq!(series.slots.iter().map(|slot| slot.stats.requests).collect::<Vec<_>>(), [60; 60]);
    }

    #[test]
    fn what_goes_by_size_of_single_endpoints_stays_added_up_as_that_of_others() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let mut store = store(&directory);
        // Every other request is of a rarely used endpoint.
        let seldom = |number: u64| Arc::from(format!("file:///{}", number % 2_000));
        let requests = requests(0, 9_000).into_iter().zip(0..).map(|(served, number)| RequestServed {
            endpoint: if number % 2 == 0 { seldom(number) } else { served.endpoint },
            ..served
        });
        write(&mut store, &requests.collect::<Vec<_>>());
        roll(&mut store);
        // Requests of the last hour are left.
        let keep = Keep { age: Duration::from_hours(24), bytes: 1 << 20 };
        while store.retain(3 * HOUR, &keep).expect("it can be written") {}
        let reader = reader(&directory);
        let minute = HOUR / 60;
        for (since, until) in [(0, 10 * HOUR), (0, HOUR), (HOUR, 2 * HOUR), (7 * minute, 9 * minute)] {
            let filter = Filter { since: Some(since), until: Some(until), ..Filter::default() };
            let endpoints = reader.endpoints(&filter).expect("it can be read");
            let sum = |of: fn(&TrafficStats) -> u64| endpoints.iter().map(|one| of(&one.stats)).sum::<u64>();
            let total = reader.total(&filter).expect("it can be read");
            assert_eq!(total.requests, (until.min(9_000_000_000) - since) / 1_000_000);
            assert_eq!(sum(|stats| stats.requests), total.requests, "{since} to {until}");
            assert_eq!(sum(|stats| stats.of(Outcome::Untouched)), total.of(Outcome::Untouched));
        }
        // Without single requests, ranges are whole minutes.
        let odd =
            Filter { since: Some(7 * minute + 30_000_000), until: Some(9 * minute + 1), ..Filter::default() };
        let retention = reader.retention().expect("it can be read");
        assert!(retention.records_since().is_some_and(|since| since > HOUR));
        assert_eq!(reader.total(&retention.rounded(&odd)).expect("it can be read").requests, 180);
        let early = Filter { until: Some(HOUR), ..Filter::default() };
        let names: Vec<String> = reader
            .endpoints(&early)
            .expect("it can be read")
            .iter()
            .map(|one| one.endpoint.to_string())
            .collect();
        assert_eq!(names, ["other", "list_0", "list_1", "list_2"]);
    }
}
