//! Runs deferred work on a thread of its own, one job at a time, so that no request waits for it.
//!
//! The queue is bounded, and so are its bytes and the CPU time for counting. A job that does not fit runs at once on the
//! caller's thread, but not thoroughly, so that no record is lost. At shutdown pending jobs are waited for, but not long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_net::worker::{Worker, WorkerOptions, for_each};
use tracing::dispatcher::{self, Dispatch};

/// Options of the thread. Waking it costs more than all other steps, so it mostly polls.
const POLLING: WorkerOptions = WorkerOptions {
    wake_at: 16,
    poll_interval: (Duration::from_millis(2), Duration::from_millis(250)),
    ..WorkerOptions::new("")
};
/// Share of one core for best-effort jobs.
const CPU_SHARE: f64 = 0.1;
/// CPU time of best-effort jobs before the share applies.
const CPU_BURST: Duration = Duration::from_secs(2);
/// Share of the flush limit in which jobs still run thoroughly.
const THOROUGH_FRACTION: f64 = 0.8;

/// Runs deferred jobs.
pub(crate) struct DeferredWorker {
    thread_name: &'static str,
    max_jobs: usize,
    /// Started for the first job. `None` if the thread could not be started.
    worker: OnceLock<Option<Worker<DeferredJob>>>,
    limits: Arc<Mutex<JobLimits>>,
}

/// Limits of pending jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    /// Largest number of jobs.
    pub(crate) jobs: usize,
    /// Largest total size in bytes, unless a single job is larger.
    pub(crate) bytes: usize,
}

/// Importance of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPriority {
    /// Statistics: as many as the CPU share allows.
    BestEffort,
    /// Records that must be complete.
    Required,
}

struct DeferredJob {
    work: Box<dyn FnOnce(bool) + Send>,
    priority: JobPriority,
    bytes: usize,
    log_dispatch: Dispatch,
}

/// Bytes and CPU time of the jobs, which are limited like their number.
struct JobLimits {
    max_bytes: usize,
    pending_bytes: usize,
    /// CPU time of best-effort jobs, decayed by the share of the time since; and when it was last updated.
    time_spent: Duration,
    measured_at: Option<Instant>,
    /// True if jobs must not run thoroughly any more.
    is_hurried: bool,
}

impl DeferredWorker {
    /// Creates a worker. Its thread starts with the first job.
    pub(crate) fn new(thread_name: &'static str, QueueLimits { jobs, bytes }: QueueLimits) -> Self {
        let limits = Arc::new(Mutex::new(JobLimits::new(bytes)));
        Self { thread_name, max_jobs: jobs, worker: OnceLock::new(), limits }
    }

    /// Returns the number of jobs that wait or run.
    pub(crate) fn pending(&self) -> usize {
        self.worker.get().and_then(Option::as_ref).map_or(0, Worker::pending)
    }

    /// Begins with the pending jobs now, and not when the thread looks next.
    pub(crate) fn wake(&self) {
        // A flush that waits for nothing wakes the thread.
        self.wait_until_idle(Duration::ZERO);
    }

    /// Waits at most `limit` until all jobs are done, at their own pace. Returns true if they are.
    pub(crate) fn wait_until_idle(&self, limit: Duration) -> bool {
        let Some(Some(worker)) = self.worker.get() else { return true };
        worker.flush(limit)
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
        if !self.limits.lock().try_admit(priority, bytes) {
            return work(false);
        }
        let log_dispatch = dispatcher::get_default(Dispatch::clone);
        let job = DeferredJob { work: Box::new(work), priority, bytes, log_dispatch };
        if let Err(job) = worker.submit(job) {
            self.limits.lock().finish(bytes, Duration::ZERO);
            (job.work)(false);
        }
    }

    /// Waits at most `limit` until all jobs are done. Returns true if they are.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        let Some(Some(worker)) = self.worker.get() else { return true };
        let thorough = limit.mul_f64(THOROUGH_FRACTION);
        if worker.flush(thorough) {
            return true;
        }
        self.limits.lock().is_hurried = true;
        let is_done = worker.flush(limit.saturating_sub(thorough));
        self.limits.lock().is_hurried = false;
        is_done
    }

    fn worker(&self) -> Option<&Worker<DeferredJob>> {
        let worker = self.worker.get_or_init(|| {
            let limits = Arc::clone(&self.limits);
            let options = WorkerOptions { name: self.thread_name, capacity: self.max_jobs, ..POLLING };
            let worker = Worker::start(&options, for_each(move |job| run_job(&limits, job)));
            let warn = |error: &_| tracing::warn!(%error, "a thread for deferred work cannot start");
            worker.inspect_err(warn).ok()
        });
        worker.as_ref()
    }
}

fn run_job(limits: &Mutex<JobLimits>, DeferredJob { work, priority, bytes, log_dispatch }: DeferredJob) {
    let thorough = !limits.lock().is_hurried;
    let begun = Instant::now();
    let worked = AssertUnwindSafe(|| dispatcher::with_default(&log_dispatch, || work(thorough)));
    if catch_unwind(worked).is_err() {
        tracing::error!("deferred work panicked");
    }
    let spent = if priority == JobPriority::BestEffort { begun.elapsed() } else { Duration::ZERO };
    limits.lock().finish(bytes, spent);
}

impl JobLimits {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, pending_bytes: 0, time_spent: Duration::ZERO, measured_at: None, is_hurried: false }
    }

    /// Admits a job if the limits allow it.
    fn try_admit(&mut self, priority: JobPriority, bytes: usize) -> bool {
        let total = self.pending_bytes.saturating_add(bytes);
        let has_room = self.pending_bytes == 0 || total <= self.max_bytes;
        let admitted = has_room
            && (priority == JobPriority::Required || self.decayed_time_spent(Instant::now()) <= CPU_BURST);
        if admitted {
            self.pending_bytes = total;
        }
        admitted
    }

    /// Frees the bytes of a job, and adds its CPU time.
    fn finish(&mut self, bytes: usize, spent: Duration) {
        self.pending_bytes = self.pending_bytes.saturating_sub(bytes);
        self.time_spent += spent;
    }

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

    use super::{CPU_BURST, DeferredWorker, JobLimits, JobPriority, QueueLimits};

    const LONG: Duration = Duration::from_mins(1);
    const LIMITS: QueueLimits = QueueLimits { jobs: 20, bytes: 1_000 };

    fn worker() -> DeferredWorker {
        DeferredWorker::new("portion-test", LIMITS)
    }

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
        let worker = worker();
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
        let worker = worker();
        let go = held_up(&worker);
        let (sender, receiver) = channel();
        let work = |bytes: usize| {
            let sender = sender.clone();
            worker.submit(JobPriority::Required, bytes, move |thorough| {
                sender.send(thorough).expect("it is heard");
            });
        };
        work(LIMITS.bytes);
        assert!(receiver.try_recv().is_err(), "it waits");
        work(1);
        assert_eq!(receiver.try_recv(), Ok(false));
        for _ in 2..LIMITS.jobs {
            work(0);
        }
        assert!(receiver.try_recv().is_err(), "they wait");
        assert_eq!(worker.pending(), LIMITS.jobs);
        work(0);
        assert_eq!(receiver.try_recv(), Ok(false));
        go.send(()).expect("it waits");
        assert!(worker.flush(LONG));
        assert!(receiver.try_iter().all(|thorough| thorough));
    }

    #[test]
    fn a_flush_ends_at_its_limit_while_a_job_runs() {
        let worker = worker();
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
        let mut state = JobLimits::new(LIMITS.bytes);
        let now = Instant::now();
        assert_eq!(state.decayed_time_spent(now), Duration::ZERO);
        state.time_spent += CPU_BURST;
        assert_eq!(state.decayed_time_spent(now), CPU_BURST);
        assert_eq!(state.decayed_time_spent(now + CPU_BURST), CPU_BURST.mul_f64(0.9));
        assert_eq!(state.decayed_time_spent(now + 20 * CPU_BURST), Duration::ZERO);
    }

    #[test]
    fn a_panic_ends_one_job() {
        let worker = worker();
        worker.submit(JobPriority::Required, 0, |_| panic!("as it should"));
        let (sender, receiver) = channel();
        worker.submit(JobPriority::Required, 0, move |thorough| sender.send(thorough).expect("it is heard"));
        assert!(worker.flush(LONG));
        assert_eq!(receiver.recv(), Ok(true));
    }
}
