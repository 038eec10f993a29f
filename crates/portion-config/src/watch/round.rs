//! The watch's thread: takes signs in, looks at the file when that is due, and tells what it found.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use notify::Event;

use super::eyes::{Eyes, Sign, UNWATCHED};
use super::reading::{Identity, Reading};
use super::settle::{Look, Notice, Settling};
use super::{Seen, Settle};

/// Everything that the thread knows.
pub(super) struct Round<F> {
    path: PathBuf,
    eyes: Eyes,
    settling: Settling,
    /// How often to look unasked, while there are signs.
    often: Duration,
    told: Option<Seen>,
    /// The state of the file at the last look.
    identity: Option<Identity>,
    heed: F,
    began: Instant,
}

impl<F: FnMut(Seen)> Round<F> {
    pub(super) fn new(path: PathBuf, told: Option<Seen>, settle: Settle, eyes: Eyes, heed: F) -> Self {
        let mut settling = Settling::new(settle);
        // What is there now may be another file than the one that the caller has read.
        settling.notice(if eyes.sharp() { Notice::Replaced } else { Notice::Found }, Duration::ZERO);
        let identity = Identity::of(&path);
        Self { path, eyes, settling, often: settle.glance, told, identity, heed, began: Instant::now() }
    }

    /// Goes on until it is told to stop.
    pub(super) fn run(&mut self, signs: &Receiver<Sign>) {
        let mut glance = self.next_glance();
        loop {
            let next = self.settling.due().unwrap_or(glance);
            match signs.recv_timeout(next.saturating_sub(self.now())) {
                Ok(Sign::Stirred(event, at)) => {
                    self.take(&event, at);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Sign::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.settling.idle() {
                self.glance();
            } else if !self.look(signs) {
                return;
            }
            glance = self.next_glance();
        }
    }

    /// Takes in what happened; whether the file may be another one for it.
    fn take(&mut self, event: &notify::Result<Event>, at: Instant) -> bool {
        let Some(notice) = self.eyes.notice(event) else { return false };
        // When it happened counts, however late this thread comes to hear of it.
        self.settling.notice(notice, at.saturating_duration_since(self.began));
        if notice == Notice::Replaced {
            self.eyes.follow(&self.path);
        }
        true
    }

    /// Looks whether the file is another one without anything having been noticed.
    fn glance(&mut self) {
        let identity = Identity::of(&self.path);
        if identity == self.identity {
            self.eyes.follow(&self.path);
        } else {
            self.eyes.renew(&self.path);
            self.identity = identity;
            self.settling.notice(Notice::Found, self.now());
        }
    }

    /// Reads the file, and tells what it says if that is to be believed. `false` where it was told to stop meanwhile.
    fn look(&mut self, signs: &Receiver<Sign>) -> bool {
        let reading = Reading::of(&self.path);
        let found = if self.astir(&reading) { Look::Torn } else { reading.look(self.told.as_ref()) };
        self.identity = reading.identity;
        let mut stirred = false;
        while let Ok(sign) = signs.try_recv() {
            let Sign::Stirred(event, at) = sign else { return false };
            stirred |= self.take(&event, at);
        }
        // What happened during the reading, or just before, asks for another one.
        if stirred {
            return true;
        }
        if self.settling.look(found, self.now())
            && let Some(seen) = reading.seen
        {
            self.told = Some(seen.clone());
            (self.heed)(seen);
        }
        true
    }

    /// Whether the file is being changed, though no sign of that has come: signs take their time, too.
    fn astir(&self, reading: &Reading) -> bool {
        if self.settling.blind() {
            return reading.identity != self.identity;
        }
        // In this order, so that a pause in between makes for another look rather than for none.
        let wall = SystemTime::now();
        let calm = self.settling.calm(self.now());
        reading.identity.as_ref().is_some_and(|file| file.changed_within(calm, wall))
    }

    /// When to look at the file unasked.
    fn next_glance(&self) -> Duration {
        let every = if self.eyes.sharp() { self.often } else { UNWATCHED };
        self.now().saturating_add(every)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;

    use notify::EventKind;

    use super::*;

    #[test]
    fn what_stirs_during_a_reading_asks_for_another() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let ((tell, told), (send, signs)) = (mpsc::channel(), mpsc::channel());
        let heed = |seen| tell.send(seen).expect("it is heard");
        let settle = Settle { quiet: Duration::ZERO, ..Settle::default() };
        let mut round = Round::new(path, None, settle, Eyes::shut(), heed);
        let stirred = Ok(Event::new(EventKind::Any));
        send.send(Sign::Stirred(stirred, Instant::now())).expect("it is heard");
        assert!(round.look(&signs), "nothing said to stop");
        assert!(told.try_recv().is_err(), "it may have changed while it was read");
        assert!(round.look(&signs), "nothing said to stop");
        assert_eq!(told.try_recv(), Ok(Seen::Text("a: 1\n".to_owned())));
        assert!(round.settling.idle());
        send.send(Sign::Stop).expect("it is heard");
        assert!(!round.look(&signs), "it is to stop");
    }

    #[test]
    fn what_is_newer_than_the_last_sign_is_not_believed() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let ((tell, told), (_send, signs)) = (mpsc::channel(), mpsc::channel());
        let heed = |seen| tell.send(seen).expect("it is heard");
        let settle = Settle { quiet: Duration::ZERO, ..Settle::default() };
        let mut round = Round::new(path.clone(), None, settle, Eyes::shut(), heed);
        // Longer than what systems round the times of files to.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(&path, "a: 2\n").expect("there is room");
        assert!(round.look(&signs), "nothing said to stop");
        assert!(told.try_recv().is_err(), "a sign of the change is still to come");
        assert!(round.look(&signs), "nothing said to stop");
        assert_eq!(told.try_recv(), Ok(Seen::Text("a: 2\n".to_owned())));
    }
}
