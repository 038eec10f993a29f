//! Background work: a bounded queue, a thread that handles its items, a flush, and a deadline.
//!
//! Recording, alerts, the webhook, the export of spans and the recount of replies all use [`Worker`]. A caller pays for
//! a place in the queue, and gets the item back if there is none. At the end of the process, all of them are closed
//! with the same [`Deadline`].
//!
//! ```
//! use std::sync::mpsc::channel;
//! use std::time::Duration;
//!
//! use portion_net::worker::{Deadline, Worker, WorkerOptions, for_each};
//!
//! let (sum, received) = channel();
//! let options = WorkerOptions { capacity: 8, ..WorkerOptions::new("squares") };
//! let worker = Worker::start(&options, for_each(move |n: u32| sum.send(n * n).unwrap()))?;
//! worker.submit(3).expect("there is room");
//! assert!(worker.flush(Duration::from_secs(10)));
//! assert_eq!(received.recv(), Ok(9));
//! worker.close();
//! assert!(worker.wait_for_end(Deadline::after(Duration::from_secs(10))));
//! assert_eq!(worker.submit(4), Err(4));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{fmt, io};

use parking_lot::{Condvar, Mutex};

/// Options of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Name of the thread.
    pub name: &'static str,
    /// Maximum number of pending items: queued, or taken and not finished.
    pub capacity: usize,
    /// Number of pending items at which the thread is woken. Waking costs more than all other steps, so a large number
    /// suits frequent items, and 1 suits rare ones.
    pub wake_at: usize,
    /// Shortest and longest pause between two polls of the queue: the shortest after work, doubled while there is none.
    pub poll_interval: (Duration, Duration),
}

/// Queues items for a thread. Dropping a worker closes its queue.
pub struct Worker<T> {
    items: Sender<T>,
    shared: Arc<Shared>,
    options: WorkerOptions,
    thread: Thread,
}

/// A moment by which everybody who was given it is done. Copies mean the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

/// Handles the items of a queue, on the worker's thread.
pub trait Handler<T>: Send + 'static {
    /// Handles queued items. It is called at each poll, also without items, and once more after the queue was closed.
    fn poll(&mut self, items: &Items<T>);
}

/// Handler that calls a function for each item.
#[derive(Clone, Copy, Debug)]
pub struct ForEach<F>(F);

impl WorkerOptions {
    /// Returns options for rare items: 64 pending ones, each of which wakes the thread.
    pub const fn new(name: &'static str) -> Self {
        let poll_interval = (Duration::from_secs(1), Duration::from_secs(1));
        Self { name, capacity: 64, wake_at: 1, poll_interval }
    }
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread that handles the items.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(options: &WorkerOptions, handler: impl Handler<T>) -> io::Result<Self> {
        let (mut worker, items) = Self::without_thread(options);
        let pauses = options.poll_interval;
        let thread = thread::Builder::new().name(options.name.to_owned());
        worker.thread = thread.spawn(move || run(&items, handler, pauses))?.thread().clone();
        Ok(worker)
    }

    /// Returns a worker without a thread, and its queue, for tests that poll a handler themselves.
    pub fn without_thread(options: &WorkerOptions) -> (Self, Items<T>) {
        let (items, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let worker =
            Self { items, shared: Arc::clone(&shared), options: *options, thread: thread::current() };
        (worker, Items { receiver, shared })
    }

    /// Queues an item. Never waits.
    ///
    /// # Errors
    /// The item, if the queue is full or closed.
    pub fn submit(&self, item: T) -> Result<(), T> {
        let shared = &self.shared;
        let admit = |pending: usize| (pending < self.options.capacity).then_some(pending + 1);
        if shared.closing.load(SeqCst) {
            return Err(item);
        }
        let Ok(before) = shared.pending.fetch_update(SeqCst, SeqCst, admit) else { return Err(item) };
        shared.submitted.fetch_add(1, SeqCst);
        if let Err(refused) = self.items.send(item) {
            // The thread has ended.
            shared.finish(1);
            return Err(refused.0);
        }
        if before + 1 == self.options.wake_at {
            self.thread.unpark();
        }
        Ok(())
    }

    /// Returns the number of items that are queued, or taken and not finished.
    pub fn pending(&self) -> usize {
        self.shared.pending.load(SeqCst)
    }

    /// Waits up to `within` until all items that were submitted before are finished. Returns true if they are. Returns
    /// early if the handler gives up for now.
    pub fn flush(&self, within: Duration) -> bool {
        let shared = &self.shared;
        let (target, failures) = (shared.submitted.load(SeqCst), shared.failures.load(SeqCst));
        let is_finished = || shared.finished.load(SeqCst) >= target;
        shared.flush_requested.store(true, SeqCst);
        self.thread.unpark();
        let gave_up = || shared.failures.load(SeqCst) != failures || shared.pausing.load(SeqCst);
        shared.wait_while(within, || !is_finished() && !gave_up());
        is_finished()
    }

    /// Closes the queue: the thread handles what is pending, without delays, and ends. Returns false if it was closed
    /// already. Does not wait.
    pub fn close(&self) -> bool {
        let is_first = !self.shared.closing.swap(true, SeqCst);
        self.thread.unpark();
        is_first
    }

    /// Waits until the thread has ended, up to `deadline`. Returns true if it has.
    pub fn wait_for_end(&self, deadline: Deadline) -> bool {
        self.shared.wait_while(deadline.remaining(), || true)
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.shared.closing.store(true, SeqCst);
        self.thread.unpark();
    }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("options", &self.options)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

impl Deadline {
    /// Returns the deadline that ends after `duration`.
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// Returns the time left; zero once it is over.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Returns the earlier of this deadline and the end of `duration` from now, for a step that must leave time to
    /// others.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }
}

impl<T, F: FnMut(T) + Send + 'static> Handler<T> for ForEach<F> {
    fn poll(&mut self, items: &Items<T>) {
        while let Some(item) = items.take() {
            (self.0)(item);
            items.finish(1);
        }
    }
}

/// Returns a handler that calls `handle` for each item.
pub fn for_each<T, F: FnMut(T) + Send + 'static>(handle: F) -> ForEach<F> {
    ForEach(handle)
}

/// The items of a queue, as its handler sees them.
#[derive(Debug)]
pub struct Items<T> {
    receiver: Receiver<T>,
    shared: Arc<Shared>,
}

/// Counts and wake-ups that both sides of a queue share.
#[derive(Debug, Default)]
struct Shared {
    /// Items that are queued, or taken and not finished.
    pending: AtomicUsize,
    /// Items ever admitted to the queue, and ever finished.
    submitted: AtomicU64,
    finished: AtomicU64,
    /// Times that a handler gave up for now.
    failures: AtomicU64,
    /// True while a handler waits before it tries again.
    pausing: AtomicBool,
    flush_requested: AtomicBool,
    closing: AtomicBool,
    /// Callers that wait for a change.
    waiters: AtomicUsize,
    ended: Mutex<bool>,
    changed: Condvar,
}

impl<T> Items<T> {
    /// Returns the next queued item.
    pub fn take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Counts taken items as finished, which makes room for others.
    pub fn finish(&self, items: usize) {
        self.shared.finish(items);
    }

    /// Ends running flushes: what is pending fails for now and is tried again later.
    pub fn fail(&self) {
        self.shared.failures.fetch_add(1, SeqCst);
        self.shared.notify();
    }

    /// Returns true if a flush was requested since the last call, or the queue is closed: nothing should be put off.
    pub fn take_flush_request(&self) -> bool {
        self.shared.flush_requested.swap(false, SeqCst) || self.is_closing()
    }

    /// Returns true once the queue is closed.
    pub fn is_closing(&self) -> bool {
        self.shared.closing.load(SeqCst)
    }

    /// Waits for `duration`, or until the queue is closed. Flushes end meanwhile.
    ///
    /// The queue is polled again at once afterwards: a wake-up during the pause, such as that of the end, is not lost.
    pub fn pause(&self, duration: Duration) {
        let until = Instant::now() + duration;
        self.shared.pausing.store(true, SeqCst);
        self.shared.notify();
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| !self.is_closing()) {
            thread::park_timeout(left);
        }
        self.shared.pausing.store(false, SeqCst);
        thread::current().unpark();
    }
}

impl Shared {
    fn finish(&self, items: usize) {
        self.pending.fetch_sub(items, SeqCst);
        self.finished.fetch_add(items as u64, SeqCst);
        if self.waiters.load(SeqCst) > 0 {
            self.notify();
        }
    }

    fn notify(&self) {
        drop(self.ended.lock());
        self.changed.notify_all();
    }

    /// Marks the worker as ended.
    fn end(&self) {
        *self.ended.lock() = true;
        self.changed.notify_all();
    }

    /// Waits up to `within` while `waits` returns true; not for a worker that has ended. Returns true if it has.
    fn wait_while(&self, within: Duration, waits: impl Fn() -> bool) -> bool {
        self.waiters.fetch_add(1, SeqCst);
        let mut ended = self.ended.lock();
        self.changed.wait_while_for(&mut ended, |ended| !*ended && waits(), within);
        self.waiters.fetch_sub(1, SeqCst);
        *ended
    }
}

/// Polls the queue until it is closed and handled once more.
fn run<T>(items: &Items<T>, handler: impl Handler<T>, (shortest, longest): (Duration, Duration)) {
    let _ended = Ended(Arc::clone(&items.shared));
    // Dropped before the end is announced.
    let mut handler = handler;
    let mut pause = shortest;
    loop {
        let (closing, before) = (items.is_closing(), items.shared.finished.load(SeqCst));
        handler.poll(items);
        if closing {
            return;
        }
        let is_idle = items.shared.finished.load(SeqCst) == before;
        pause = if is_idle { (pause * 2).min(longest) } else { shortest };
        thread::park_timeout(pause);
    }
}

/// Announces the end of the thread, also after a panic.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        // The receiver is dropped later: until then the channel would still accept items.
        self.0.closing.store(true, SeqCst);
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);
    /// Only a flush, the end or the first item wakes the thread.
    const RARE: WorkerOptions =
        WorkerOptions { capacity: 4, poll_interval: (LONG, LONG), ..WorkerOptions::new("test") };

    /// Starts a worker that waits for a word before each item.
    fn gated(options: &WorkerOptions) -> (Worker<u32>, Sender<()>, Receiver<u32>) {
        let (go, gate) = channel::<()>();
        let (handled, received) = channel();
        let handle = move |item| {
            let _ = gate.recv();
            handled.send(item).expect("somebody listens");
        };
        (Worker::start(options, for_each(handle)).expect("threads can be started"), go, received)
    }

    #[test]
    fn items_are_handled_in_order_and_bounded() {
        let (worker, go, received) = gated(&RARE);
        for item in 0..4 {
            worker.submit(item).expect("there is room");
        }
        assert_eq!(worker.submit(4), Err(4), "an item in hand takes room");
        assert!(!worker.flush(Duration::ZERO));
        (0..4).for_each(|_| go.send(()).expect("it waits"));
        assert!(worker.flush(LONG));
        assert_eq!((worker.pending(), received.try_iter().collect()), (0, vec![0, 1, 2, 3]));
        drop(go);
        worker.submit(5).expect("there is room again");
        assert!(worker.flush(LONG));
        assert_eq!(received.recv(), Ok(5));
    }

    #[test]
    fn a_closed_worker_handles_what_is_pending_and_ends() {
        let (worker, go, received) = gated(&RARE);
        worker.submit(1).expect("there is room");
        worker.submit(2).expect("there is room");
        assert!(worker.close() && !worker.close(), "it is closed once");
        assert_eq!(worker.submit(3), Err(3));
        assert!(!worker.wait_for_end(Deadline::after(Duration::ZERO)), "an item holds it up");
        drop(go);
        assert!(worker.wait_for_end(Deadline::after(LONG)));
        assert_eq!(received.iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn dropping_a_worker_ends_its_thread() {
        let (worker, go, received) = gated(&RARE);
        worker.submit(1).expect("there is room");
        drop((worker, go));
        assert_eq!(received.iter().collect::<Vec<_>>(), [1], "the thread drops its sender");
    }

    #[test]
    fn a_handler_that_panics_ends_the_worker() {
        let worker = Worker::start(&RARE, for_each(|(): ()| panic!("as it should"))).expect("a thread");
        worker.submit(()).expect("there is room");
        assert!(worker.wait_for_end(Deadline::after(LONG)));
        assert!(!worker.flush(LONG), "the item was not finished");
        assert_eq!(worker.submit(()), Err(()));
    }

    /// Fails until the queue is closed, and pauses before it tries again.
    struct Unreachable;

    impl Handler<u32> for Unreachable {
        fn poll(&mut self, items: &Items<u32>) {
            while let Some(_item) = items.take() {
                items.fail();
                items.pause(LONG);
                items.finish(1);
            }
        }
    }

    #[test]
    fn a_failure_ends_a_flush_and_the_end_a_pause() {
        let worker = Worker::start(&RARE, Unreachable).expect("threads can be started");
        worker.submit(1).expect("there is room");
        let deadline = Deadline::after(LONG);
        assert!(!worker.flush(LONG));
        assert!(!worker.flush(LONG), "it fails already");
        assert!(deadline.remaining() > LONG / 2, "it does not wait for the next attempt");
        worker.close();
        assert!(
            worker.wait_for_end(Deadline::after(LONG / 2)),
            "it waits for neither the pause nor the next poll"
        );
        assert_eq!(worker.pending(), 0);
    }

    #[test]
    fn a_step_never_ends_after_the_whole() {
        let whole = Deadline::after(Duration::from_mins(1));
        assert!(whole.at_most(Duration::from_secs(1)) < whole);
        assert_eq!(whole.at_most(Duration::from_mins(2)), whole);
        assert_eq!(Deadline::after(Duration::ZERO).remaining(), Duration::ZERO);
    }
}
