//! Runs deferred work on a thread of its own, one job at a time, so that no request waits for
//! it.
//!
//! The queue is bounded, and so is the CPU time for counting. A job that does not fit runs at once on the
//! caller's thread, but not thoroughly, so that no record is lost. At shutdown pending jobs are waited for,
//! but not long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tracing::dispatcher::{self, Dispatch};

/// Largest number of pending jobs.
const MAX_PENDING_JOBS: usize = 64;
/// Largest total size of pending jobs in bytes, unless a single job is larger.
const MAX_PENDING_BYTES: usize = 64 << 20;
/// Share of one core for best-effort jobs.
const CPU_SHARE: f64 = 0.1;
/// CPU time of best-effort jobs before the share applies.
const CPU_BURST: Duration = Duration::from_secs(2);
/// Pending jobs at which the thread is woken: waking costs more than all other steps, so the thread also
/// polls.
const WAKE_BATCH: usize = 16;
/// Shortest and longest pause between polls; the shortest after work.
const POLL_INTERVAL_RANGE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(250));
/// Share of the flush limit in which jobs still run thoroughly.
const THOROUGH_FRACTION: f64 = 0.8;

/// Runs deferred jobs.
pub(crate) struct DeferredWorker {
    thread_name: &'static str,
    worker: OnceLock<Option<WorkerHandle>>,
    queue: Arc<JobQueue>,
}

/// Importance of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPriority {
    /// Statistics: as many as the CPU share allows.
    BestEffort,
    /// Records that must be complete.
    Required,
}

/// Sender of jobs, and the worker thread.
struct WorkerHandle {
    sender: SyncSender<DeferredJob>,
    thread: Thread,
}

struct DeferredJob {
    work: Box<dyn FnOnce(bool) + Send>,
    priority: JobPriority,
    bytes: usize,
    log_dispatch: Dispatch,
}

#[derive(Default)]
struct JobQueue {
    state: Mutex<QueueState>,
    job_finished: Condvar,
}

#[derive(Default)]
struct QueueState {
    pending_jobs: usize,
    pending_bytes: usize,
    /// CPU time of best-effort jobs, decayed by the share of the time since; and when it was last updated.
    time_spent: Duration,
    measured_at: Option<Instant>,
    /// True if jobs must not run thoroughly any more.
    flush_requested: bool,
}

impl DeferredWorker {
    /// Creates a worker. Its thread starts with the first job.
    pub(crate) fn new(thread_name: &'static str) -> Self {
        Self { thread_name, worker: OnceLock::new(), queue: Arc::default() }
    }

    /// Waits at most `limit` until all jobs are done, at their own pace. Returns true if they are.
    pub(crate) fn wait_until_idle(&self, limit: Duration) -> bool {
        if let Some(Some(worker)) = self.worker.get() {
            worker.thread.unpark();
        }
        self.queue.wait_until_idle(limit)
    }

    /// Queues a job that holds `bytes` bytes to run thoroughly; if the queue is full, runs it at once, not
    /// thoroughly.
    pub(crate) fn submit(
        &self,
        priority: JobPriority,
        bytes: usize,
        work: impl FnOnce(bool) + Send + 'static,
    ) {
        let Some(worker) = self.worker() else { return work(false) };
        let Some(waiting) = self.queue.try_admit(priority, bytes) else { return work(false) };
        let log = dispatcher::get_default(Dispatch::clone);
        let job = DeferredJob { work: Box::new(work), priority, bytes, log_dispatch: log };
        // The channel has a slot for each admitted job, and the thread never ends.
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = worker.sender.try_send(job) {
            self.queue.finish_job(bytes, Duration::ZERO);
            (job.work)(false);
        } else if waiting == WAKE_BATCH {
            worker.thread.unpark();
        }
    }

    /// Waits at most `limit` until all jobs are done. Returns true if they are.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        if let Some(Some(worker)) = self.worker.get() {
            worker.thread.unpark();
        }
        let thorough = limit.mul_f64(THOROUGH_FRACTION);
        let is_done = self.queue.wait_until_idle(thorough);
        if is_done {
            return true;
        }
        self.queue.state().flush_requested = true;
        let is_done = self.queue.wait_until_idle(limit.saturating_sub(thorough));
        self.queue.state().flush_requested = false;
        is_done
    }

    /// Returns the worker, and starts it for the first job.
    fn worker(&self) -> Option<&WorkerHandle> {
        let worker = self.worker.get_or_init(|| {
            let (jobs, waiting) = sync_channel(MAX_PENDING_JOBS);
            let queue = Arc::clone(&self.queue);
            let thread = thread::Builder::new().name(self.thread_name.into());
            let spawned = thread.spawn(move || queue.run(&waiting));
            let spawned = spawned
                .inspect_err(|error| tracing::warn!(%error, "a thread for deferred work cannot start"))
                .ok()?;
            Some(WorkerHandle { sender: jobs, thread: spawned.thread().clone() })
        });
        worker.as_ref()
    }
}

impl JobQueue {
    /// Runs jobs until all senders are dropped.
    fn run(&self, jobs: &Receiver<DeferredJob>) {
        let mut pause = POLL_INTERVAL_RANGE.0;
        loop {
            match jobs.try_recv() {
                Ok(job) => {
                    self.run_job(job);
                    pause = POLL_INTERVAL_RANGE.0;
                }
                Err(TryRecvError::Empty) => {
                    thread::park_timeout(pause);
                    pause = (pause * 2).min(POLL_INTERVAL_RANGE.1);
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    }

    fn run_job(&self, DeferredJob { work, priority, bytes, log_dispatch: log }: DeferredJob) {
        let thorough = !self.state().flush_requested;
        let begun = Instant::now();
        let worked = AssertUnwindSafe(|| dispatcher::with_default(&log, || work(thorough)));
        if catch_unwind(worked).is_err() {
            tracing::error!("deferred work panicked");
        }
        let spent = if priority == JobPriority::BestEffort { begun.elapsed() } else { Duration::ZERO };
        self.finish_job(bytes, spent);
    }

    /// Admits a job if the queue and the CPU share allow it. Returns the number of pending jobs.
    fn try_admit(&self, priority: JobPriority, bytes: usize) -> Option<usize> {
        let mut state = self.state();
        let has_room = state.pending_jobs == 0
            || (state.pending_jobs < MAX_PENDING_JOBS
                && state.pending_bytes.saturating_add(bytes) <= MAX_PENDING_BYTES);
        let admitted = has_room
            && (priority == JobPriority::Required || state.decayed_time_spent(Instant::now()) <= CPU_BURST);
        if admitted {
            state.pending_jobs += 1;
            state.pending_bytes = state.pending_bytes.saturating_add(bytes);
        }
        admitted.then_some(state.pending_jobs)
    }

    /// Removes a finished job, and adds its CPU time.
    fn finish_job(&self, bytes: usize, spent: Duration) {
        let mut state = self.state();
        state.pending_jobs -= 1;
        state.pending_bytes -= bytes;
        state.time_spent += spent;
        self.job_finished.notify_all();
    }

    fn wait_until_idle(&self, limit: Duration) -> bool {
        let waited =
            self.job_finished.wait_timeout_while(self.state(), limit, |state| state.pending_jobs > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.pending_jobs == 0
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Returns the CPU time of best-effort jobs, decayed by the share of the time since.
    fn decayed_time_spent(&mut self, now: Instant) -> Duration {
        let since =
            self.measured_at.replace(now).map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.time_spent = self.time_spent.saturating_sub(since.mul_f64(CPU_SHARE));
        self.time_spent
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::{Duration, Instant};

    use super::{CPU_BURST, DeferredWorker, JobPriority, MAX_PENDING_BYTES, MAX_PENDING_JOBS, QueueState};

    const LONG: Duration = Duration::from_mins(1);

    /// Submits a job that blocks until the sender is used.
    fn held_up(worker: &DeferredWorker) -> Sender<()> {
        let (go, gate) = channel();
        let (begun, begins) = channel();
        worker.submit(JobPriority::Required, 0, move |_| {
            let _ = begun.send(());
            let _ = gate.recv();
        });
        begins.recv().expect("it begins");
        go
    }

    #[test]
    fn jobs_run_in_the_background_and_are_waited_for() {
        let (sender, receiver) = channel();
        let worker = DeferredWorker::new("portion-test");
        for n in 0..10 {
            let sender = sender.clone();
            worker.submit(JobPriority::BestEffort, 1, move |thorough| {
                sender.send((n, thorough)).expect("it is heard");
            });
        }
        assert!(worker.flush(LONG));
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..10).map(|n| (n, true)).collect::<Vec<_>>());
    }

    #[test]
    fn jobs_beyond_the_limit_run_at_once() {
        let worker = DeferredWorker::new("portion-test");
        let go = held_up(&worker);
        let (sender, receiver) = channel();
        let work = |bytes: usize| {
            let sender = sender.clone();
            worker.submit(JobPriority::Required, bytes, move |thorough| {
                sender.send(thorough).expect("it is heard");
            });
        };
        work(MAX_PENDING_BYTES);
        assert!(receiver.try_recv().is_err(), "it waits");
        work(1);
        assert_eq!(receiver.try_recv(), Ok(false));
        for _ in 2..MAX_PENDING_JOBS {
            work(0);
        }
        assert!(receiver.try_recv().is_err(), "they wait");
        work(0);
        assert_eq!(receiver.try_recv(), Ok(false));
        go.send(()).expect("it waits");
        assert!(worker.flush(LONG));
        assert!(receiver.try_iter().all(|thorough| thorough));
    }

    #[test]
    fn a_flush_ends_at_its_limit_while_a_job_runs() {
        let worker = DeferredWorker::new("portion-test");
        let go = held_up(&worker);
        let (sender, receiver) = channel();
        worker.submit(JobPriority::Required, 0, move |thorough| sender.send(thorough).expect("it is heard"));
        assert!(!worker.flush(Duration::ZERO), "somebody holds it up");
        go.send(()).expect("it waits");
        assert!(worker.flush(LONG));
        assert_eq!(receiver.recv(), Ok(true), "there was time after all");
    }

    #[test]
    fn counting_has_a_share_of_cpu_time() {
        let mut state = QueueState::default();
        let now = Instant::now();
        assert_eq!(state.decayed_time_spent(now), Duration::ZERO);
        state.time_spent += CPU_BURST;
        assert_eq!(state.decayed_time_spent(now), CPU_BURST);
        assert_eq!(state.decayed_time_spent(now + CPU_BURST), CPU_BURST.mul_f64(0.9));
        assert_eq!(state.decayed_time_spent(now + 20 * CPU_BURST), Duration::ZERO);
    }

    #[test]
    fn a_panic_ends_one_job() {
        let worker = DeferredWorker::new("portion-test");
        worker.submit(JobPriority::Required, 0, |_| panic!("as it should"));
        let (sender, receiver) = channel();
        worker.submit(JobPriority::Required, 0, move |thorough| sender.send(thorough).expect("it is heard"));
        assert!(worker.flush(LONG));
        assert_eq!(receiver.recv(), Ok(true));
    }
}
