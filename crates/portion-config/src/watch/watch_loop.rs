//! The watch's thread: takes signs in, looks at the file when that is due, and tells what it found.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use notify::Event;

use super::debounce::{Debouncer, FileChange, ReadAssessment};
use super::file_watcher::{DEGRADED_POLL_INTERVAL, FileWatcher, WatchMessage};
use super::probe::{FileIdentity, FileProbe};
use super::{DebounceOptions, FileContent};

/// Everything that the thread knows.
pub(super) struct WatchLoop<F> {
    path: PathBuf,
    watcher: FileWatcher,
    debouncer: Debouncer,
    /// How often to look unasked, while there are signs.
    poll_interval: Duration,
    last_reported: Option<FileContent>,
    /// The state of the file at the last look.
    identity: Option<FileIdentity>,
    on_change: F,
    started_at: Instant,
}

impl<F: FnMut(FileContent)> WatchLoop<F> {
    pub(super) fn new(
        path: PathBuf,
        told: Option<FileContent>,
        settle: DebounceOptions,
        eyes: FileWatcher,
        heed: F,
    ) -> Self {
        let mut settling = Debouncer::new(settle);
        // What is there now may be another file than the one that the caller has read.
        settling.record_change(
            if eyes.is_healthy() { FileChange::Replaced } else { FileChange::FoundByPolling },
            Duration::ZERO,
        );
        let identity = FileIdentity::from_path(&path);
        Self {
            path,
            watcher: eyes,
            debouncer: settling,
            poll_interval: settle.poll_interval,
            last_reported: told,
            identity,
            on_change: heed,
            started_at: Instant::now(),
        }
    }

    /// Goes on until it is told to stop.
    pub(super) fn run(&mut self, signs: &Receiver<WatchMessage>) {
        let mut glance = self.next_poll_at();
        loop {
            let next = self.debouncer.next_read_at().unwrap_or(glance);
            match signs.recv_timeout(next.saturating_sub(self.elapsed())) {
                Ok(WatchMessage::FsEvent(event, at)) => {
                    self.handle_event(&event, at);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.debouncer.is_idle() {
                self.poll();
            } else if !self.read_and_report(signs) {
                return;
            }
            glance = self.next_poll_at();
        }
    }

    /// Takes in what happened; whether the file may be another one for it.
    fn handle_event(&mut self, event: &notify::Result<Event>, at: Instant) -> bool {
        let Some(notice) = self.watcher.classify_event(event) else { return false };
        // When it happened counts, however late this thread comes to hear of it.
        self.debouncer.record_change(notice, at.saturating_duration_since(self.started_at));
        if notice == FileChange::Replaced {
            self.watcher.update_watches(&self.path);
        }
        true
    }

    /// Looks whether the file is another one without anything having been noticed.
    fn poll(&mut self) {
        let identity = FileIdentity::from_path(&self.path);
        if identity == self.identity {
            self.watcher.update_watches(&self.path);
        } else {
            self.watcher.reset_watches(&self.path);
            self.identity = identity;
            self.debouncer.record_change(FileChange::FoundByPolling, self.elapsed());
        }
    }

    /// Reads the file, and tells what it says if that is to be believed. `false` where it was told to stop meanwhile.
    fn read_and_report(&mut self, signs: &Receiver<WatchMessage>) -> bool {
        let reading = FileProbe::read(&self.path);
        let found = if self.is_changing(&reading) {
            ReadAssessment::Torn
        } else {
            reading.assess(self.last_reported.as_ref())
        };
        self.identity = reading.identity;
        let mut stirred = false;
        while let Ok(sign) = signs.try_recv() {
            let WatchMessage::FsEvent(event, at) = sign else { return false };
            stirred |= self.handle_event(&event, at);
        }
        // What happened during the reading, or just before, asks for another one.
        if stirred {
            return true;
        }
        if self.debouncer.record_read(found, self.elapsed())
            && let Some(seen) = reading.content
        {
            self.last_reported = Some(seen.clone());
            (self.on_change)(seen);
        }
        true
    }

    /// Whether the file is being changed, though no sign of that has come: signs take their time, too.
    fn is_changing(&self, reading: &FileProbe) -> bool {
        if self.debouncer.is_polled() {
            return reading.identity != self.identity;
        }
        // In this order, so that a pause in between makes for another look rather than for none.
        let wall = SystemTime::now();
        let calm = self.debouncer.time_since_change(self.elapsed());
        reading.identity.as_ref().is_some_and(|file| file.changed_within(calm, wall))
    }

    /// When to look at the file unasked.
    fn next_poll_at(&self) -> Duration {
        let every = if self.watcher.is_healthy() { self.poll_interval } else { DEGRADED_POLL_INTERVAL };
        self.elapsed().saturating_add(every)
    }

    fn elapsed(&self) -> Duration {
        self.started_at.elapsed()
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
        let settle = DebounceOptions { quiet_interval: Duration::ZERO, ..DebounceOptions::default() };
        let mut round = WatchLoop::new(path, None, settle, FileWatcher::disabled(), heed);
        let stirred = Ok(Event::new(EventKind::Any));
        send.send(WatchMessage::FsEvent(stirred, Instant::now())).expect("it is heard");
        assert!(round.read_and_report(&signs), "nothing said to stop");
        assert!(told.try_recv().is_err(), "it may have changed while it was read");
        assert!(round.read_and_report(&signs), "nothing said to stop");
        assert_eq!(told.try_recv(), Ok(FileContent::Text("a: 1\n".to_owned())));
        assert!(round.debouncer.is_idle());
        send.send(WatchMessage::Stop).expect("it is heard");
        assert!(!round.read_and_report(&signs), "it is to stop");
    }

    #[test]
    fn what_is_newer_than_the_last_sign_is_not_believed() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let ((tell, told), (_send, signs)) = (mpsc::channel(), mpsc::channel());
        let heed = |seen| tell.send(seen).expect("it is heard");
        let settle = DebounceOptions { quiet_interval: Duration::ZERO, ..DebounceOptions::default() };
        let mut round = WatchLoop::new(path.clone(), None, settle, FileWatcher::disabled(), heed);
        // Longer than what systems round the times of files to.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(&path, "a: 2\n").expect("there is room");
        assert!(round.read_and_report(&signs), "nothing said to stop");
        assert!(told.try_recv().is_err(), "a sign of the change is still to come");
        assert!(round.read_and_report(&signs), "nothing said to stop");
        assert_eq!(told.try_recv(), Ok(FileContent::Text("a: 2\n".to_owned())));
    }
}
