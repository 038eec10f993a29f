//! How sending one kind of things goes. What goes wrong is told once, and once more when it is over.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use opentelemetry_sdk::error::OTelSdkResult;

/// How sending one kind of things goes.
#[derive(Debug)]
pub(crate) struct Desk {
    /// What is sent: `traces`, `metrics`.
    signal: &'static str,
    /// It goes wrong, and that has been told.
    failing: AtomicBool,
    /// The program ends: nothing is tried twice.
    closing: AtomicBool,
    /// Things that wait, or are on their way.
    waiting: AtomicUsize,
    /// Those that were lost since it goes wrong.
    lost: AtomicU64,
    /// Why no answer came, the last time that none did.
    silence: Mutex<Option<String>>,
}

impl Desk {
    pub(crate) fn new(signal: &'static str) -> Self {
        Self {
            signal,
            failing: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            silence: Mutex::new(None),
        }
    }

    /// Whether a thing finds room among so many that may wait.
    pub(crate) fn comes(&self, room: usize) -> bool {
        if self.waiting.fetch_add(1, Relaxed) < room {
            return true;
        }
        self.waiting.fetch_sub(1, Relaxed);
        self.lost.fetch_add(1, Relaxed);
        self.fail("more comes than the collector takes");
        false
    }

    /// So many wait no more.
    pub(crate) fn leave(&self, things: usize) {
        self.waiting.fetch_sub(things, Relaxed);
    }

    /// No answer came.
    pub(crate) fn silent(&self, why: String) {
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// So many were sent, or were not.
    pub(crate) fn settle(&self, things: usize, sent: &OTelSdkResult) {
        let silence = self.silence.lock().unwrap_or_else(PoisonError::into_inner).take();
        match sent {
            Ok(()) => {
                let lost = self.lost.swap(0, Relaxed);
                if self.failing.swap(false, Relaxed) {
                    tracing::info!(signal = self.signal, lost, "the collector takes what is sent again");
                }
            }
            Err(error) => {
                self.lost.fetch_add(things as u64, Relaxed);
                self.fail(&silence.unwrap_or_else(|| error.to_string()));
            }
        }
    }

    /// The program ends; whether it went well until now.
    pub(crate) fn close(&self) -> bool {
        self.closing.store(true, Relaxed);
        !self.failing.load(Relaxed)
    }

    /// Nothing is sent any more: says what was lost.
    pub(crate) fn end(&self) {
        let lost = self.lost.load(Relaxed) + self.waiting.load(Relaxed) as u64;
        if lost > 0 {
            let signal = self.signal;
            tracing::warn!(signal, lost, "the collector did not take what was sent until the end");
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    fn fail(&self, why: &str) {
        if !self.failing.swap(true, Relaxed) {
            let signal = self.signal;
            tracing::warn!(signal, why, "the collector does not take what is sent: requests are served");
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_sdk::error::OTelSdkError;

    use super::*;

    #[test]
    fn what_finds_no_room_is_lost_and_counted_until_it_goes_well() {
        let desk = Desk::new("traces");
        let come = |things: usize| (0..things).filter(|_| desk.comes(3)).count();
        assert_eq!(come(5), 3);
        assert_eq!((desk.lost.load(Relaxed), desk.failing.load(Relaxed)), (2, true));
        desk.leave(3);
        desk.settle(3, &Err(OTelSdkError::InternalFailure("status 500".into())));
        assert_eq!((desk.lost.load(Relaxed), desk.failing.load(Relaxed)), (5, true));
        assert_eq!(come(1), 1);
        desk.leave(1);
        desk.settle(1, &Ok(()));
        assert_eq!((desk.lost.load(Relaxed), desk.failing.load(Relaxed)), (0, false));
    }
}
