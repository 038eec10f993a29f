//! Records events on a separate writer thread.

mod outage;
mod stats;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Thread};
use std::time::Duration;

use portion_core::event::{Event, Observer};

pub use stats::QueueSnapshot;

use stats::QueueStats;
use writer::{BATCH, Writer};

/// Maximum number of queued events: a few seconds of the busiest traffic, a few megabytes.
const QUEUE_CAPACITY: usize = 8_192;
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
    events: SyncSender<Event>,
    stats: Arc<QueueStats>,
    /// The writer thread. `None` if it could not be started.
    writer: Option<Thread>,
}

impl Recorder {
    /// Starts the writer thread. This neither blocks nor fails. Errors of the file are logged, retried, and visible in
    /// the [`QueueSnapshot`].
    pub fn start(settings: Settings) -> Self {
        let (events, receiver) = sync_channel(QUEUE_CAPACITY);
        let stats = Arc::new(QueueStats::default());
        let writer = Writer::new(settings, receiver, Arc::clone(&stats));
        let thread = thread::Builder::new().name("telemetry".to_owned()).spawn(move || writer.run());
        let writer = match thread {
            Ok(thread) => Some(thread.thread().clone()),
            Err(error) => {
                tracing::warn!(%error, "cannot start the telemetry thread; nothing is recorded");
                stats.set_error(format!("cannot start the writer thread: {error}"));
                None
            }
        };
        Self { events, stats, writer }
    }

    /// Returns the state of the queue.
    pub fn snapshot(&self) -> QueueSnapshot {
        self.stats.snapshot()
    }

    /// Waits up to `within` until all queued events are written, or a write fails. Returns true if all are written.
    pub fn flush(&self, within: Duration) -> bool {
        let Some(writer) = &self.writer else { return false };
        self.stats.flush(within, || writer.unpark())
    }

    /// Closes the queue, waits up to `within` for queued events, and logs the number of events lost.
    pub fn end(&self, within: Duration) {
        if !self.stats.close() {
            return;
        }
        if let Some(writer) = &self.writer {
            self.stats.wait_for_end(within, || writer.unpark());
        }
        let QueueSnapshot { queued: waiting, last_error: error, .. } = self.snapshot();
        let dropped = self.stats.take_unreported();
        if waiting > 0 || dropped > 0 {
            tracing::warn!(waiting, dropped, error, "telemetry ends with unwritten records");
        }
    }
}

impl Observer for Recorder {
    fn observe(&self, event: Event) {
        let waiting = self.stats.enqueued();
        if self.events.try_send(event).is_err() {
            self.stats.rejected();
        } else if waiting == BATCH
            && let Some(writer) = &self.writer
        {
            // The writer polls. Waking it costs more than all other work here, so only one event of a batch does.
            writer.unpark();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(DROP_TIMEOUT);
    }
}
