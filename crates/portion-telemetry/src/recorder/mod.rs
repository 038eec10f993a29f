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

mod outage;
mod stats;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portion_core::event::{Event, Observer};
use portion_net::worker::{Deadline, Worker, WorkerOptions};

pub use stats::QueueSnapshot;

use stats::QueueStats;
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
