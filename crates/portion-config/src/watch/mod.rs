//! Notices that a file is another one now, and hands over its text once that is whole.
//!
//! # What is watched
//! Never the file itself: editors and mounted configuration put another one in its place, and then the old one
//! would be watched for ever. `route` follows the path through every symbolic link; the directories that it
//! comes by are watched, so that a link that points elsewhere is seen as well (Kubernetes flips `..data`), and the
//! nearest one above where a directory is missing. What notices nothing (a network share, a directory above that
//! was renamed) is found by a look at the file's identity every two seconds; where no watch can be had at all,
//! every half second.
//!
//! # When it is whole
//! A file says nothing of being complete. `settle` decides, from what was noticed and when: a writer that has not
//! closed the file is waited for, several changes at once are one, and a text that looks cut off has to last longer
//! before it is believed. A text during whose reading the file changed is never handed over, nor is one that is newer than
//! the last sign of a change: then a sign is still to come.
//!
//! What cannot be known: a writer that closes a file in the middle, at the end of a line, and goes on in it later than
//! [`DebounceOptions::quiet_interval`] looks like one that is done.

mod debounce;
mod file_watcher;
mod probe;
mod resolved_path;
mod watch_loop;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use thiserror::Error;

pub use debounce::DebounceOptions;

use self::file_watcher::{FileWatcher, WatchMessage};
use self::watch_loop::WatchLoop;

/// The longest configuration that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Watches one path for as long as it lives, in a thread of its own.
#[derive(Debug)]
pub struct WatchHandle {
    messages: Sender<WatchMessage>,
    thread: Option<JoinHandle<()>>,
}

/// What the path means now. The same is never told twice running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A whole text, not that of the last time.
    Text(String),
    /// A file that says nothing: blank lines and comments, or no byte at all.
    Empty,
    /// No file.
    Missing,
    /// Something that cannot be read as text, and why.
    Unreadable(String),
}

/// Why a path cannot be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// It ends in no name.
    #[error("`{}` names no file to watch", .0.display())]
    NoFileName(PathBuf),
    /// The path is relative, and where to is not known.
    #[error("`{}` has no place to start from: {source}; give an absolute path", path.display())]
    NoBaseDirectory {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There can be no further thread.
    #[error("no thread to watch the configuration with: {0}")]
    SpawnThread(io::Error),
}

impl WatchHandle {
    /// Watches `path` from now on and calls `heed`, in the watch's own thread, with what it means each time that this
    /// changes. `known` is the text that the caller has of it already, if any: what is different from it at the start is
    /// told too, so that nothing is missed between that reading and this call. The file need not be there.
    ///
    /// The thread waits while `heed` works, and ends with the value.
    ///
    /// # Errors
    /// See [`WatchError`]. That the system cannot watch directories is none: the file is looked at instead, and a
    /// warning logged.
    pub fn start(
        path: &Path,
        known: Option<&str>,
        settle: DebounceOptions,
        heed: impl FnMut(FileContent) + Send + 'static,
    ) -> Result<Self, WatchError> {
        if path.file_name().is_none() {
            return Err(WatchError::NoFileName(path.to_owned()));
        }
        let path = std::path::absolute(path)
            .map_err(|source| WatchError::NoBaseDirectory { path: path.to_owned(), source })?;
        // Watched before this returns: a change from now on is seen.
        Self::start_with(path, known, settle, heed, FileWatcher::open)
    }

    fn start_with(
        path: PathBuf,
        known: Option<&str>,
        settle: DebounceOptions,
        heed: impl FnMut(FileContent) + Send + 'static,
        open: impl FnOnce(&Path, Sender<WatchMessage>) -> FileWatcher,
    ) -> Result<Self, WatchError> {
        let (stop, signs) = mpsc::channel();
        let eyes = open(&path, stop.clone());
        let mut round = WatchLoop::new(path, known.map(probe::content_from_str), settle, eyes, heed);
        let thread = thread::Builder::new()
            .name("portion-config".to_owned())
            .spawn(move || round.run(&signs))
            .map_err(WatchError::SpawnThread)?;
        Ok(Self { messages: stop, thread: Some(thread) })
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        // It fails only where the thread has ended, which is what is wanted.
        let _ = self.messages.send(WatchMessage::Stop);
        if let Some(thread) = self.thread.take() {
            // A `heed` that owns its watch may drop it: a thread cannot wait for itself.
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
    fn a_file_is_looked_at_where_it_cannot_be_watched() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("portion.yaml");
        std::fs::write(&path, "a: 1\n").expect("there is room");
        let (tell, told) = mpsc::channel();
        let heed = move |seen| {
            let _ = tell.send(seen);
        };
        let blind = |path: &Path, _| {
            let mut eyes = FileWatcher::disabled();
            eyes.mark_degraded(path, &notify::Error::new(notify::ErrorKind::MaxFilesWatch));
            eyes
        };
        let watch =
            WatchHandle::start_with(path.clone(), Some("a: 1\n"), DebounceOptions::default(), heed, blind);
        let _watch = watch.expect("there can be a thread");
        let next = || told.recv_timeout(std::time::Duration::from_mins(1)).expect("something is told");
        for text in ["a: 2\n", "a: 1\n"] {
            std::fs::write(&path, text).expect("there is room");
            assert_eq!(next(), FileContent::Text(text.to_owned()));
        }
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(next(), FileContent::Missing);
    }
}
