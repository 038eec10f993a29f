//! An MCP server as a child process.
//!
//! [`Child`] owns the process and everything that it started: whichever way it goes out of scope,
//! nobody of its group is left behind, and nobody of it can hold our pipes open for long.

use std::fmt;
use std::io::{self, Read};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::group_registry;
use super::process_group::{self, TerminationSignal};
pub use super::program::{Program, SpawnError};
use super::stderr::StderrTail;
use crate::frame::FrameReader;

/// Linux lets anybody have this much (`/proc/sys/fs/pipe-max-size`); with it a pipe carries 2.1–3.6 GB/s,
/// with the default 64 KiB 1.2–2.7.
const PIPE_BYTES: usize = 1 << 20;

/// How long a killed process may take to die: only the kernel can hold it up.
const KILL_GRACE: Duration = Duration::from_millis(200);
/// How long those whom a dead server left behind may hold up what it wrote on its stderr last.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// A running server.
pub struct Child {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    output: Option<FrameReader<ServerOutput>>,
    stderr: StderrTail,
    /// By which it is called in error messages.
    name: String,
    #[cfg(unix)]
    exit_watcher: process_group::ExitWatcher,
    is_reaped: Arc<AtomicBool>,
    server_exit: Option<ServerExit>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerExit {
    /// It left by itself, with this code.
    #[error("the server exited with code {0}")]
    Exited(i32),
    /// It was ended by this signal, ours or another's.
    #[error("the server was ended by signal {0}")]
    Signalled(i32),
}

/// What there is to say of a server that has ended.
///
/// It shows as a sentence, and from its second line on as the end of the server's stderr, if there is any.
#[derive(Clone, Debug)]
pub struct ServerFailure {
    name: String,
    server_exit: ServerExit,
    stderr: String,
}

impl Child {
    /// Starts a program as the leader of a group of its own, its stdin and stdout piped, its stderr passed on to ours.
    /// Its messages may have `message_limit` bytes each.
    ///
    /// # Errors
    /// [`SpawnError`] says what to mend.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub fn spawn(program: &Program, message_limit: usize) -> Result<Self, SpawnError> {
        let name = program.label();
        let Program { name: program, args, environment } = program;
        let mut command = Command::new(program);
        command.args(args).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process_group::make_group_leader(&mut command);
        let mut process = command.spawn().map_err(|error| SpawnError::new(program, error))?;
        group_registry::register(process.id());
        let unattended = |process: &mut std::process::Child, error| {
            process_group::signal_group(process, TerminationSignal::Kill);
            group_registry::unregister(process.id());
            SpawnError::Other(program.to_string_lossy().into_owned(), error)
        };
        #[cfg(unix)]
        let exit =
            process_group::ExitWatcher::watch(&process).map_err(|error| unattended(&mut process, error))?;
        let stderr = process.stderr.take().map_or_else(|| Ok(StderrTail::default()), StderrTail::follow);
        let stderr = stderr.map_err(|error| unattended(&mut process, error))?;
        let buried = Arc::new(AtomicBool::new(false));
        let stdin = process.stdin.take().inspect(|pipe| process_group::set_pipe_capacity(pipe, PIPE_BYTES));
        let stdout = process.stdout.take().inspect(|pipe| process_group::set_pipe_capacity(pipe, PIPE_BYTES));
        let output = stdout.map(|pipe| {
            FrameReader::new(
                ServerOutput { pipe, is_reaped: Arc::clone(&buried), remaining_bytes: PIPE_BYTES },
                message_limit,
            )
        });
        Ok(Self {
            #[cfg(unix)]
            exit_watcher: exit,
            process,
            stdin,
            output,
            stderr,
            name,
            is_reaped: buried,
            server_exit: None,
        })
    }

    /// The process id, which is its group's as well.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What the server reads, once: dropping it is its end of input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// What the server says, once.
    pub fn take_output(&mut self) -> Option<FrameReader<ServerOutput>> {
        self.output.take()
    }

    /// Waits until the process has ended; those that it started may still run.
    #[cfg(unix)]
    pub async fn wait_exited(&mut self) {
        self.exit_watcher.wait().await;
    }

    /// Waits until the process has ended; those that it started may still run.
    #[cfg(not(unix))]
    pub async fn wait_exited(&mut self) {
        while let Ok(None) = self.process.try_wait() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks the whole group to end (SIGTERM).
    pub fn terminate(&mut self) {
        self.signal(TerminationSignal::Terminate);
    }

    /// SIGTERM to the group, and after `grace` SIGKILL.
    pub async fn stop(&mut self, grace: Duration) {
        self.terminate();
        if tokio::time::timeout(grace, self.wait_exited()).await.is_err() {
            self.signal(TerminationSignal::Kill);
            let _ = tokio::time::timeout(KILL_GRACE, self.wait_exited()).await;
        }
    }

    /// Kills who is left of the group and reaps the process. From here on its output ends with what
    /// the pipe can hold, even if somebody who left the group goes on writing.
    pub fn reap(&mut self) -> ServerExit {
        if let Some(ended) = self.server_exit {
            return ended;
        }
        self.signal(TerminationSignal::Kill);
        group_registry::unregister(self.process.id());
        self.is_reaped.store(true, Ordering::Release);
        // Not `wait`: a process that the kernel holds up must not hold us up as well.
        let status = self.process.try_wait().ok().flatten();
        let ended = status.map_or(ServerExit::Signalled(9), ServerExit::from);
        self.server_exit = Some(ended);
        ended
    }

    /// Buries it, and says how it ended and what it wrote on its stderr last.
    pub async fn failure(&mut self) -> ServerFailure {
        let ended = self.reap();
        self.stderr.wait_until_read(STDERR_GRACE).await;
        ServerFailure { name: self.name.clone(), server_exit: ended, stderr: self.stderr.lines() }
    }

    /// Closes its stdin if that is still here, waits `grace` for it to leave, asks it to (SIGTERM), waits
    /// `grace` again, and kills it.
    pub async fn shutdown(&mut self, grace: Duration) -> ServerExit {
        self.stdin = None;
        if tokio::time::timeout(grace, self.wait_exited()).await.is_err() {
            self.stop(grace).await;
        }
        self.reap()
    }

    fn signal(&mut self, push: TerminationSignal) {
        // A reaped leader's number may already be somebody else's.
        if self.server_exit.is_none() {
            process_group::signal_group(&mut self.process, push);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

impl ServerFailure {
    /// How the server ended.
    pub fn server_exit(&self) -> ServerExit {
        self.server_exit
    }

    /// The first line: which server it is, and how it ended.
    pub fn sentence(&self) -> String {
        match self.server_exit {
            ServerExit::Exited(code) => format!("the server `{}` exited with code {code}", self.name),
            ServerExit::Signalled(signal) => {
                format!("the server `{}` was ended by signal {signal}", self.name)
            }
        }
    }
}

impl fmt::Display for ServerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        if self.stderr.is_empty() {
            return Ok(());
        }
        write!(f, "\nIts stderr ended with:\n{}", self.stderr)
    }
}

impl ServerExit {
    /// What a shell would report: the code itself, or 128 and the signal's number.
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

/// The server's stdout. It ends when nobody holds its other end, or when the server is buried and
/// everything that it can have written has been read.
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
        let room = self.remaining_bytes.min(buf.len());
        let read = self.pipe.read(&mut buf[..room])?;
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
            // It is ready once it has spoken.
            child.take_output().expect("once").next().expect("a message").expect("no error");
            child.shutdown(GRACE).await
        })
    }

    #[test]
    fn shutdown_asks_before_it_kills() {
        assert_eq!(shutdown("echo 1; cat; exit 3"), ServerExit::Exited(3));
        assert_eq!(shutdown("echo 1; exec sleep 100"), ServerExit::Signalled(15));
        assert_eq!(shutdown("trap '' TERM; echo 1; while :; do sleep 100; done"), ServerExit::Signalled(9));
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        let codes = [
            ServerExit::Exited(0),
            ServerExit::Exited(255),
            ServerExit::Signalled(15),
            ServerExit::Exited(-1),
        ];
        assert_eq!(codes.map(ServerExit::exit_code), [0, 255, 143, 1]);
    }

    #[test]
    fn a_script_without_interpreter_is_told_from_a_missing_one() {
        let script = std::env::temp_dir().join(format!("portion-no-interpreter-{}", std::process::id()));
        std::fs::write(&script, "#!/no/such/interpreter\n").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("ours");
        let error = Child::spawn(&Program::new(&script, [""; 0]), 1024).err();
        std::fs::remove_file(&script).expect("ours");
        assert!(matches!(error, Some(SpawnError::NoInterpreter(_))), "{error:?}");
    }
}
