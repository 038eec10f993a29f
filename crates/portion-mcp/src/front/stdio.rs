//! The client on our own stdin and stdout.

use std::fs::File;
use std::io::{self, Read, Write};

use super::signals::{ShutdownDeadline, ShutdownSignals};
use crate::frame::FrameReader;

/// Connection to the client that started this process.
pub struct StdioFront {
    /// Messages of the client.
    pub input: FrameReader<Box<dyn Read + Send>>,
    /// Messages to the client; nothing else may write to stdout.
    pub output: Box<dyn Write + Send>,
    /// Signals that end the process.
    pub signals: ShutdownSignals,
    /// Deadline of the shutdown, set when the relay begins to stop.
    pub shutdown_deadline: ShutdownDeadline,
}

impl StdioFront {
    /// Takes our stdin, stdout and signals. Must be called within a runtime, and before a child is started, so that a
    /// signal always ends the child, too. A message may have at most `message_limit` bytes.
    ///
    /// # Errors
    /// Returns an error if stdin or stdout is closed, or a signal handler cannot be installed.
    pub fn open(message_limit: usize) -> io::Result<Self> {
        let signals = ShutdownSignals::listen()?;
        let input: Box<dyn Read + Send> = Box::new(BlockingFile(unbuffered_file(&io::stdin())?));
        let output = Box::new(BlockingFile(unbuffered_file(&io::stdout())?));
        Ok(Self {
            input: FrameReader::new(input, message_limit),
            output,
            signals,
            shutdown_deadline: ShutdownDeadline::default(),
        })
    }
}

/// Returns the stream as an unbuffered file: `Stdout` of std is line-buffered and copies.
#[cfg(unix)]
fn unbuffered_file(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

/// Returns the stream as an unbuffered file: `Stdout` of std is line-buffered and copies.
#[cfg(windows)]
fn unbuffered_file(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    Ok(stream.as_handle().try_clone_to_owned()?.into())
}

/// A file whose reads and writes block even if it is non-blocking: another process that shares the socket or terminal
/// may have set that flag, which belongs to the open file and not to a process.
struct BlockingFile(File);

impl Read for BlockingFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait::readable(&self.0)?,
                done => return done,
            }
        }
    }
}

impl Write for BlockingFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait::writable(&self.0)?,
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
mod wait {
    use std::fs::File;
    use std::io;

    use rustix::event::{PollFd, PollFlags, poll};

    pub(super) fn readable(file: &File) -> io::Result<()> {
        poll_ready(file, PollFlags::IN)
    }

    pub(super) fn writable(file: &File) -> io::Result<()> {
        poll_ready(file, PollFlags::OUT)
    }

    fn poll_ready(file: &File, flags: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(file, flags)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod wait {
    use std::fs::File;
    use std::{io, thread, time::Duration};

    pub(super) fn readable(_: &File) -> io::Result<()> {
        thread::sleep(Duration::from_millis(5));
        Ok(())
    }

    pub(super) use readable as writable;
}
