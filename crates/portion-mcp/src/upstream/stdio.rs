//! Runs an MCP server as a child process.
//!
//! [`Child`] owns the process and its descendants: when it goes out of scope, no process of its group remains, and
//! no descendant can hold our pipes open for long.

use std::fmt;
use std::io::{self, Read};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::process_group::{self, TerminationSignal};
pub use super::{Program, SpawnError};
use super::{StderrLines, StderrTail};
use crate::frame::FrameReader;

/// Capacity of stdin and stdout. Linux allows this much without privileges (`/proc/sys/fs/pipe-max-size`);
/// with it a pipe carries 2.1–3.6 GB/s, with the default 64 KiB 1.2–2.7.
const PIPE_BYTES: usize = 1 << 20;

/// Longest wait for a killed process to end: only the kernel can delay it.
const KILL_GRACE: Duration = Duration::from_millis(200);
/// Longest wait for the end of stderr after the server has ended: its descendants may hold the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// A running server process.
pub struct Child {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    output: Option<FrameReader<ServerOutput>>,
    stderr: StderrTail,
    /// Name in error messages.
    name: String,
    #[cfg(unix)]
    exit_watcher: process_group::ExitWatcher,
    is_reaped: Arc<AtomicBool>,
    server_exit: Option<ServerExit>,
}

/// Exit status of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerExit {
    /// Exited by itself, with this code.
    #[error("the server exited with code {0}")]
    Exited(i32),
    /// Ended by this signal, sent by us or by another process.
    #[error("the server was killed by signal {0}")]
    Signalled(i32),
}

/// Description of the end of a server, for error messages.
///
/// Displays as one sentence, followed by the last lines of the server's stderr, if there are any.
#[derive(Clone, Debug)]
pub struct ServerFailure {
    name: String,
    /// The exit status.
    pub server_exit: ServerExit,
    /// The last lines of the server's stderr.
    pub stderr: StderrLines,
}

impl Child {
    /// Starts a program as the leader of its own process group. Its stdin and stdout are piped, its stderr is copied to
    /// ours. A message may have at most `message_limit` bytes.
    ///
    /// # Errors
    /// Returns [`SpawnError`] if the program cannot be started.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with IO enabled.
    pub fn spawn(program: &Program, message_limit: usize) -> Result<Self, SpawnError> {
        let name = program.label();
        let executable = program.executable();
        let Program { name: program, args, environment, withheld } = program;
        let mut command = Command::new(executable);
        withheld.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.args(args).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process_group::make_group_leader(&mut command);
        let mut process = command.spawn().map_err(|error| SpawnError::new(program, error))?;
        process_group::adopt(&process);
        process_group::register(process.id());
        let abort = |process: &mut std::process::Child, error| {
            process_group::signal_group(process, TerminationSignal::Kill);
            process_group::unregister(process.id());
            SpawnError::Other(program.to_string_lossy().into_owned(), error)
        };
        #[cfg(unix)]
        let exit_watcher =
            process_group::ExitWatcher::watch(&process).map_err(|error| abort(&mut process, error))?;
        let stderr = process.stderr.take().map(|pipe| StderrTail::follow(pipe, io::stderr()));
        let stderr =
            stderr.transpose().map(Option::unwrap_or_default).map_err(|error| abort(&mut process, error))?;
        let is_reaped = Arc::new(AtomicBool::new(false));
        let stdin = process.stdin.take().inspect(|pipe| process_group::set_pipe_capacity(pipe, PIPE_BYTES));
        let stdout = process.stdout.take().inspect(|pipe| process_group::set_pipe_capacity(pipe, PIPE_BYTES));
        let output = stdout.map(|pipe| {
            FrameReader::new(
                ServerOutput { pipe, is_reaped: Arc::clone(&is_reaped), remaining_bytes: PIPE_BYTES },
                message_limit,
            )
        });
        Ok(Self {
            #[cfg(unix)]
            exit_watcher,
            process,
            stdin,
            output,
            stderr,
            name,
            is_reaped,
            server_exit: None,
        })
    }

    /// Returns the process id, which is also the id of its group.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Takes the server's stdin; `None` after the first call. Dropping it ends the server's input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Takes the reader of the server's stdout; `None` after the first call.
    pub fn take_output(&mut self) -> Option<FrameReader<ServerOutput>> {
        self.output.take()
    }

    /// Waits until the process has ended; its descendants may still run.
    #[cfg(unix)]
    pub async fn wait_exited(&mut self) {
        self.exit_watcher.wait().await;
    }

    /// Waits until the process has ended; its descendants may still run.
    #[cfg(not(unix))]
    pub async fn wait_exited(&mut self) {
        while let Ok(None) = self.process.try_wait() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM to the whole group.
    pub fn terminate(&mut self) {
        self.signal(TerminationSignal::Terminate);
    }

    /// Sends SIGTERM to the group, and SIGKILL after `grace`.
    pub async fn stop(&mut self, grace: Duration) {
        self.terminate();
        if tokio::time::timeout(grace, self.wait_exited()).await.is_err() {
            self.signal(TerminationSignal::Kill);
            let _ = tokio::time::timeout(KILL_GRACE, self.wait_exited()).await;
        }
    }

    /// Kills the rest of the group and reaps the process. From then on at most one pipe capacity of output is read,
    /// even if a process that left the group keeps writing.
    pub fn reap(&mut self) -> ServerExit {
        if let Some(server_exit) = self.server_exit {
            return server_exit;
        }
        self.signal(TerminationSignal::Kill);
        process_group::unregister(self.process.id());
        self.is_reaped.store(true, Ordering::Release);
        // Not `wait`: a process that the kernel delays must not block us.
        let status = self.process.try_wait().ok().flatten();
        let server_exit = status.map_or(ServerExit::Signalled(9), ServerExit::from);
        self.server_exit = Some(server_exit);
        server_exit
    }

    /// Reaps the process and returns its exit status and the last lines of its stderr.
    pub async fn failure(&mut self) -> ServerFailure {
        let server_exit = self.reap();
        self.stderr.wait_until_read(STDERR_GRACE).await;
        ServerFailure { name: self.name.clone(), server_exit, stderr: self.stderr.lines() }
    }

    /// Closes stdin if it was not taken, waits `grace` for an exit, sends SIGTERM, waits `grace` again, and sends
    /// SIGKILL.
    pub async fn shutdown(&mut self, grace: Duration) -> ServerExit {
        self.stdin = None;
        if tokio::time::timeout(grace, self.wait_exited()).await.is_err() {
            self.stop(grace).await;
        }
        self.reap()
    }

    fn signal(&mut self, signal: TerminationSignal) {
        // The number of a reaped leader may already belong to another process.
        if self.server_exit.is_none() {
            process_group::signal_group(&mut self.process, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

impl ServerFailure {
    /// Returns the server's name and its exit status, and on a second line the cause if it is known.
    pub fn sentence(&self) -> String {
        let cause = self.stderr.cause().map(|cause| format!("\n{cause}")).unwrap_or_default();
        match self.server_exit {
            ServerExit::Exited(code) => format!("the server `{}` exited with code {code}{cause}", self.name),
            ServerExit::Signalled(signal) => {
                format!("the server `{}` was killed by signal {signal}{cause}", self.name)
            }
        }
    }
}

impl fmt::Display for ServerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.sentence(), self.stderr)
    }
}

impl ServerExit {
    /// Returns the code that a shell would report: the exit code, or 128 plus the number of the signal.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => u8::try_from(code).unwrap_or(1),
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(1),
        }
    }
}

impl From<ExitStatus> for ServerExit {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signalled(signal);
        }
        Self::Exited(status.code().unwrap_or(1))
    }
}

/// The server's stdout. It ends when its other end is closed, or when the server is reaped and everything that it
/// can have written has been read.
pub struct ServerOutput {
    pipe: ChildStdout,
    is_reaped: Arc<AtomicBool>,
    remaining_bytes: usize,
}

impl Read for ServerOutput {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.is_reaped.load(Ordering::Acquire) {
            return self.pipe.read(buf);
        }
        let limit = self.remaining_bytes.min(buf.len());
        let read = self.pipe.read(&mut buf[..limit])?;
        self.remaining_bytes -= read;
        Ok(read)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(1);

    fn shutdown(script: &str) -> ServerExit {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut child = Child::spawn(&Program::new("sh", ["-c", script]), 1024).expect("starts");
            // The first message shows that the script runs.
            child.take_output().expect("once").next().expect("a message").expect("no error");
            child.shutdown(GRACE).await
        })
    }

    #[test]
    fn shutdown_terminates_before_it_kills() {
        assert_eq!(shutdown("echo 1; cat; exit 3"), ServerExit::Exited(3));
        assert_eq!(shutdown("echo 1; exec sleep 100"), ServerExit::Signalled(15));
        assert_eq!(shutdown("trap '' TERM; echo 1; while :; do sleep 100; done"), ServerExit::Signalled(9));
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let codes = [
            ServerExit::Exited(0),
            ServerExit::Exited(255),
            ServerExit::Signalled(15),
            ServerExit::Exited(-1),
        ];
        assert_eq!(codes.map(ServerExit::exit_code), [0, 255, 143, 1]);
    }

    #[test]
    fn a_missing_interpreter_is_not_a_missing_program() {
        let script = std::env::temp_dir().join(format!("portion-no-interpreter-{}", std::process::id()));
        std::fs::write(&script, "#!/no/such/interpreter\n").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("ours");
        let error = Child::spawn(&Program::new(&script, [""; 0]), 1024).err();
        std::fs::remove_file(&script).expect("ours");
        assert!(matches!(error, Some(SpawnError::NoInterpreter(_))), "{error:?}");
    }
}
