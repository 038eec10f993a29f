//! Hears what happens, and has it written by a thread of its own.

mod desk;
mod episode;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Thread};
use std::time::Duration;

use portion_core::event::{Event, Observer};

pub use desk::Figures;

use desk::Desk;
use writer::{BATCH, Writer};

/// Events that wait at most: some seconds of the busiest traffic, some megabytes.
const QUEUE: usize = 8_192;
/// How long the end of a recorder waits for what is still to be written.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where records are kept, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file. It is made where it is missing, its directory as well.
    pub path: PathBuf,
    /// How long a record is kept.
    pub keep_for: Duration,
    /// Bytes that all of them may have; the oldest go first.
    pub keep_bytes: u64,
}

impl Settings {
    /// Keeps records in that file, for 30 days, and at most 256 MiB of them.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), keep_for: Duration::from_hours(30 * 24), keep_bytes: 256 << 20 }
    }
}

/// Hears what happens. What it heard is in the file a moment later, in one transaction with what came beside it; when
/// dropped, it waits up to two seconds for the last of it.
#[derive(Debug)]
pub struct Recorder {
    events: SyncSender<Event>,
    desk: Arc<Desk>,
    /// The writer; `None` where it could not be started.
    writer: Option<Thread>,
}

impl Recorder {
    /// Begins to record. This neither waits nor fails: what is wrong with the file is told in the log, tried again, and
    /// seen in the [`Figures`].
    pub fn start(settings: Settings) -> Self {
        let (events, receiver) = sync_channel(QUEUE);
        let desk = Arc::new(Desk::default());
        let writer = Writer::new(settings, receiver, Arc::clone(&desk));
        let thread = thread::Builder::new().name("telemetry".to_owned()).spawn(move || writer.run());
        let writer = match thread {
            Ok(thread) => Some(thread.thread().clone()),
            Err(error) => {
                tracing::warn!(%error, "no thread for telemetry: nothing is recorded");
                desk.stops(format!("no thread for it: {error}"));
                None
            }
        };
        Self { events, desk, writer }
    }

    /// How recording goes.
    pub fn figures(&self) -> Figures {
        self.desk.figures()
    }

    /// Waits until all that was heard is written, but no longer than that, nor for a file that cannot be written; whether
    /// all is.
    pub fn flush(&self, within: Duration) -> bool {
        let Some(writer) = &self.writer else { return false };
        self.desk.flush(within, || writer.unpark())
    }

    /// Nothing more is told: what waits is written, where it can be within that time. What is lost is told in the log.
    pub fn end(&self, within: Duration) {
        if !self.desk.close() {
            return;
        }
        if let Some(writer) = &self.writer {
            self.desk.wait(within, || writer.unpark());
        }
        let Figures { queue: waiting, trouble: error, .. } = self.figures();
        let dropped = self.desk.take_untold();
        if waiting > 0 || dropped > 0 {
            tracing::warn!(waiting, dropped, error, "telemetry ends with records that are not written");
        }
    }
}

impl Observer for Recorder {
    fn hear(&self, event: Event) {
        let waiting = self.desk.comes();
        if self.events.try_send(event).is_err() {
            self.desk.drops();
        } else if waiting == BATCH
            && let Some(writer) = &self.writer
        {
            // It looks by itself now and then: to wake it costs more than all the rest, and one in many does.
            writer.unpark();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end(FAREWELL);
    }
}
