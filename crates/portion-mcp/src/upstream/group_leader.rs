//! A server for callers without a runtime: when it is dropped, its process group ends.

use std::io;
use std::process::{Child, Command, ExitStatus};

use super::group_registry;
use super::process_group::{TerminationSignal, adopt, make_group_leader, signal_group};

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
        group_registry::register(child.id());
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
                group_registry::unregister(self.child.id());
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
            group_registry::unregister(self.child.id());
            let _ = self.child.wait();
        }
    }
}
