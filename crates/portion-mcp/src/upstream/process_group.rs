//! Starts, signals and watches a child and its descendants; the code differs by platform.
//!
//! On Unix the child leads a process group of its own: `npx`, `uvx` and `sh` start the real server as a
//! grandchild, which only a signal to the group reaches. The group's number is safe to signal as long as its
//! leader has not been reaped, so waiting here does not reap the leader.
//!
//! On Windows the child is in a job object of its own. The system kills the processes of a job when its last handle is
//! closed, so that none outlives this process.
//!
//! No group outlives this process: a registry has the groups of running servers. A server ends with this process, in each of three
//! cases. Normal end: each [`Child`](super::stdio::Child) ends its group when it is dropped. Immediate exit: [`kill_all`] kills all
//! groups first. This process is killed: a watchdog, which is a second process, reads the running groups from a pipe and kills them
//! when the pipe ends.
//!
//! A parent-death signal would not do. It is sent when the *thread* ends that started the server; it reaches the server
//! only, not the processes that the server started (`npx` and `uvx` start the real server); it can only be requested
//! between fork and exec, which takes `unsafe` or a second exec per server; and only Linux has it.
//! A process that leaves its group (`setsid`) is not ended.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use parking_lot::{Mutex, MutexGuard};

/// Signal that ends a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum TerminationSignal {
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

#[cfg(unix)]
pub(super) use unix::{ExitWatcher, adopt, kill_group, make_group_leader, set_pipe_capacity, signal_group};

#[cfg(windows)]
pub(super) use windows::{adopt, kill_group, make_group_leader, set_pipe_capacity, signal_group};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::process::CommandExt;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

    use super::{Child, Command, TerminationSignal};

    /// Waits for the exit of a process without reaping it. It uses no thread, because there can be many servers.
    pub(in super::super) struct ExitWatcher {
        pid: Option<Pid>,
        /// SIGCHLD, of any child.
        child_signals: Signals,
    }

    impl ExitWatcher {
        pub(in super::super) fn watch(child: &Child) -> io::Result<Self> {
            Ok(Self { pid: Some(Pid::from_child(child)), child_signals: signal(SignalKind::child())? })
        }

        pub(in super::super) async fn wait(&mut self) {
            while let Some(pid) = self.pid {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
                match waitid(WaitId::Pid(pid), options) {
                    Ok(None) | Err(rustix::io::Errno::INTR) => drop(self.child_signals.recv().await),
                    // An error means that there is no such child to wait for.
                    Ok(Some(_)) | Err(_) => self.pid = None,
                }
            }
        }
    }

    /// Makes the started process the leader of a new group.
    pub(in super::super) fn make_group_leader(command: &mut Command) {
        command.process_group(0);
    }

    /// Does nothing: the child has led its group from its start.
    pub(in super::super) fn adopt(_: &Child) {}

    /// Sends a signal to the child and its group. Must not be called once the child is reaped.
    pub(in super::super) fn signal_group(child: &mut Child, signal: TerminationSignal) {
        let signal = match signal {
            TerminationSignal::Terminate => Signal::TERM,
            TerminationSignal::Kill => Signal::KILL,
        };
        // An error means that no process of the group is left.
        let _ = kill_process_group(Pid::from_child(child), signal);
    }

    /// Kills the group of this number, which must not have been reused.
    pub(in super::super) fn kill_group(group: u32) {
        if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Sets the capacity of a pipe, where the system supports and allows it.
    pub(in super::super) fn set_pipe_capacity(pipe: &impl AsFd, bytes: usize) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = (pipe, bytes);
    }
}

#[cfg(windows)]
mod windows {
    use std::collections::BTreeMap;
    use std::os::windows::io::AsRawHandle as _;

    use parking_lot::{Mutex, MutexGuard};
    use win32job::{ExtendedLimitInfo, Job};

    use super::{Child, Command, TerminationSignal};

    /// The jobs of running children, by process id.
    static JOBS: Mutex<BTreeMap<u32, Job>> = Mutex::new(BTreeMap::new());

    pub(in super::super) fn make_group_leader(_: &mut Command) {}

    /// Puts a child that was just started into a job of its own; processes that it starts from now on belong to it, too. If
    /// the system refuses, only the child itself can be killed.
    pub(in super::super) fn adopt(child: &Child) {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        if let Ok(job) = Job::create_with_limit_info(&limits)
            && job.assign_process(child.as_raw_handle() as isize).is_ok()
        {
            jobs().insert(child.id(), job);
        }
    }

    /// Kills the child and its job, and ignores `Terminate`: there is no such signal without a console. Its stdin is
    /// closed by then.
    pub(in super::super) fn signal_group(child: &mut Child, signal: TerminationSignal) {
        if let TerminationSignal::Kill = signal {
            let _ = child.kill();
            kill_group(child.id());
        }
    }

    /// Kills the job of this process id by closing it.
    pub(in super::super) fn kill_group(group: u32) {
        drop(jobs().remove(&group));
    }

    pub(in super::super) fn set_pipe_capacity<T>(_: &T, _: usize) {}

    fn jobs() -> MutexGuard<'static, BTreeMap<u32, Job>> {
        JOBS.lock()
    }
}

/// Longest wait for a dismissed watchdog to exit.
const WATCHDOG_EXIT_TIMEOUT: Duration = Duration::from_millis(200);

static REGISTRY: Mutex<GroupRegistry> =
    Mutex::new(GroupRegistry { groups: BTreeSet::new(), command: None, watchdog: None });

struct GroupRegistry {
    groups: BTreeSet<u32>,
    /// Starts the watchdog, when the first group is registered.
    command: Option<Command>,
    watchdog: Option<Watchdog>,
}

struct Watchdog {
    process: Child,
    stdin: ChildStdin,
}

/// Sets the command that starts the watchdog along with the first server. It must call [`run_watchdog`] with its stdin.
pub fn set_watchdog_command(command: Command) {
    registry().command = Some(command);
}

/// Ends the watchdog: this process is about to exit, and no server runs.
pub fn dismiss_watchdog() {
    let watchdog = registry().watchdog.take();
    if let Some(Watchdog { mut process, stdin }) = watchdog {
        drop(stdin);
        let deadline = Instant::now() + WATCHDOG_EXIT_TIMEOUT;
        while matches!(process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Kills all running groups.
pub fn kill_all() {
    registry().groups.iter().for_each(|group| kill_group(*group));
}

/// Runs the watchdog: tracks groups by the lines of `input`, and kills the remaining ones when `input` ends.
pub fn run_watchdog(input: impl Read) {
    remaining_groups(input).into_iter().for_each(kill_group);
}

/// Adds a group that was started.
pub(super) fn register(group: u32) {
    let mut running = registry();
    running.groups.insert(group);
    if let Some(mut command) = running.command.take() {
        running.watchdog = Watchdog::start(&mut command)
            .inspect_err(
                |error| tracing::warn!(%error, "the watchdog did not start: servers keep running if this process is killed"),
            )
            .ok();
    }
    running.notify_watchdog('+', group);
}

/// Removes a group. It must have ended, and its leader must not have been reaped.
pub(super) fn unregister(group: u32) {
    let mut running = registry();
    running.groups.remove(&group);
    running.notify_watchdog('-', group);
}

/// A process that leads a group of its own.
#[derive(Debug)]
pub struct GroupLeader {
    child: Child,
    exit_status: Option<ExitStatus>,
}

impl GroupLeader {
    /// Starts a process as the leader of a new group.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        make_group_leader(command);
        let child = command.spawn()?;
        adopt(&child);
        register(child.id());
        Ok(Self { child, exit_status: None })
    }

    /// Returns the process, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns the exit status, if the process has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.exit_status.is_none() {
            self.exit_status = self.child.try_wait().ok().flatten();
            if self.exit_status.is_some() {
                unregister(self.child.id());
            }
        }
        self.exit_status
    }
}

impl Drop for GroupLeader {
    fn drop(&mut self) {
        // The number of a reaped leader may already belong to another process.
        if self.exit_status.is_none() {
            signal_group(&mut self.child, TerminationSignal::Kill);
            unregister(self.child.id());
            let _ = self.child.wait();
        }
    }
}

fn registry() -> MutexGuard<'static, GroupRegistry> {
    REGISTRY.lock()
}

fn remaining_groups(input: impl Read) -> BTreeSet<u32> {
    let mut groups = BTreeSet::new();
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        if let Some(group) = line.strip_prefix('+').and_then(|group| group.parse().ok()) {
            groups.insert(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(|group| group.parse().ok()) {
            groups.remove(&group);
        }
    }
    groups
}

impl GroupRegistry {
    fn notify_watchdog(&mut self, sign: char, group: u32) {
        // A write fails if the watchdog was killed; then groups are not watched.
        if let Some(Watchdog { stdin, .. }) = &mut self.watchdog {
            let _ = writeln!(stdin, "{sign}{group}").and_then(|()| stdin.flush());
        }
    }
}

impl Watchdog {
    /// Starts it in its own group: a signal to our group must not end it before us. It holds none of our streams open.
    fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        make_group_leader(command);
        let mut process = command.spawn()?;
        let stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, stdin })
    }
}

#[cfg(test)]
mod group_registry_tests {
    use super::remaining_groups;

    #[test]
    fn started_groups_that_have_not_ended_remain() {
        let check = |input: &str, expect: &[u32]| {
            let remaining: Vec<u32> = remaining_groups(input.as_bytes()).into_iter().collect();
            assert_eq!(remaining, expect, "{input}");
        };
        check("", &[]);
        check("+7\n+9\n-7\n", &[9]);
        check("+7\n-7\n+7\n", &[7]);
        check("+7\nnonsense\n-\n+x\n-8\n+12", &[7, 12]);
    }
}
