//! Starts, signals and watches a child and its descendants; the code differs by platform.
//!
//! On Unix the child leads a process group of its own: `npx`, `uvx` and `sh` start the real server as a
//! grandchild, which only a signal to the group reaches. The group's number is safe to signal as long as its
//! leader has not been reaped, so waiting here does not reap the leader.
//!
//! On Windows the child is in a job object of its own. The system kills the processes of a job when its last handle is
//! closed, so that none outlives this process.

use std::process::{Child, Command};

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
    use std::sync::{Mutex, MutexGuard, PoisonError};

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
        JOBS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
