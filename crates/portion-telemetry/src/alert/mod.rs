//! Alerts: oversized attempts above their share of the traffic.
//!
//! Calls are counted as they come, so that an alert is raised by the very call that makes it so. What follows (log, record,
//! webhook) is done by a thread of its own, which also sees to it that an alert ends where nothing more comes.

mod watch;
mod window;

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portion_core::event::{Alerted, Event, Observer, Served};

pub use watch::{LEAST, Rule, Standing, Watch};

/// The name of the alert.
pub const OVERSIZED: &str = "oversized";
/// The share of oversized attempts that is taken for too many where nothing else is written.
pub const USUAL: f64 = 0.05;
/// How often is looked where nothing comes.
const TICK: Duration = Duration::from_secs(1);
/// Changes that wait to be told at most.
const QUEUE: usize = 64;

/// An alert was raised, or is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What is recorded of it.
    pub alerted: Alerted,
    /// How it stands.
    pub standing: Standing,
    /// When it was raised, microseconds since 1970.
    pub since: u64,
}

/// Hears requests, and tells when too many are oversized.
#[derive(Debug)]
pub struct Alarm {
    shared: Arc<Shared>,
    /// Whoever tells; gone where it has ended, or could not be started.
    teller: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` where nobody wants to be told.
    watch: Option<Watch>,
    /// The upper half of the numbers of this process's requests.
    process: u64,
    /// When the alert was raised, microseconds since 1970.
    since: Option<u64>,
    /// To whoever tells; `None` once that is to end.
    changes: Option<SyncSender<Change>>,
}

impl Alarm {
    /// Watches by that rule, and has `tell` called with each change, on a thread of its own.
    pub fn start(rule: Option<Rule>, tell: impl FnMut(&Change) + Send + 'static) -> Self {
        let (changes, receiver) = sync_channel(QUEUE);
        let watch = rule.map(Watch::new);
        let state = Mutex::new(State { watch, process: 0, since: None, changes: Some(changes) });
        let shared = Arc::new(Shared { started: Instant::now(), state });
        let watching = Arc::clone(&shared);
        let teller = thread::Builder::new().name("alerts".to_owned());
        let teller = teller.spawn(move || watching.tell(&receiver, tell));
        let teller = teller.inspect_err(|error| tracing::warn!(%error, "no thread for alerts: none is told"));
        Self { shared, teller: Mutex::new(teller.ok()) }
    }

    /// Watches by another rule from now on: what was counted is held against it, where it looks as far back, else an alert
    /// that is raised is over by that.
    pub fn obey(&self, rule: Option<Rule>) {
        let mut state = self.shared.state();
        if let (Some(watch), Some(rule)) = (&mut state.watch, rule)
            && watch.rule().window == rule.window
        {
            let turned = watch.obey(rule);
            return state.turn(turned);
        }
        let standing = state.watch.as_ref().map(Watch::standing).filter(|standing| standing.raised);
        state.watch = rule.map(Watch::new);
        state.turn(standing.map(|standing| Standing { raised: false, ..standing }));
    }

    /// How it stands now, and since when, in microseconds since 1970, an alert is raised. `None` where nobody wants to know.
    pub fn standing(&self) -> Option<(Standing, Option<u64>)> {
        let now = self.shared.started.elapsed();
        let mut state = self.shared.state();
        state.tick(now);
        Some((state.watch.as_ref()?.standing(), state.since))
    }

    /// Tells what was found by now, and nothing after that.
    pub fn end(&self) {
        self.shared.state().changes = None;
        let teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(teller) = teller {
            drop(teller.join());
        }
    }
}

impl Observer for Alarm {
    fn hear(&self, event: Event) {
        if let Event::Served(served) = event
            && let Some(is_oversized) = served.is_oversized()
        {
            let now = self.shared.started.elapsed();
            self.shared.state().count(now, &served, is_oversized);
        }
    }
}

/// What was found by then is told first.
impl Drop for Alarm {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changes: &Receiver<Change>, mut tell: impl FnMut(&Change)) {
        loop {
            match changes.recv_timeout(TICK) {
                Ok(change) => {
                    log(&change);
                    tell(&change);
                }
                Err(RecvTimeoutError::Timeout) => self.state().tick(self.started.elapsed()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl State {
    fn count(&mut self, now: Duration, served: &Served, is_oversized: bool) {
        self.process = (served.request >> 64) as u64;
        let turned = self.watch.as_mut().and_then(|watch| {
            let oversized = is_oversized.then_some(&served.endpoint);
            watch.count(now, oversized)
        });
        self.turn(turned);
    }

    fn tick(&mut self, now: Duration) {
        let turned = self.watch.as_mut().and_then(|watch| watch.tick(now));
        self.turn(turned);
    }

    /// Hands a change to whoever tells. Where nobody does any more, or too much waits, it is seen in how it stands alone.
    fn turn(&mut self, turned: Option<Standing>) {
        let Some(standing) = turned else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let since = self.since.take().unwrap_or(at);
        self.since = standing.raised.then_some(at);
        let alerted = Alerted {
            at,
            alert: OVERSIZED.into(),
            raised: standing.raised,
            share: standing.share().unwrap_or_default(),
            threshold: standing.rule.percent / 100.0,
            requests: standing.requests,
            counted: standing.oversized,
            window: standing.rule.window,
            process: self.process,
        };
        if let Some(changes) = &self.changes {
            drop(changes.try_send(Change { alerted, standing, since }));
        }
    }
}

fn log(change: &Change) {
    let Alerted { share, threshold, requests, counted: oversized, .. } = change.alerted;
    let alert = &*change.alerted.alert;
    let told = change.standing.sentence();
    if change.alerted.raised {
        tracing::warn!(alert, share, threshold, requests, oversized, "{told}");
    } else {
        tracing::info!(alert, share, threshold, requests, oversized, "{told}");
    }
}
