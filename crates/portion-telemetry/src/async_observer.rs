//! Delivers events to an observer on a separate thread, so a request only pays for a place in a queue.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use portion_core::event::{Event, Observer};

/// Maximum number of queued events, more than the busiest traffic brings between two polls.
const QUEUE_CAPACITY: usize = 8_192;
/// Shortest and longest time between two polls of the queue. The thread polls, because waking it for each event costs
/// more than all other work.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// Pause between two attempts to queue a flush while the queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Observer that queues events and delivers them in order from a separate thread. An event that finds the queue full
/// is delivered at once on the caller's thread, so no event is lost.
pub struct AsyncObserver {
    observer: Arc<dyn Observer>,
    items: SyncSender<Item>,
    /// The delivering thread. `None` if it could not be started.
    worker: Option<Thread>,
}

enum Item {
    Event(Event),
    /// Answered once all earlier events are delivered.
    Flush(SyncSender<()>),
}

impl AsyncObserver {
    /// Starts a thread that delivers events to `observer`.
    pub fn start(observer: Arc<dyn Observer>) -> Self {
        let (items, receiver) = sync_channel(QUEUE_CAPACITY);
        let target = Arc::clone(&observer);
        let worker = thread::Builder::new().name("async-observer".to_owned());
        let worker = worker.spawn(move || run_worker(&receiver, &*target));
        let worker =
            worker.inspect_err(|error| tracing::warn!(%error, "cannot start the observer thread; requests wait until they are recorded"));
        Self { observer, items, worker: worker.ok().map(|worker| worker.thread().clone()) }
    }

    /// Waits up to `within` until all earlier events are delivered. Returns true if they are.
    pub fn flush(&self, within: Duration) -> bool {
        // Without a thread, every event was delivered at once.
        let Some(worker) = &self.worker else { return true };
        let until = Instant::now() + within;
        let remaining = || until.saturating_duration_since(Instant::now());
        let (done, flushed) = sync_channel(1);
        let mut item = Item::Flush(done);
        while let Err(refused) = self.items.try_send(item) {
            match refused {
                TrySendError::Full(back) if !remaining().is_zero() => item = back,
                _ => return false,
            }
            worker.unpark();
            thread::sleep(RETRY_INTERVAL);
        }
        worker.unpark();
        flushed.recv_timeout(remaining()).is_ok()
    }
}

impl Observer for AsyncObserver {
    fn observe(&self, event: Event) {
        // Without a thread the receiver is gone, so `try_send` fails and the event is delivered here.
        let sent = self.items.try_send(Item::Event(event));
        if let Err(TrySendError::Full(Item::Event(event)) | TrySendError::Disconnected(Item::Event(event))) =
            sent
        {
            self.observer.observe(event);
        }
    }
}

/// Delivers events until all senders are gone.
fn run_worker(items: &Receiver<Item>, observer: &dyn Observer) {
    let mut interval = POLL_INTERVAL.0;
    loop {
        match items.try_recv() {
            Ok(item) => {
                interval = POLL_INTERVAL.0;
                match item {
                    Item::Event(event) => observer.observe(event),
                    // The caller of `flush` may have timed out.
                    Item::Flush(done) => {
                        let _ = done.send(());
                    }
                }
            }
            Err(TryRecvError::Empty) => {
                thread::park_timeout(interval);
                interval = (interval * 2).min(POLL_INTERVAL.1);
            }
            Err(TryRecvError::Disconnected) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Mutex, PoisonError};

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
            let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).take();
            gate.map(|gate| gate.recv());
        }
    }

    fn event(request: u128) -> Event {
        Event::RequestServed(Arc::new(RequestServed { request, ..RequestServed::default() }))
    }

    #[test]
    fn events_arrive_in_order_and_flush_waits_for_them() {
        let (numbers, told) = channel();
        let later = AsyncObserver::start(Arc::new(Recording { numbers, gate: Mutex::default() }));
        (0..10_000).for_each(|number| {
            later.observe(event(number));
            if number % 5_000 == 0 {
                assert!(later.flush(LONG));
            }
        });
        assert!(later.flush(LONG));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn events_bypass_a_full_queue() {
        let (go, gate) = channel();
        let (numbers, told) = channel();
        let later = AsyncObserver::start(Arc::new(Recording { numbers, gate: Mutex::new(Some(gate)) }));
        later.observe(event(0));
        assert_eq!(told.recv_timeout(LONG), Ok(0), "which holds it up");
        while later.items.try_send(Item::Event(event(1))).is_ok() {}
        assert!(!later.flush(Duration::ZERO));
        later.observe(event(2));
        assert_eq!(told.recv_timeout(LONG), Ok(2), "what waits is not waited for");
        go.send(()).expect("it waits");
        assert!(later.flush(LONG));
        assert_eq!(told.try_iter().count(), QUEUE_CAPACITY);
    }
}
