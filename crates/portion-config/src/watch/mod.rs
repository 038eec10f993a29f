//! Watches a file and reports its text after each change, once the text is complete.
//!
//! # What is watched
//! Never the file itself: editors and mounted configurations replace it by another one, and the watch
//! would stay with the old one. `file_watcher` follows the path through every symbolic link and lists
//! the directories on the way. These are watched, so that a change of a link is seen as well (Kubernetes
//! changes `..data`); if a directory is missing, the nearest existing one above it is watched. Changes
//! without events (a network share, a renamed directory further up) are found by polling the identity of
//! the file every two seconds, or every half second if no watch is possible.
//!
//! # When it is complete
//! A file does not indicate that it is complete. `debounce` decides, from the changes and their times: it
//! waits for a writer that has not closed the file, reports several changes as one, and waits longer for
//! a text that looks incomplete. A text is never reported if the file changed while it was read, or if it
//! is newer than the last event: then another event is still to come.
//!
//! One case cannot be detected: a writer that closes a file in the middle, at the end of a line, and
//! continues later than [`DebounceOptions::quiet_interval`], looks like one that has finished.

mod debounce;
mod file_watcher;
mod probe;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use notify::Event;
use thiserror::Error;

use debounce::{Debouncer, FileChange, ReadAssessment};
use file_watcher::{DEGRADED_POLL_INTERVAL, FileWatcher, WatchMessage};
use probe::{FileIdentity, FileProbe};

pub use debounce::DebounceOptions;
pub use probe::{FileContent, MAX_FILE_BYTES};

/// Watches one path in a thread of its own, until this value is dropped.
#[derive(Debug)]
pub struct WatchHandle {
    messages: Sender<WatchMessage>,
    thread: Option<JoinHandle<()>>,
}

/// The error for a path that cannot be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// It does not end in a file name.
    #[error("`{}` is not a path to a file", .0.display())]
    NoFileName(PathBuf),
    /// The path is relative, and the working directory is unknown.
    #[error("`{}` cannot be resolved: {source}; use an absolute path", path.display())]
    NoBaseDirectory {
        /// The path.
        path: PathBuf,
        /// Cause of the error.
        source: io::Error,
    },
    /// No thread can be started.
    #[error("cannot start the thread that watches the configuration: {0}")]
    SpawnThread(io::Error),
}

impl WatchHandle {
    /// Starts to watch `path` and calls `on_change` in the thread of the watch with the new content after
    /// each change. `known` is the text that the caller has already read, if any: a difference at the
    /// start is reported as well, so that no change between that read and this call is missed. The file
    /// need not exist.
    ///
    /// The thread waits while `on_change` runs, and ends when the returned value is dropped.
    ///
    /// # Errors
    /// See [`WatchError`]. It is no error if the system cannot watch directories: then the file is
    /// polled, and a warning is logged.
    pub fn start(
        path: &Path,
        known: Option<&str>,
        options: DebounceOptions,
        on_change: impl FnMut(FileContent) + Send + 'static,
    ) -> Result<Self, WatchError> {
        if path.file_name().is_none() {
            return Err(WatchError::NoFileName(path.to_owned()));
        }
        let path = std::path::absolute(path)
            .map_err(|source| WatchError::NoBaseDirectory { path: path.to_owned(), source })?;
        // Watches are set up before this returns: a change from now on is seen.
        Self::start_with(path, known, options, on_change, FileWatcher::open)
    }

    fn start_with(
        path: PathBuf,
        known: Option<&str>,
        options: DebounceOptions,
        on_change: impl FnMut(FileContent) + Send + 'static,
        open: impl FnOnce(&Path, Sender<WatchMessage>) -> FileWatcher,
    ) -> Result<Self, WatchError> {
        let (stop, messages) = mpsc::channel();
        let file_watcher = open(&path, stop.clone());
        let mut watch_loop =
            WatchLoop::new(path, known.map(probe::content_from_str), options, file_watcher, on_change);
        let thread = thread::Builder::new()
            .name("portion-config".to_owned())
            .spawn(move || watch_loop.run(&messages))
            .map_err(WatchError::SpawnThread)?;
        Ok(Self { messages: stop, thread: Some(thread) })
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        // Fails only if the thread has ended, which is the goal.
        let _ = self.messages.send(WatchMessage::Stop);
        if let Some(thread) = self.thread.take() {
            // An `on_change` that owns the watch may drop it: a thread cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// State of the watch thread.
struct WatchLoop<F> {
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
    fn new(
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
    fn run(&mut self, messages: &Receiver<WatchMessage>) {
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
    fn a_file_that_cannot_be_watched_is_polled() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        fs::write(&path, "a: 1\n").expect("there is room");
        let (sender, reports) = mpsc::channel();
        let on_change = move |seen| {
            let _ = sender.send(seen);
        };
        let blind = |path: &Path, _| {
            let mut file_watcher = FileWatcher::default();
            file_watcher.mark_degraded(path, &notify::Error::new(notify::ErrorKind::MaxFilesWatch));
            file_watcher
        };
        let watch = WatchHandle::start_with(
            path.clone(),
            Some("a: 1\n"),
            DebounceOptions::default(),
            on_change,
            blind,
        );
        let _watch = watch.expect("there can be a thread");
        let next = || reports.recv_timeout(Duration::from_mins(1)).expect("something is told");
        for text in ["a: 2\n", "a: 1\n"] {
            fs::write(&path, text).expect("there is room");
            assert_eq!(next(), FileContent::Text(text.to_owned()));
        }
        fs::remove_file(&path).expect("it was there");
        assert_eq!(next(), FileContent::Missing);
    }

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
        thread::sleep(Duration::from_millis(30));
        fs::write(&path, "a: 2\n").expect("there is room");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert!(reports.try_recv().is_err(), "a sign of the change is still to come");
        assert!(watch_loop.read_and_report(&messages), "nothing said to stop");
        assert_eq!(reports.try_recv(), Ok(FileContent::Text("a: 2\n".to_owned())));
    }
}
