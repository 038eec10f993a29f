//! Reads files that a user names: up to a size, and without waiting forever for a pipe that nobody writes to.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest time that a pipe or a device may take.
const PIPE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a file of at most `limit` bytes. A named pipe, as of a shell's `<(…)`, is read to its end.
///
/// # Errors
/// If it cannot be read, is larger, or is a pipe or device that does not end within 10 seconds.
pub fn read_named_file(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    read_within(path, limit, PIPE_TIMEOUT)
}

/// Reads a text file like [`read_named_file`].
///
/// # Errors
/// Those of [`read_named_file`], and an error if it is not UTF-8.
pub fn read_named_text(path: &Path, limit: usize) -> io::Result<String> {
    String::from_utf8(read_named_file(path, limit)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 at byte {at}"))
    })
}

fn read_within(path: &Path, limit: usize, pipe_timeout: Duration) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        return read_bounded(path, limit);
    }
    // Opening a named pipe waits for a writer, and reading it for the end of the writer.
    let (sender, receiver) = mpsc::channel();
    let named = path.to_owned();
    thread::spawn(move || sender.send(read_bounded(&named, limit)));
    receiver.recv_timeout(pipe_timeout).unwrap_or_else(|_| {
        let seconds = pipe_timeout.as_secs();
        let reason = format!("it is not a regular file, and it did not end within {seconds} seconds");
        Err(io::Error::new(io::ErrorKind::TimedOut, reason))
    })
}

fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    /// Makes a named pipe in a directory of its own.
    fn pipe() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
        (folder, path)
    }

    #[test]
    fn a_pipe_without_a_writer_is_an_error() {
        let (_folder, path) = pipe();
        let error = read_within(&path, 100, Duration::from_millis(50)).expect_err("nobody writes");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("not a regular file"), "{error}");
        // Lets the waiting thread end.
        drop(OpenOptions::new().write(true).open(&path));
    }

    #[test]
    fn a_pipe_with_a_writer_is_read() {
        let (_folder, path) = pipe();
        let named = path.clone();
        let writer = thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(named).expect("a reader comes");
            pipe.write_all(b"limit: 5").expect("it is read");
        });
        assert_eq!(read_named_text(&path, 100).expect("text"), "limit: 5");
        writer.join().expect("it wrote");
    }

    #[test]
    fn a_device_without_an_end_is_too_large() {
        let error = read_named_file(Path::new("/dev/zero"), 100).expect_err("it has no end");
        assert!(error.to_string().contains("larger than 100 bytes"), "{error}");
        assert!(read_named_file(Path::new("/dev/null"), 0).expect("it is empty").is_empty());
    }

    #[test]
    fn other_errors_are_passed_on() {
        let folder = tempfile::tempdir().expect("a directory");
        assert!(read_named_file(folder.path(), 100).is_err());
        let missing = read_named_file(&folder.path().join("none"), 100).expect_err("it is not there");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
