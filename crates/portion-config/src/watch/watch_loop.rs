//! The watch thread: receives events, reads the file when that is due, and reports its content.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use notify::Event;

use super::debounce::{Debouncer, FileChange, ReadAssessment};
use super::file_watcher::{DEGRADED_POLL_INTERVAL, FileWatcher, WatchMessage};
use super::probe::{FileIdentity, FileProbe};
use super::{DebounceOptions, FileContent};

/// State of the watch thread.
pub(super) struct WatchLoop<F> {
    path: PathBuf,
    watcher: FileWatcher,
    debouncer: Debouncer,
    /// Interval between polls while events are received.
    poll_interval: Duration,
    last_reported: Option<FileContent>,
    /// State of the file at the last read.
    identity: Option<FileIdentity>,
    on_change: F,
    started_at: Instant,
}

impl<F: FnMut(FileContent)> WatchLoop<F> {
    pub(super) fn new(
        path: PathBuf,
        last_content: Option<FileContent>,
        options: DebounceOptions,
        file_watcher: FileWatcher,
        on_change: F,
    ) -> Self {
        let mut debouncer = Debouncer::new(options);
        // The file may have changed since the caller has read it.
        debouncer.record_change(
            if file_watcher.is_degraded { FileChange::FoundByPolling } else { FileChange::Replaced },
            Duration::ZERO,
        );
        let identity = FileIdentity::from_path(&path);
        Self {
            path,
            watcher: file_watcher,
            debouncer,
            poll_interval: options.poll_interval,
            last_reported: last_content,
            identity,
            on_change,
            started_at: Instant::now(),
        }
    }

    /// Runs until it is stopped.
    pub(super) fn run(&mut self, messages: &Receiver<WatchMessage>) {
        let mut next_poll = self.next_poll_at();
        loop {
            let next = self.debouncer.next_read_at().unwrap_or(next_poll);
            match messages.recv_timeout(next.saturating_sub(self.elapsed())) {
                Ok(WatchMessage::FsEvent(event, at)) => {
                    self.handle_event(&event, at);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.debouncer.is_idle() {
                self.poll();
            } else if !self.read_and_report(messages) {
                return;
            }
            next_poll = self.next_poll_at();
        }
    }

    /// Handles an event; returns true if the file may have changed.
    fn handle_event(&mut self, event: &notify::Result<Event>, at: Instant) -> bool {
        let Some(change) = self.watcher.classify_event(event) else { return false };
        // The time of the event counts, even if this thread handles it later.
        self.debouncer.record_change(change, at.saturating_duration_since(self.started_at));
        if change == FileChange::Replaced {
            self.watcher.update_watches(&self.path);
        }
        true
    }

    /// Checks if the file has changed without an event.
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

    /// Reads the file and reports its content once it has settled. Returns false if a request to stop was
    /// received.
    fn read_and_report(&mut self, messages: &Receiver<WatchMessage>) -> bool {
        let probe = FileProbe::read(&self.path);
        let found = if self.is_changing(&probe) {
            ReadAssessment::Torn
        } else {
            probe.assess(self.last_reported.as_ref())
        };
        self.identity = probe.identity;
        let mut changed = false;
        while let Ok(message) = messages.try_recv() {
            let WatchMessage::FsEvent(event, at) = message else { return false };
            changed |= self.handle_event(&event, at);
        }
        // After an event during the read, or just before it, the file must be read again.
        if changed {
            return true;
        }
        if self.debouncer.record_read(found, self.elapsed())
            && let Some(seen) = probe.content
        {
            self.last_reported = Some(seen.clone());
            (self.on_change)(seen);
        }
        true
    }

    /// Returns true if the file is being changed although no event has arrived yet: events are delayed.
    fn is_changing(&self, probe: &FileProbe) -> bool {
        if self.debouncer.is_polled() {
            return probe.identity != self.identity;
        }
        // In this order, so that a pause between the two causes another read rather than none.
        let wall = SystemTime::now();
        let calm = self.debouncer.time_since_change(self.elapsed());
        probe.identity.as_ref().is_some_and(|file| file.changed_within(calm, wall))
    }

    /// Returns when to poll the file next.
    fn next_poll_at(&self) -> Duration {
        let every = if self.watcher.is_degraded { DEGRADED_POLL_INTERVAL } else { self.poll_interval };
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
    fn an_event_during_a_read_causes_another_read() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let ((sender, reports), (send, messages)) = (mpsc::channel(), mpsc::channel());
        let on_change = |seen| sender.send(seen).expect("it is heard");
        let options = DebounceOptions { quiet_interval: Duration::ZERO, ..DebounceOptions::default() };
        let mut watch_loop = WatchLoop::new(path, None, options, FileWatcher::default(), on_change);
        let changed = Ok(Event::new(EventKind::Any));
        send.send(WatchMessage::FsEvent(changed, Instant::now())).expect("it is heard");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert!(reports.try_recv().is_err(), "it may have changed while it was read");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert_eq!(reports.try_recv(), Ok(FileContent::Text("a: 1\n".to_owned())));
        assert!(watch_loop.debouncer.is_idle());
        send.send(WatchMessage::Stop).expect("it is heard");
        assert!(!watch_loop.read_and_report(&messages), "it is to stop");
    }

    #[test]
    fn a_change_newer_than_the_last_event_is_not_reported() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let ((sender, reports), (_send, messages)) = (mpsc::channel(), mpsc::channel());
        let on_change = |seen| sender.send(seen).expect("it is heard");
        let options = DebounceOptions { quiet_interval: Duration::ZERO, ..DebounceOptions::default() };
        let mut watch_loop = WatchLoop::new(path.clone(), None, options, FileWatcher::default(), on_change);
        // Longer than the resolution of file times.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(&path, "a: 2\n").expect("there is room");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert!(reports.try_recv().is_err(), "a sign of the change is still to come");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert_eq!(reports.try_recv(), Ok(FileContent::Text("a: 2\n".to_owned())));
    }
}
