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
mod watch_loop;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use thiserror::Error;

pub use debounce::DebounceOptions;
pub use probe::{FileContent, MAX_FILE_BYTES};

use self::file_watcher::{FileWatcher, WatchMessage};
use self::watch_loop::WatchLoop;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_watched_is_polled() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        std::fs::write(&path, "a: 1\n").expect("there is room");
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
        let next = || reports.recv_timeout(std::time::Duration::from_mins(1)).expect("something is told");
        for text in ["a: 2\n", "a: 1\n"] {
            std::fs::write(&path, text).expect("there is room");
            assert_eq!(next(), FileContent::Text(text.to_owned()));
        }
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(next(), FileContent::Missing);
    }
}
