//! Rolls up stored requests by minute and hour, in steps.
//!
//! The table `rolled` holds the last request included. It is updated in the same transaction, so concurrent processes
//! count no request twice and a crash loses none. Readers add the remaining requests themselves.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior};

use super::Store;
use crate::rollup::{ALL, Grain, RequestSample, Tally};

/// Minimum number of pending requests for a step. Batches are cheaper, and readers add pending requests themselves.
const MIN_PENDING: i64 = 1_000;
/// Requests per step.
const ROWS_PER_STEP: i64 = 2_000;

/// Tallies by grain, start and endpoint.
pub(super) type Tallies = HashMap<(Grain, i64, i64), Tally>;

impl Store {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use portion_core::event::{EndpointKind, Event, Outcome, RequestServed, ServedError};
    use proptest::prelude::*;

    use super::*;
    use crate::read::{Endpoint, Filter, Reader, TrafficStats};
    use crate::store::{Keep, open};

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
