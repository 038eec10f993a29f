//! What is found out of a reply when it is on its way: a thread of its own does it, piece by piece, so that no reply and no
//! other request waits for it.
//!
//! What waits is bounded, and so is the time that counting may take. What finds no room is done without being thorough,
//! at once: nothing that is to be told is lost. At the end of the program what waits is waited for, but not long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tracing::dispatcher::{self, Dispatch};

/// Pieces of work that wait at most.
const MAX_PENDING_JOBS: usize = 64;
/// Bytes that they hold at most, unless one alone holds more.
const MAX_PENDING_BYTES: usize = 64 << 20;
/// The share of one core that counting may take.
const CPU_SHARE: f64 = 0.1;
/// Time that counting may have taken at once before it has to wait for its share.
const CPU_BURST: Duration = Duration::from_secs(2);
/// Pieces that wait before the thread is woken: to wake it costs more than all the rest, so it looks by itself now and then.
const WAKE_BATCH: usize = 16;
/// How long it pauses before it looks again: where there was work just now, and at most.
const POLL_INTERVAL_RANGE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(250));
/// The part of a farewell in which work is still thorough.
const THOROUGH_FRACTION: f64 = 0.8;

/// Does work beside.
#[derive(Default)]
pub(crate) struct DeferredWorker {
    worker: OnceLock<Option<WorkerHandle>>,
    queue: Arc<JobQueue>,
}

/// What a piece of work is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPriority {
    /// Figures that it is well to have: as many as there is time for.
    BestEffort,
    /// What somebody has asked to be told.
    Required,
}

/// Where work is put, and who does it.
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
    /// Time that counting took, less the share of the time since; and when that was worked out.
    time_spent: Duration,
    measured_at: Option<Instant>,
    /// Set where there is no more time to be thorough.
    flush_requested: bool,
}

impl DeferredWorker {
    /// Does work that holds so many bytes: beside and thoroughly, or at once and not, as it is told.
    pub(crate) fn submit(
        &self,
        purpose: JobPriority,
        bytes: usize,
        work: impl FnOnce(bool) + Send + 'static,
    ) {
        let Some(lane) = self.worker() else { return work(false) };
        let Some(waiting) = self.queue.try_admit(purpose, bytes) else { return work(false) };
        let log = dispatcher::get_default(Dispatch::clone);
        let job = DeferredJob { work: Box::new(work), priority: purpose, bytes, log_dispatch: log };
        // There is a place for each that is admitted, and the thread never ends.
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = lane.sender.try_send(job) {
            self.queue.finish_job(bytes, Duration::ZERO);
            (job.work)(false);
        } else if waiting == WAKE_BATCH {
            lane.thread.unpark();
        }
    }

    /// Waits until all is done, at most so long; whether it is.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        if let Some(Some(lane)) = self.worker.get() {
            lane.thread.unpark();
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

    /// Where work is put, from the first piece of it on.
    fn worker(&self) -> Option<&WorkerHandle> {
        let lane = self.worker.get_or_init(|| {
            let (jobs, waiting) = sync_channel(MAX_PENDING_JOBS);
            let desk = Arc::clone(&self.queue);
            let thread = thread::Builder::new().name("portion-beside".into());
            let spawned = thread.spawn(move || desk.run(&waiting));
            let spawned = spawned
                .inspect_err(|error| tracing::warn!(%error, "replies are not counted once more"))
                .ok()?;
            Some(WorkerHandle { sender: jobs, thread: spawned.thread().clone() })
        });
        lane.as_ref()
    }
}

impl JobQueue {
    /// Works until nobody brings anything any more.
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

    fn run_job(&self, DeferredJob { work, priority: purpose, bytes, log_dispatch: log }: DeferredJob) {
        let thorough = !self.state().flush_requested;
        let begun = Instant::now();
        let worked = AssertUnwindSafe(|| dispatcher::with_default(&log, || work(thorough)));
        if catch_unwind(worked).is_err() {
            tracing::error!("what is told of a reply panicked");
        }
        let spent = if purpose == JobPriority::BestEffort { begun.elapsed() } else { Duration::ZERO };
        self.finish_job(bytes, spent);
    }

    /// Takes note of a job, if there is room and time for it: how many wait with it.
    fn try_admit(&self, purpose: JobPriority, bytes: usize) -> Option<usize> {
        let mut state = self.state();
        let has_room = state.pending_jobs == 0
            || (state.pending_jobs < MAX_PENDING_JOBS
                && state.pending_bytes.saturating_add(bytes) <= MAX_PENDING_BYTES);
        let admitted = has_room
            && (purpose == JobPriority::Required || state.decayed_time_spent(Instant::now()) <= CPU_BURST);
        if admitted {
            state.pending_jobs += 1;
            state.pending_bytes = state.pending_bytes.saturating_add(bytes);
        }
        admitted.then_some(state.pending_jobs)
    }

    /// A job is done, and took so long of what counting may take.
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
    /// What counting has taken, less its share of the time since.
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

    /// Work that ends when somebody lets it.
    fn held_up(beside: &DeferredWorker) -> Sender<()> {
        let (go, gate) = channel();
        let (begun, begins) = channel();
        beside.submit(JobPriority::Required, 0, move |_| {
            let _ = begun.send(());
            let _ = gate.recv();
        });
        begins.recv().expect("it begins");
        go
    }

    #[test]
    fn work_is_done_beside_and_waited_for() {
        let (told, tellings) = channel();
        let beside = DeferredWorker::default();
        for n in 0..10 {
            let told = told.clone();
            beside.submit(JobPriority::BestEffort, 1, move |thorough| {
                told.send((n, thorough)).expect("it is heard")
            });
        }
        assert!(beside.flush(LONG));
        drop(told);
        assert_eq!(tellings.iter().collect::<Vec<_>>(), (0..10).map(|n| (n, true)).collect::<Vec<_>>());
    }

    #[test]
    fn what_finds_no_room_is_told_at_once() {
        let beside = DeferredWorker::default();
        let go = held_up(&beside);
        let (told, tellings) = channel();
        let work = |bytes: usize| {
            let told = told.clone();
            beside.submit(JobPriority::Required, bytes, move |thorough| {
                told.send(thorough).expect("it is heard")
            });
        };
        work(MAX_PENDING_BYTES);
        assert!(tellings.try_recv().is_err(), "it waits");
        work(1);
        assert_eq!(tellings.try_recv(), Ok(false));
        for _ in 2..MAX_PENDING_JOBS {
            work(0);
        }
        assert!(tellings.try_recv().is_err(), "they wait");
        work(0);
        assert_eq!(tellings.try_recv(), Ok(false));
        go.send(()).expect("it waits");
        assert!(beside.flush(LONG));
        assert!(tellings.try_iter().all(|thorough| thorough));
    }

    #[test]
    fn at_the_end_it_is_told_without_being_thorough() {
        let beside = DeferredWorker::default();
        let go = held_up(&beside);
        let (told, tellings) = channel();
        beside.submit(JobPriority::Required, 0, move |thorough| told.send(thorough).expect("it is heard"));
        assert!(!beside.flush(Duration::ZERO), "somebody holds it up");
        go.send(()).expect("it waits");
        assert!(beside.flush(LONG));
        assert_eq!(tellings.recv(), Ok(true), "there was time after all");
    }

    #[test]
    fn counting_has_a_share_of_the_time() {
        let mut state = QueueState::default();
        let now = Instant::now();
        assert_eq!(state.decayed_time_spent(now), Duration::ZERO);
        state.time_spent += CPU_BURST;
        assert_eq!(state.decayed_time_spent(now), CPU_BURST);
        assert_eq!(state.decayed_time_spent(now + CPU_BURST), CPU_BURST.mul_f64(0.9));
        assert_eq!(state.decayed_time_spent(now + 20 * CPU_BURST), Duration::ZERO);
    }

    #[test]
    fn a_panic_ends_one_piece_of_work() {
        let beside = DeferredWorker::default();
        beside.submit(JobPriority::Required, 0, |_| panic!("as it should"));
        let (told, tellings) = channel();
        beside.submit(JobPriority::Required, 0, move |thorough| told.send(thorough).expect("it is heard"));
        assert!(beside.flush(LONG));
        assert_eq!(tellings.recv(), Ok(true));
    }
}
