//! Records events on a separate writer thread.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portion_core::event::{Event, Observer as _, RequestServed};
//! use portion_telemetry::read::{Filter, Reader};
//! use portion_telemetry::recorder::{Recorder, Settings};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("telemetry.db");
//! let recorder = Recorder::start(Settings::new(&path));
//! let served = RequestServed { endpoint: "list_bookings".into(), ..RequestServed::default() };
//! recorder.observe(Event::RequestServed(Arc::new(served)));
//! assert!(recorder.flush(Duration::from_secs(60)));
//! let records = Reader::open(&path)?.requests(&Filter::default())?;
//! assert_eq!(records[0].endpoint.name, "list_bookings");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::event::{Event, Observer};
use portion_net::worker::{Deadline, Worker, WorkerOptions};

use writer::{BATCH, Writer};

/// Queue of a recorder: a few seconds of the busiest traffic, a few megabytes. Only a full batch wakes the writer.
const WORKER: WorkerOptions = WorkerOptions {
    name: "telemetry",
    capacity: 8_192,
    wake_at: BATCH,
    poll_interval: (Duration::from_millis(200), Duration::from_secs(1)),
};
/// Maximum time that dropping a recorder waits for queued events.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);

/// Location and retention of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Path of the file. The file and its directory are created if missing.
    pub path: PathBuf,
    /// Maximum age of a record.
    pub keep_for: Duration,
    /// Maximum size of all records in bytes. The oldest are deleted first.
    pub keep_bytes: u64,
}

impl Settings {
    /// Keeps records in `path` for 30 days and up to 256 MiB.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), keep_for: Duration::from_hours(30 * 24), keep_bytes: 256 << 20 }
    }
}

/// Observer that queues events for a writer thread, which stores them in batches. Dropping it waits up to two seconds
/// for queued events.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    stats: Arc<QueueStats>,
    /// `None` if the writer thread could not be started.
    worker: Option<Worker<Event>>,
}

impl Recorder {
    /// Starts the writer thread. This neither blocks nor fails. Errors of the file are logged, retried, and visible in
    /// the [`QueueSnapshot`].
    pub fn start(settings: Settings) -> Self {
        let (path, stats) = (settings.path.clone(), Arc::new(QueueStats::default()));
        let worker = Worker::start(&WORKER, Writer::new(settings, Arc::clone(&stats)));
        let worker = worker.inspect_err(|error| {
            tracing::warn!(%error, "cannot start the telemetry thread; nothing is recorded");
            stats.set_error(format!("cannot start the writer thread: {error}"));
        });
        Self { path, stats, worker: worker.ok() }
    }

    /// Returns the state of the queue.
    pub fn snapshot(&self) -> QueueSnapshot {
        self.stats.snapshot(self.worker.as_ref().map_or(0, Worker::pending))
    }

    /// Waits up to `within` until all queued events are written, or a write fails. Returns true if all are written.
    pub fn flush(&self, within: Duration) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.flush(within))
    }

    /// Closes the queue, so that the writer writes what is queued and ends. Does not wait.
    pub fn close(&self) {
        if let Some(worker) = &self.worker {
            worker.close();
        }
    }

    /// Closes the queue, waits up to `deadline` for queued events, and logs the number of events lost.
    pub fn end(&self, deadline: Deadline) {
        self.close();
        if self.stats.is_reported() {
            return;
        }
        if let Some(worker) = &self.worker {
            worker.wait_for_end(deadline);
        }
        let QueueSnapshot { queued: waiting, last_error: error, .. } = self.snapshot();
        let dropped = self.stats.take_unreported();
        if waiting > 0 || dropped > 0 {
            // The error names the file as well, but a file that is locked may not have failed yet.
            let file = self.path.display();
            tracing::warn!(waiting, dropped, error, %file, "telemetry ends with unwritten records");
        }
    }
}

impl Observer for Recorder {
    fn observe(&self, event: Event) {
        if self.worker.as_ref().is_none_or(|worker| worker.submit(event).is_err()) {
            self.stats.discarded(1);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(Deadline::after(DROP_TIMEOUT));
    }
}

/// State of the recorder's queue, with counts since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Events written to the file.
    pub written: u64,
    /// Events dropped: the queue was full, or they could not be stored.
    pub dropped: u64,
    /// Failed writes. Their events are retried.
    pub failed: u64,
    /// Events that wait to be written.
    pub queued: usize,
    /// Time since the last dropped event.
    pub last_drop: Option<Duration>,
    /// Error of the last write; `None` if it succeeded.
    pub last_error: Option<String>,
}

/// Counters of the recorder.
#[derive(Debug, Default)]
struct QueueStats {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    /// Dropped events that are not in the log yet.
    unreported: AtomicU64,
    problems: Mutex<Problems>,
    /// The losses at the end are in the log.
    reported: AtomicBool,
}

/// Last drop and last error.
#[derive(Debug, Default)]
struct Problems {
    last_drop: Option<Instant>,
    last_error: Option<String>,
}

impl QueueStats {
    /// Returns the counts, with the number of events that wait.
    fn snapshot(&self, queued: usize) -> QueueSnapshot {
        let problems = self.problems.lock();
        QueueSnapshot {
            written: self.written.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            queued,
            last_drop: problems.last_drop.map(|last_drop| last_drop.elapsed()),
            last_error: problems.last_error.clone(),
        }
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Counts events written to the file.
    fn wrote(&self, events: usize) {
        self.written.fetch_add(events as u64, Relaxed);
    }

    /// Counts events that found the queue full, or cannot be stored.
    fn discarded(&self, events: usize) {
        self.dropped.fetch_add(events as u64, Relaxed);
        self.unreported.fetch_add(events as u64, Relaxed);
        self.problems.lock().last_drop = Some(Instant::now());
    }

    /// Returns the number of drops since the last call.
    fn take_unreported(&self) -> u64 {
        self.unreported.swap(0, Relaxed)
    }

    /// Counts a failed write and stores its reason.
    fn write_failed(&self, why: String) {
        self.failed.fetch_add(1, Relaxed);
        self.set_error(why);
    }

    /// Stores the reason why nothing is written.
    /// Returns false at the first call: the losses at the end are reported once.
    fn is_reported(&self) -> bool {
        self.reported.swap(true, Relaxed)
    }

    fn set_error(&self, why: String) {
        self.problems.lock().last_error = Some(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_events_are_reported_once_and_counted_for_good() {
        let stats = QueueStats::default();
        assert_eq!((stats.take_unreported(), stats.snapshot(0).last_drop), (0, None));
        stats.discarded(1);
        stats.discarded(2);
        assert_eq!((stats.take_unreported(), stats.take_unreported()), (3, 0));
        let snapshot = stats.snapshot(7);
        assert_eq!((snapshot.dropped, snapshot.queued), (3, 7));
        assert!(snapshot.last_drop.is_some());
        assert!(!stats.is_reported() && stats.is_reported(), "the end is reported once");
    }
}
