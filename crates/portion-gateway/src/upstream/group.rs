//! What the platforms do differently about a child and those it started.
//!
//! On Unix the child leads a process group of its own: `npx`, `uvx` and `sh` start the real server as a
//! grandchild, and only a signal to the group reaches that. The group's number is safe to signal as long
//! as its leader has not been reaped, so the wait here leaves the dead leader where it is.

use std::process::{Child, Command};

/// How to end a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Push {
    /// SIGTERM.
    Gentle,
    /// SIGKILL.
    Hard,
}

#[cfg(unix)]
pub(super) use unix::{lead_group, push, wait_unreaped, widen};

#[cfg(not(unix))]
pub(super) use other::{lead_group, push, widen};

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;
    use std::os::unix::process::CommandExt;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::{Child, Command, Push};

    /// Makes what the command starts the leader of a new group.
    pub(in super::super) fn lead_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Ends the child and its group. Must not be called once the child is reaped.
    pub(in super::super) fn push(child: &mut Child, push: Push) {
        let signal = match push {
            Push::Gentle => Signal::TERM,
            Push::Hard => Signal::KILL,
        };
        // An error means that there is nobody left to end.
        let _ = kill_process_group(Pid::from_child(child), signal);
    }

    /// Blocks until the process has ended, and leaves it to be reaped.
    pub(in super::super) fn wait_unreaped(process: u32) {
        let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR) | Ok(None)) {}
    }

    /// Makes a pipe hold `bytes`, where the system has that and allows it.
    pub(in super::super) fn widen(pipe: &impl AsFd, bytes: usize) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = (pipe, bytes);
    }
}

#[cfg(not(unix))]
mod other {
    use super::{Child, Command, Push};

    pub(in super::super) fn lead_group(_: &mut Command) {}

    /// There is no gentle way without a console; its stdin is closed by then.
    pub(in super::super) fn push(child: &mut Child, push: Push) {
        if let Push::Hard = push {
            let _ = child.kill();
        }
    }

    pub(in super::super) fn widen<T>(_: &T, _: usize) {}
}
