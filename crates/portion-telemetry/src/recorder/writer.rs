//! Writer thread: stores queued events in batches and deletes old records.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::event::Event;
use portion_net::worker::{Handler, Items};

use super::QueueStats;
use super::Settings;
use crate::store::{self, Keep, Recovery, Store, StoreError};

/// Maximum number of events per transaction.
pub(super) const BATCH: usize = 512;
/// First and longest delay before a failed write is retried.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Roll-up steps per run while many requests are not rolled up: some tens of milliseconds.
const CATCH_UP_STEPS: usize = 4;
/// Interval between two checks for old records.
const RETENTION_INTERVAL: Duration = Duration::from_mins(1);

/// Time without trouble after which an outage is over.
const QUIET: Duration = Duration::from_secs(10);

/// State of the writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    settings: Settings,
    stats: Arc<QueueStats>,
    /// Events of the next write. Events of a failed write stay here for the retry.
    batch: Vec<Event>,
    store: Option<Store>,
    retry_delay: Duration,
    /// Earliest time of the next attempt after a failure.
    retry: Option<Instant>,
    last_retention: Option<Instant>,
    outage: OutageTracker,
}

/// A reading of both clocks.
#[derive(Clone, Copy, Debug)]
struct Now {
    instant: Instant,
    /// Microseconds since 1970.
    at: u64,
}

impl Now {
    fn read() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), at: u64::try_from(since.as_micros()).unwrap_or(u64::MAX) }
    }
}

impl Handler<Event> for Writer {
    fn poll(&mut self, events: &Items<Event>) {
        self.run_once(events, Now::read());
    }
}

impl Writer {
    pub(super) fn new(settings: Settings, stats: Arc<QueueStats>) -> Self {
        Self {
            settings,
            stats,
            batch: Vec::with_capacity(BATCH),
            store: None,
            retry_delay: RETRY_DELAY.0,
            retry: None,
            last_retention: None,
            outage: OutageTracker::default(),
        }
    }

    /// Writes queued events, unless a retry is still delayed.
    fn run_once(&mut self, events: &Items<Event>, now: Now) {
        let flush_requested = events.take_flush_request();
        if !flush_requested && self.retry.is_some_and(|retry| now.instant < retry) {
            return self.report(now, true, None);
        }
        match self.write(events, now) {
            Ok(()) => {
                (self.retry_delay, self.retry) = (RETRY_DELAY.0, None);
                self.stats.problems.lock().last_error = None;
                self.report(now, false, None);
            }
            Err(error) => {
                let why = error.describe(&self.settings.path);
                self.stats.write_failed(why.clone());
                events.fail();
                self.retry = Some(now.instant + self.retry_delay);
                self.retry_delay = (self.retry_delay * 2).min(RETRY_DELAY.1);
                self.report(now, true, Some(&why));
                self.recover(&error, events);
            }
        }
    }

    fn write(&mut self, events: &Items<Event>, now: Now) -> Result<(), StoreError> {
        let mut store = self.opened()?;
        self.apply_retention(&mut store, now);
        let written = self.write_all(events, &mut store);
        self.store = Some(store);
        written
    }

    fn write_all(&mut self, events: &Items<Event>, store: &mut Store) -> Result<(), StoreError> {
        loop {
            let room = BATCH.saturating_sub(self.batch.len());
            self.batch.extend(std::iter::from_fn(|| events.take()).take(room));
            if self.batch.is_empty() {
                return catch_up(store);
            }
            // The file may have been removed since the last batch.
            if !store.is_at(&self.settings.path) {
                *store = self.open()?;
            }
            store.write(&self.batch)?;
            self.stats.wrote(self.batch.len());
            events.finish(self.batch.len());
            self.batch.clear();
            store.roll()?;
        }
    }

    /// Returns the open file. Opens it first if it is closed or was replaced.
    fn opened(&mut self) -> Result<Store, StoreError> {
        match self.store.take() {
            Some(store) if store.is_at(&self.settings.path) => Ok(store),
            other => {
                drop(other);
                self.open()
            }
        }
    }

    fn open(&self) -> Result<Store, StoreError> {
        // Leaves some room above the limit, because old records are deleted only now and then.
        store::open(&self.settings.path, self.settings.keep_bytes.saturating_mul(5) / 4)
    }

    /// Takes one retention step if it is due.
    fn apply_retention(&mut self, store: &mut Store, now: Now) {
        if self.last_retention.is_some_and(|last_retention| {
            now.instant.saturating_duration_since(last_retention) < RETENTION_INTERVAL
        }) {
            return;
        }
        let keep = Keep { age: self.settings.keep_for, bytes: self.settings.keep_bytes };
        let more = store.retain(now.at, &keep).unwrap_or_else(|error| {
            tracing::debug!(%error, "old telemetry could not be deleted");
            false
        });
        self.last_retention = (!more).then_some(now.instant);
    }

    /// Prepares the next attempt.
    fn recover(&mut self, error: &StoreError, events: &Items<Event>) {
        match error.recovery() {
            // Deleting old records may make room.
            Recovery::Wait => self.last_retention = None,
            Recovery::Reopen => self.store = None,
            Recovery::Inspect => {
                if let Some(store) = self.store.take()
                    && let Err(error) = store.quarantine_if_corrupt(&self.settings.path)
                {
                    tracing::debug!(%error, "the corrupt telemetry file could not be moved");
                }
            }
            Recovery::Skip => {
                self.stats.discarded(self.batch.len());
                events.finish(self.batch.len());
                self.batch.clear();
                self.store = None;
            }
        }
    }

    fn report(&mut self, now: Now, failing: bool, why: Option<&str>) {
        if let Some(transition) = self.outage.update(now.instant, failing, self.stats.dropped()) {
            log(transition, why, || self.stats.take_unreported());
        }
    }
}

/// Tracks whether recording fails or drops events.
#[derive(Debug, Default)]
struct OutageTracker {
    /// Time of the last failure during an outage.
    open: Option<Instant>,
    /// Dropped events as of the last update.
    dropped: u64,
}

/// Change of an outage, to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// The outage starts.
    Started,
    /// The outage is over.
    Recovered,
}

impl OutageTracker {
    /// Updates the state: `failing` if the last write failed, `dropped` is the total of dropped events. Returns a
    /// change to log.
    fn update(&mut self, now: Instant, failing: bool, dropped: u64) -> Option<Transition> {
        let wrong = failing || dropped > self.dropped;
        self.dropped = dropped;
        match &mut self.open {
            None if wrong => {
                self.open = Some(now);
                Some(Transition::Started)
            }
            Some(last) if wrong => {
                *last = now;
                None
            }
            Some(last) if now.saturating_duration_since(*last) >= QUIET => {
                self.open = None;
                Some(Transition::Recovered)
            }
            _ => None,
        }
    }
}

/// Logs a change. `why` is the error, `dropped` returns the events dropped and not logged yet.
fn log(transition: Transition, why: Option<&str>, dropped: impl FnOnce() -> u64) {
    match (transition, why) {
        (Transition::Started, Some(error)) => {
            tracing::warn!(error, "telemetry cannot be written; requests are served, records are queued");
        }
        (Transition::Started, None) => {
            tracing::warn!("telemetry is too slow; requests are served, some records are dropped");
        }
        (Transition::Recovered, _) => match dropped() {
            0 => tracing::info!("telemetry is written again; no record was lost"),
            dropped => tracing::warn!(dropped, "telemetry is written again; some records were lost"),
        },
    }
}

/// Rolls up requests that an earlier version wrote, a few steps at a time.
fn catch_up(store: &mut Store) -> Result<(), StoreError> {
    for _ in 0..CATCH_UP_STEPS {
        if !store.roll()? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use portion_core::event::{EndpointKind, RequestServed};
    use portion_net::worker::Worker;

    use super::*;

    /// A writer without a thread, driven by an explicit clock.
    fn writer(directory: &tempfile::TempDir) -> (Writer, Worker<Event>, Items<Event>) {
        let settings = Settings::new(directory.path().join("telemetry.db"));
        let (worker, items) = Worker::without_thread(&super::super::WORKER);
        (Writer::new(settings, Arc::default()), worker, items)
    }

    fn send(worker: &Worker<Event>, events: u64) {
        for at in 0..events {
            let served = RequestServed {
                at,
                endpoint: "list_bookings".into(),
                kind: EndpointKind::Tool,
                ..RequestServed::default()
            };
            worker.submit(Event::RequestServed(Arc::new(served))).expect("there is room");
        }
    }

    #[test]
    fn a_full_disk_is_tried_again_later() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let (mut writer, worker, items) = writer(&directory);
        let start = Instant::now();
        let after = |writer: &mut Writer, millis| {
            writer.run_once(&items, Now { instant: start + Duration::from_millis(millis), at: 1_000 });
            let snapshot = writer.stats.snapshot(worker.pending());
            (snapshot.written, snapshot.failed, snapshot.queued)
        };
        send(&worker, 100);
        assert_eq!(after(&mut writer, 0), (100, 0, 0));
        let pages = |writer: &Writer, max: i64| {
            let store = writer.store.as_ref().expect("it is open");
            let set = store.connection().pragma_update_and_check(None, "max_page_count", max, |_| Ok(()));
            set.expect("it can be set");
        };
        pages(&writer, 1);
        send(&worker, 1_500);
        assert_eq!(writer.stats.snapshot(worker.pending()).last_error, None);
        assert_eq!(after(&mut writer, 200), (100, 1, 1_500));
        let error = writer.stats.snapshot(worker.pending()).last_error.expect("it fails");
        assert!(error.contains("telemetry.db: ") && error.contains("full"), "{error}");
        pages(&writer, 100_000);
        assert_eq!(after(&mut writer, 400), (100, 1, 1_500), "not yet");
        assert!(writer.stats.snapshot(worker.pending()).last_error.is_some(), "nor is it well");
        assert_eq!(after(&mut writer, 700), (1_600, 1, 0));
        assert_eq!(writer.stats.snapshot(worker.pending()).last_error, None);
    }

    #[test]
    fn the_retry_delay_grows_and_a_flush_ends_it() {
        let directory = tempfile::tempdir().expect("directories can be made");
        let (mut writer, worker, items) = writer(&directory);
        writer.settings.path = directory.path().join("file/telemetry.db");
        std::fs::write(directory.path().join("file"), "no directory").expect("it can be written");
        send(&worker, 1);
        let start = Instant::now();
        let mut tries = |millis, flush_requested: bool| {
            if flush_requested {
                worker.flush(Duration::ZERO);
            }
            let before = writer.stats.snapshot(worker.pending()).failed;
            writer.run_once(&items, Now { instant: start + Duration::from_millis(millis), at: 0 });
            writer.stats.snapshot(worker.pending()).failed > before
        };
        // Delays of half a second, one second and two seconds.
        let found: Vec<u64> = (0..20).map(|step| step * 250).filter(|millis| tries(*millis, false)).collect();
        assert_eq!(found, [0, 500, 1_500, 3_500]);
        assert!(!tries(5_000, false));
        assert!(tries(5_001, true));
    }

    #[test]
    fn an_outage_is_reported_when_it_starts_and_when_it_ends() {
        let start = Instant::now();
        let mut outage = OutageTracker::default();
        let mut update =
            |seconds, failing, dropped| outage.update(start + Duration::from_secs(seconds), failing, dropped);
        assert_eq!(update(0, false, 0), None);
        assert_eq!(update(1, true, 0), Some(Transition::Started));
        assert_eq!(update(2, true, 5), None);
        assert_eq!(update(3, false, 7), None);
        assert_eq!(update(12, false, 7), None, "it may come back");
        assert_eq!(update(13, false, 7), Some(Transition::Recovered));
        assert_eq!(update(14, false, 7), None);
        assert_eq!(update(15, false, 8), Some(Transition::Started), "another one");
    }
}
