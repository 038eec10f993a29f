//! Connections from clients: over HTTP, and the client on our own stdin and stdout. Signals that end this
//! process, and the deadline of its shutdown, which all its steps share.

pub mod http;

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use portion_net::worker::Deadline;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::frame::FrameReader;

/// Longest time of a whole shutdown. The official SDKs kill us 2 s after they have closed our stdin or sent a signal;
/// the server would then get no chance to exit cleanly.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1900);

/// Receiver of shutdown signals. Listens from its creation on: create it before a child is started, so that no signal
/// is missed.
///
/// The first signal is returned by [`next`](Self::next). The second kills the groups of all servers and exits at once,
/// from a thread of its own, so that nothing can delay it.
pub struct ShutdownSignals(mpsc::UnboundedReceiver<u8>);

impl ShutdownSignals {
    /// Installs handlers for SIGTERM, SIGINT and SIGHUP, or for Ctrl-C.
    ///
    /// # Errors
    /// Returns an error if a handler cannot be installed or the thread cannot be started.
    pub fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut source = {
            let _entered = runtime.enter();
            source::Source::open()?
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let first = source.next().await;
                let _ = sender.send(first);
                source.next().await;
                crate::upstream::process_group::kill_all();
                std::process::exit(i32::from(128 + first));
            });
        })?;
        Ok(Self(receiver))
    }

    /// Returns the number of the first signal; later calls never return.
    pub async fn next(&mut self) -> u8 {
        match self.0.recv().await {
            Some(number) => number,
            None => std::future::pending().await,
        }
    }
}

/// Start of the shutdown of a process, and the deadline of each step. Clones share the same start.
///
/// | step | ends after |
/// | --- | --- |
/// | the server exits by itself | 0.9 s |
/// | the server exits after SIGTERM; then it is killed | 1.3 s |
/// | the last messages are written to the client | 1.6 s |
/// | everything else: records, exports | 1.9 s |
#[derive(Clone, Debug, Default)]
pub struct ShutdownDeadline(Arc<OnceLock<Instant>>);

/// Step of a shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShutdownStep {
    ServerExit,
    ServerTermination,
    FinalMessages,
}

impl ShutdownDeadline {
    /// Returns the end of the shutdown, at least 50 ms from now. Begins it if it has not begun.
    pub fn deadline(&self) -> Deadline {
        self.begin();
        let remaining = self.remaining_until(SHUTDOWN_TIMEOUT).unwrap_or(SHUTDOWN_TIMEOUT);
        Deadline::after(remaining.max(Duration::from_millis(50)))
    }

    /// Begins the shutdown, unless it has begun.
    pub fn begin(&self) {
        self.begin_at(Instant::now());
    }

    /// Begins the shutdown as of an earlier moment, unless it has begun.
    pub(crate) fn begin_at(&self, since: Instant) {
        let _ = self.0.set(since);
    }

    /// Returns the time left for a step, at most `usual`.
    pub(crate) fn step_timeout(&self, step: ShutdownStep, usual: Duration) -> Duration {
        let limit = match step {
            ShutdownStep::ServerExit => Duration::from_millis(900),
            ShutdownStep::ServerTermination => Duration::from_millis(1300),
            ShutdownStep::FinalMessages => Duration::from_millis(1600),
        };
        self.remaining_until(limit).map_or(usual, |remaining| remaining.min(usual))
    }

    /// Waits until the deadline of the last messages; forever if no shutdown begins.
    pub(crate) async fn wait_until_over(&self) {
        // A shutdown may begin during the wait.
        loop {
            match self.remaining_until(Duration::from_millis(1600)) {
                Some(Duration::ZERO) => return,
                Some(remaining) => sleep(remaining).await,
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn remaining_until(&self, limit: Duration) -> Option<Duration> {
        Some((*self.0.get()? + limit).saturating_duration_since(Instant::now()))
    }
}

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
mod source {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Source([(u8, Signal); 3]);

    impl Source {
        pub(super) fn open() -> io::Result<Self> {
            let stream =
                |number: u8| Ok::<_, io::Error>((number, signal(SignalKind::from_raw(number.into()))?));
            Ok(Self([stream(15)?, stream(2)?, stream(1)?]))
        }

        pub(super) async fn next(&mut self) -> u8 {
            let [(term, terminate), (int, interrupt), (hup, hang_up)] = &mut self.0;
            tokio::select! {
                _ = terminate.recv() => *term,
                _ = interrupt.recv() => *int,
                _ = hang_up.recv() => *hup,
            }
        }
    }
}

#[cfg(not(unix))]
mod source {
    use std::io;

    pub(super) struct Source;

    impl Source {
        pub(super) fn open() -> io::Result<Self> {
            Ok(Self)
        }

        /// Returns 2, the number of SIGINT, after a Ctrl-C.
        pub(super) async fn next(&mut self) -> u8 {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            2
        }
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

    use readable as writable;
}
