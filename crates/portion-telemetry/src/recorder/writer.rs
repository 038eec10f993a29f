//! Writer thread: stores queued events in batches and deletes old records.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::event::Event;
use portion_net::worker::{Handler, Items};

use super::Settings;
use super::outage::{OutageTracker, log};
use super::stats::QueueStats;
use crate::store::{self, Keep, Recovery, Store, StoreError};

/// Maximum number of events per transaction.
pub(super) const BATCH: usize = 512;
/// First and longest delay before a failed write is retried.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Roll-up steps per run while many requests are not rolled up: some tens of milliseconds.
const CATCH_UP_STEPS: usize = 4;
/// Interval between two checks for old records.
const RETENTION_INTERVAL: Duration = Duration::from_mins(1);

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
pub(super) struct Now {
    pub(super) instant: Instant,
    /// Microseconds since 1970.
    pub(super) at: u64,
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
    pub(super) fn run_once(&mut self, events: &Items<Event>, now: Now) {
        let flush_requested = events.take_flush_request();
        if !flush_requested && self.retry.is_some_and(|retry| now.instant < retry) {
            return self.report(now, true, None);
        }
        match self.write(events, now) {
            Ok(()) => {
                (self.retry_delay, self.retry) = (RETRY_DELAY.0, None);
                self.stats.clear_error();
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
}
