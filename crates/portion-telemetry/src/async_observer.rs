//! Delivers events to an observer on a separate thread, so a request only pays for a place in a queue.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portion_core::event::{Event, Observer as _, RequestServed};
//! use portion_telemetry::async_observer::AsyncObserver;
//! use portion_telemetry::meter::Meter;
//!
//! let meter = Arc::new(Meter::default());
//! let observer = AsyncObserver::start(meter.clone());
//! observer.observe(Event::RequestServed(Arc::new(RequestServed::default())));
//! assert!(observer.flush(Duration::from_secs(60)));
//! assert_eq!(meter.totals().requests(), 1);
//! ```

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
