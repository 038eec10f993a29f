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
