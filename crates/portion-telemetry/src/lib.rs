//! Records what was served and configured: sizes, times and codes, never content.
//!
//! A [`Recorder`](recorder::Recorder) writes events to one `SQLite` file that all processes of a user share. A
//! [`Reader`](read::Reader) queries that file. Everything derived from records is a pure function: [`experiment`]
//! compares arms, [`what_if`] estimates replies under other limits, [`advise`] finds better page sizes,
//! [`calibration`] fits counts to what a model charged, [`show`] formats the results.
//!
//! Recording never blocks and never fails a request. If the file cannot be written, records are counted as dropped.
//!
//! An [`AsyncObserver`] is the worker between requests and observers:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portion_core::event::{Event, Observer as _, RequestServed};
//! use portion_telemetry::AsyncObserver;
//! use portion_telemetry::meter::Meter;
//!
//! let meter = Arc::new(Meter::default());
//! let observer = AsyncObserver::start(meter.clone());
//! observer.observe(Event::RequestServed(Arc::new(RequestServed::default())));
//! assert!(observer.flush(Duration::from_secs(60)));
//! assert_eq!(meter.totals().requests(), 1);
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `names`, `meter`, `prometheus` | the table of metrics for all exporters; counters of this process, with bounded labels; the Prometheus text format |
//! | `otlp` (feature `otlp`) | the export of spans and metrics to an OpenTelemetry collector |
//! | `alert` | the alert on oversized calls: `watch` is a state machine with time as an argument |
//! | `recorder` | the queue of records, which never blocks a request; `writer` handles it and logs failures |
//! | `store` | the file: `open`, which also migrates old files and moves corrupt ones away, `retain` (roll-ups and deletion), `write` |
//! | `record` | a recorded request, as a row of the file |
//! | `rollup` | sums by minute and hour, and the statistics of a time range; `quantile_histogram` keeps the distribution of durations |
//! | `read` | queries: `filter` selects records, `aggregate` adds up roll-ups and single requests |
//! | `statistics`, `calibration`, `experiment`, `advise`, `what_if` | confidence intervals; the factor of token counts; arms of an experiment; better page sizes; estimates under other limits |
//! | `show`, `timestamp` | results as tables, JSON and CSV, and `TextTable`, the table of all commands; points in time for people |

pub mod advise;
pub mod alert;
pub mod calibration;
pub mod experiment;
pub mod meter;
pub mod names;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod prometheus;
pub mod read;
mod record;
pub mod recorder;
mod rollup;
pub mod show;
pub mod statistics;
mod store;
pub mod timestamp;
pub mod what_if;

use std::sync::Arc;
use std::time::Duration;

use portion_core::event::{Event, Observer};
use portion_net::worker::{Worker, WorkerOptions, for_each};

/// Queue of an observer: more events than the busiest traffic brings between two polls. The thread polls, because waking
/// it for each event costs more than all other work.
const WORKER: WorkerOptions = WorkerOptions {
    name: "async-observer",
    capacity: 8_192,
    wake_at: usize::MAX,
    poll_interval: (Duration::from_millis(10), Duration::from_millis(250)),
};

/// Observer that queues events and delivers them in order from a separate thread. An event that finds the queue full
/// is delivered at once on the caller's thread, so no event is lost.
pub struct AsyncObserver {
    observer: Arc<dyn Observer>,
    /// `None` if the thread could not be started.
    worker: Option<Worker<Event>>,
}

impl AsyncObserver {
    /// Starts a thread that delivers events to `observer`.
    pub fn start(observer: Arc<dyn Observer>) -> Self {
        let target = Arc::clone(&observer);
        let worker = Worker::start(&WORKER, for_each(move |event| target.observe(event)));
        let worker =
            worker.inspect_err(|error| tracing::warn!(%error, "cannot start the observer thread; requests wait until they are recorded"));
        Self { observer, worker: worker.ok() }
    }

    /// Waits up to `within` until all earlier events are delivered. Returns true if they are.
    pub fn flush(&self, within: Duration) -> bool {
        // Without a thread, every event was delivered at once.
        self.worker.as_ref().is_none_or(|worker| worker.flush(within))
    }
}

impl Observer for AsyncObserver {
    fn observe(&self, event: Event) {
        let refused = match &self.worker {
            Some(worker) => worker.submit(event).err(),
            None => Some(event),
        };
        if let Some(event) = refused {
            self.observer.observe(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use parking_lot::Mutex;
    use portion_core::event::RequestServed;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    /// Forwards request numbers, and blocks on the first event until the gate opens.
    struct Recording {
        numbers: Sender<u128>,
        gate: Mutex<Option<Receiver<()>>>,
    }

    impl Observer for Recording {
        fn observe(&self, event: Event) {
            if let Event::RequestServed(served) = event {
                self.numbers.send(served.request).expect("somebody listens");
            }
            let gate = self.gate.lock().take();
            gate.map(|gate| gate.recv());
        }
    }

    fn event(request: u128) -> Event {
        Event::RequestServed(Arc::new(RequestServed { request, ..RequestServed::default() }))
    }

    #[test]
    fn events_arrive_in_order_and_flush_waits_for_them() {
        let (numbers, received) = channel();
        let later = AsyncObserver::start(Arc::new(Recording { numbers, gate: Mutex::default() }));
        (0..10_000).for_each(|number| {
            later.observe(event(number));
            if number % 5_000 == 0 {
                assert!(later.flush(LONG));
            }
        });
        assert!(later.flush(LONG));
        assert_eq!(received.try_iter().collect::<Vec<_>>(), (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn events_bypass_a_full_queue() {
        let (go, gate) = channel();
        let (numbers, received) = channel();
        let later = AsyncObserver::start(Arc::new(Recording { numbers, gate: Mutex::new(Some(gate)) }));
        later.observe(event(0));
        assert_eq!(received.recv_timeout(LONG), Ok(0), "which holds it up");
        let worker = later.worker.as_ref().expect("it has a thread");
        while worker.submit(event(1)).is_ok() {}
        assert!(!later.flush(Duration::ZERO));
        later.observe(event(2));
        assert_eq!(received.recv_timeout(LONG), Ok(2), "what waits is not waited for");
        go.send(()).expect("it waits");
        assert!(later.flush(LONG));
        assert_eq!(received.try_iter().count(), WORKER.capacity - 1);
    }
}
