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
const WAITING: usize = 64;
/// Bytes that they hold at most, unless one alone holds more.
const HELD: usize = 64 << 20;
/// The share of one core that counting may take.
const SHARE: f64 = 0.1;
/// Time that counting may have taken at once before it has to wait for its share.
const BURST: Duration = Duration::from_secs(2);
/// Pieces that wait before the thread is woken: to wake it costs more than all the rest, so it looks by itself now and then.
const BATCH: usize = 16;
/// How long it pauses before it looks again: where there was work just now, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(250));
/// The part of a farewell in which work is still thorough.
const THOROUGH: f64 = 0.8;

/// Does work beside.
#[derive(Default)]
pub(crate) struct Beside {
    lane: OnceLock<Option<Lane>>,
    desk: Arc<Desk>,
}

/// What a piece of work is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Figures that it is well to have: as many as there is time for.
    Counting,
    /// What somebody has asked to be told.
    Telling,
}

/// Where work is put, and who does it.
struct Lane {
    jobs: SyncSender<Job>,
    thread: Thread,
}

struct Job {
    work: Box<dyn FnOnce(bool) + Send>,
    purpose: Purpose,
    bytes: usize,
    log: Dispatch,
}

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    jobs: usize,
    bytes: usize,
    /// Time that counting took, less the share of the time since; and when that was worked out.
    spent: Duration,
    at: Option<Instant>,
    /// Set where there is no more time to be thorough.
    hurry: bool,
}

impl Beside {
    /// Does work that holds so many bytes: beside and thoroughly, or at once and not, as it is told.
    pub(crate) fn work(&self, purpose: Purpose, bytes: usize, work: impl FnOnce(bool) + Send + 'static) {
        let Some(lane) = self.lane() else { return work(false) };
        let Some(waiting) = self.desk.admits(purpose, bytes) else { return work(false) };
        let log = dispatcher::get_default(Dispatch::clone);
        let job = Job { work: Box::new(work), purpose, bytes, log };
        // There is a place for each that is admitted, and the thread never ends.
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = lane.jobs.try_send(job) {
            self.desk.dismiss(bytes, Duration::ZERO);
            (job.work)(false);
        } else if waiting == BATCH {
            lane.thread.unpark();
        }
    }

    /// Waits until all is done, at most so long; whether it is.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        if let Some(Some(lane)) = self.lane.get() {
            lane.thread.unpark();
        }
        let thorough = limit.mul_f64(THOROUGH);
        let is_done = self.desk.is_done_within(thorough);
        if is_done {
            return true;
        }
        self.desk.state().hurry = true;
        let is_done = self.desk.is_done_within(limit.saturating_sub(thorough));
        self.desk.state().hurry = false;
        is_done
    }

    /// Where work is put, from the first piece of it on.
    fn lane(&self) -> Option<&Lane> {
        let lane = self.lane.get_or_init(|| {
            let (jobs, waiting) = sync_channel(WAITING);
            let desk = Arc::clone(&self.desk);
            let thread = thread::Builder::new().name("portion-beside".into());
            let spawned = thread.spawn(move || desk.serve(&waiting));
            let spawned = spawned
                .inspect_err(|error| tracing::warn!(%error, "replies are not counted once more"))
                .ok()?;
            Some(Lane { jobs, thread: spawned.thread().clone() })
        });
        lane.as_ref()
    }
}

impl Desk {
    /// Works until nobody brings anything any more.
    fn serve(&self, jobs: &Receiver<Job>) {
        let mut pause = PAUSE.0;
        loop {
            match jobs.try_recv() {
                Ok(job) => {
                    self.work(job);
                    pause = PAUSE.0;
                }
                Err(TryRecvError::Empty) => {
                    thread::park_timeout(pause);
                    pause = (pause * 2).min(PAUSE.1);
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    }

    fn work(&self, Job { work, purpose, bytes, log }: Job) {
        let thorough = !self.state().hurry;
        let begun = Instant::now();
        let worked = AssertUnwindSafe(|| dispatcher::with_default(&log, || work(thorough)));
        if catch_unwind(worked).is_err() {
            tracing::error!("what is told of a reply panicked");
        }
        let spent = if purpose == Purpose::Counting { begun.elapsed() } else { Duration::ZERO };
        self.dismiss(bytes, spent);
    }

    /// Takes note of a job, if there is room and time for it: how many wait with it.
    fn admits(&self, purpose: Purpose, bytes: usize) -> Option<usize> {
        let mut state = self.state();
        let has_room = state.jobs == 0 || (state.jobs < WAITING && state.bytes.saturating_add(bytes) <= HELD);
        let admitted = has_room && (purpose == Purpose::Telling || state.spent_by(Instant::now()) <= BURST);
        if admitted {
            state.jobs += 1;
            state.bytes = state.bytes.saturating_add(bytes);
        }
        admitted.then_some(state.jobs)
    }

    /// A job is done, and took so long of what counting may take.
    fn dismiss(&self, bytes: usize, spent: Duration) {
        let mut state = self.state();
        state.jobs -= 1;
        state.bytes -= bytes;
        state.spent += spent;
        self.done.notify_all();
    }

    fn is_done_within(&self, limit: Duration) -> bool {
        let waited = self.done.wait_timeout_while(self.state(), limit, |state| state.jobs > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.jobs == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What counting has taken, less its share of the time since.
    fn spent_by(&mut self, now: Instant) -> Duration {
        let since = self.at.replace(now).map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.spent = self.spent.saturating_sub(since.mul_f64(SHARE));
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::{Duration, Instant};

    use super::{BURST, Beside, HELD, Purpose, State, WAITING};

    const LONG: Duration = Duration::from_mins(1);

    /// Work that ends when somebody lets it.
    fn held_up(beside: &Beside) -> Sender<()> {
        let (go, gate) = channel();
        let (begun, begins) = channel();
        beside.work(Purpose::Telling, 0, move |_| {
            let _ = begun.send(());
            let _ = gate.recv();
        });
        begins.recv().expect("it begins");
        go
    }

    #[test]
    fn work_is_done_beside_and_waited_for() {
        let (told, tellings) = channel();
        let beside = Beside::default();
        for n in 0..10 {
            let told = told.clone();
            beside.work(Purpose::Counting, 1, move |thorough| told.send((n, thorough)).expect("it is heard"));
        }
        assert!(beside.settle(LONG));
        drop(told);
        assert_eq!(tellings.iter().collect::<Vec<_>>(), (0..10).map(|n| (n, true)).collect::<Vec<_>>());
    }

    #[test]
    fn what_finds_no_room_is_told_at_once() {
        let beside = Beside::default();
        let go = held_up(&beside);
        let (told, tellings) = channel();
        let work = |bytes: usize| {
            let told = told.clone();
            beside.work(Purpose::Telling, bytes, move |thorough| told.send(thorough).expect("it is heard"));
        };
        work(HELD);
        assert!(tellings.try_recv().is_err(), "it waits");
        work(1);
        assert_eq!(tellings.try_recv(), Ok(false));
        for _ in 2..WAITING {
            work(0);
        }
        assert!(tellings.try_recv().is_err(), "they wait");
        work(0);
        assert_eq!(tellings.try_recv(), Ok(false));
        go.send(()).expect("it waits");
        assert!(beside.settle(LONG));
        assert!(tellings.try_iter().all(|thorough| thorough));
    }

    #[test]
    fn at_the_end_it_is_told_without_being_thorough() {
        let beside = Beside::default();
        let go = held_up(&beside);
        let (told, tellings) = channel();
        beside.work(Purpose::Telling, 0, move |thorough| told.send(thorough).expect("it is heard"));
        assert!(!beside.settle(Duration::ZERO), "somebody holds it up");
        go.send(()).expect("it waits");
        assert!(beside.settle(LONG));
        assert_eq!(tellings.recv(), Ok(true), "there was time after all");
    }

    #[test]
    fn counting_has_a_share_of_the_time() {
        let mut state = State::default();
        let now = Instant::now();
        assert_eq!(state.spent_by(now), Duration::ZERO);
        state.spent += BURST;
        assert_eq!(state.spent_by(now), BURST);
        assert_eq!(state.spent_by(now + BURST), BURST.mul_f64(0.9));
        assert_eq!(state.spent_by(now + 20 * BURST), Duration::ZERO);
    }

    #[test]
    fn a_panic_ends_one_piece_of_work() {
        let beside = Beside::default();
        beside.work(Purpose::Telling, 0, |_| panic!("as it should"));
        let (told, tellings) = channel();
        beside.work(Purpose::Telling, 0, move |thorough| told.send(thorough).expect("it is heard"));
        assert!(beside.settle(LONG));
        assert_eq!(tellings.recv(), Ok(true));
    }
}
