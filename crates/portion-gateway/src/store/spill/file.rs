//! The temporary file: it has no name, and the system frees it when the process ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::space::{GRANULE_BYTES, Run};

/// Opens an empty file, for reading and writing by this process alone.
pub type FileOpener = Arc<dyn Fn() -> io::Result<File> + Send + Sync>;

/// Returns an opener of a file without a name in the first of these directories that can be written.
pub fn unlinked_in(directories: Vec<PathBuf>) -> FileOpener {
    Arc::new(move || {
        let mut failure =
            io::Error::new(io::ErrorKind::NotFound, "there is no directory for temporary files");
        for directory in &directories {
            match tempfile::tempfile_in(directory) {
                Ok(file) => return Ok(file),
                Err(error) => {
                    failure = io::Error::new(error.kind(), format!("{}: {error}", directory.display()));
                }
            }
        }
        Err(failure)
    })
}

/// The file, which is opened when something is written first.
pub(super) struct SpillFile {
    open: FileOpener,
    file: Option<File>,
    has_failed: bool,
}

impl SpillFile {
    pub(super) fn new(open: FileOpener) -> Self {
        Self { open, file: None, has_failed: false }
    }

    /// Writes bytes to the runs that were allocated for them. A failure is logged once, until a write succeeds.
    pub(super) fn write(&mut self, runs: &[Run], bytes: &[u8]) -> io::Result<()> {
        let written = self.try_write(runs, bytes);
        match &written {
            Ok(()) => self.has_failed = false,
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                tracing::warn!(
                    %error,
                    "results cannot be moved to disk; while the memory is full, replies are served without cursors"
                );
            }
            Err(_) => {}
        }
        written
    }

    fn try_write(&mut self, runs: &[Run], bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert((self.open)()?),
        };
        let mut rest = bytes;
        for run in runs {
            let (part, later) = rest.split_at(run_bytes(run).min(rest.len()));
            file.seek(SeekFrom::Start(offset(run)))?;
            file.write_all(part)?;
            rest = later;
        }
        Ok(())
    }

    /// Reads `len` bytes from runs.
    pub(super) fn read(&mut self, runs: &[Run], len: usize) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; len];
        let mut rest = &mut bytes[..];
        for run in runs {
            let (part, later) = rest.split_at_mut(run_bytes(run).min(rest.len()));
            file.seek(SeekFrom::Start(offset(run)))?;
            file.read_exact(part)?;
            rest = later;
        }
        Ok(bytes)
    }

    /// Returns the space after `end` granules to the system.
    pub(super) fn truncate(&mut self, end: u32) {
        let end = u64::from(end) * GRANULE_BYTES;
        if let Some(file) = &self.file
            && file.metadata().is_ok_and(|metadata| metadata.len() > end)
        {
            // If that fails, the space is used again later.
            let _ = file.set_len(end);
        }
    }
}

fn offset(run: &Run) -> u64 {
    u64::from(run.start) * GRANULE_BYTES
}

fn run_bytes(run: &Run) -> usize {
    (run.end - run.start) as usize * GRANULE_BYTES as usize
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;
    use std::slice::from_ref;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{GRANULE_BYTES, SpillFile, unlinked_in};

    const GRANULE: usize = GRANULE_BYTES as usize;

    fn len(file: &SpillFile) -> u64 {
        file.file.as_ref().map_or(0, |file| file.metadata().expect("a file").len())
    }

    #[test]
    fn bytes_are_read_from_the_runs_that_they_were_written_to() {
        let mut file = SpillFile::new(unlinked_in(vec![std::env::temp_dir()]));
        let first: Vec<u8> = (0..GRANULE + 5).map(|n| (n % 251) as u8).collect();
        let second: Vec<u8> = (0..3 * GRANULE).map(|n| (n % 241) as u8).collect();
        file.write(&[0..1, 3..4], &first).expect("there is room");
        file.write(&[1..3, 4..5], &second).expect("there is room");
        assert_eq!(len(&file), 5 * GRANULE_BYTES);
        assert!(file.read(&[0..1, 3..4], first.len()).expect("it was written") == first);
        assert!(file.read(&[1..3, 4..5], second.len()).expect("it was written") == second);
        assert!(file.read(from_ref(&(1..3)), 10).expect("it was written") == second[..10]);
        assert!(file.read(from_ref(&(4..6)), 2 * GRANULE).is_err(), "nothing was written there");
    }

    #[test]
    fn the_file_shrinks_and_never_grows_by_itself() {
        let mut file = SpillFile::new(unlinked_in(vec![std::env::temp_dir()]));
        file.truncate(0);
        assert!(file.file.is_none(), "it is opened when something is written");
        file.write(from_ref(&(0..4)), &[7; 4 * GRANULE]).expect("there is room");
        for (end, expect) in [(9, 4), (4, 4), (3, 3), (1, 1), (2, 1), (0, 0)] {
            file.truncate(end);
            assert_eq!(len(&file), expect * GRANULE_BYTES, "an end at {end}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_tried_again() {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        let open = move || -> io::Result<File> {
            if counted.fetch_add(1, Ordering::Relaxed) < 2 {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                tempfile::tempfile()
            }
        };
        let mut file = SpillFile::new(Arc::new(open));
        assert!(file.read(from_ref(&(0..1)), 1).is_err());
        for (expect_ok, has_failed) in [(false, true), (false, true), (true, false), (true, false)] {
            let written = file.write(from_ref(&(0..1)), b"a");
            assert_eq!((written.is_ok(), file.has_failed), (expect_ok, has_failed));
        }
        assert_eq!(attempts.load(Ordering::Relaxed), 3, "it is opened once");
    }

    #[test]
    fn the_first_directory_that_can_be_written_is_used() {
        let missing = || std::path::PathBuf::from("/nonexistent/portion");
        assert!(unlinked_in(vec![missing(), std::env::temp_dir()])().is_ok());
        let error = unlinked_in(vec![missing()])().expect_err("there is no directory");
        assert!(error.to_string().contains("/nonexistent/portion"), "{error}");
        assert!(unlinked_in(Vec::new())().is_err());
    }
}
