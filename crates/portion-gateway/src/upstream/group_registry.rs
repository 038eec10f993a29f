//! The process groups of the servers that run, so that none outlives this process.
//!
//! However this process ends, its servers end too. If it ends by itself, each [`Child`](super::stdio::Child) ends its group
//! when it is dropped. If it is ended at once ([`kill_all`]), all groups are killed first. If it is killed, a watchdog
//! does it: a second process that reads from a pipe which groups run, and kills them when the pipe ends.
//!
//! A watchdog is used and not a parent-death signal. That signal is sent when the *thread* ends that started the server,
//! it reaches the server alone and not what the server started (`npx` and `uvx` start the real one), it can only be
//! asked for between fork and exec, which takes `unsafe` or an exec more for each server, and only Linux has it.
//! A process that leaves its group (`setsid`) is out of reach.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::process_group::{kill_group, make_group_leader};

/// How long a watchdog may take to leave.
const WATCHDOG_EXIT_TIMEOUT: Duration = Duration::from_millis(200);

static REGISTRY: Mutex<GroupRegistry> =
    Mutex::new(GroupRegistry { groups: BTreeSet::new(), command: None, watchdog: None });

struct GroupRegistry {
    groups: BTreeSet<u32>,
    /// What starts a watchdog, once there is a group to watch.
    command: Option<Command>,
    watchdog: Option<Watchdog>,
}

struct Watchdog {
    process: Child,
    stdin: ChildStdin,
}

/// Has a watchdog started by this command when the first server is. It must call [`run_watchdog`] with its stdin.
pub fn set_watchdog_command(command: Command) {
    registry().command = Some(command);
}

/// Lets the watchdog go: this process is about to end, and no server runs.
pub fn dismiss_watchdog() {
    let watchdog = registry().watchdog.take();
    if let Some(Watchdog { mut process, stdin: told }) = watchdog {
        drop(told);
        let until = Instant::now() + WATCHDOG_EXIT_TIMEOUT;
        while matches!(process.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Kills every group that runs.
pub fn kill_all() {
    registry().groups.iter().for_each(|group| kill_group(*group));
}

/// The watchdog: keeps account of groups, by what it is told, and kills those that are left when nothing more follows.
pub fn run_watchdog(told: impl Read) {
    remaining_groups(told).into_iter().for_each(kill_group);
}

/// Adds a group that was started.
pub(super) fn register(group: u32) {
    let mut running = registry();
    running.groups.insert(group);
    if let Some(mut command) = running.command.take() {
        running.watchdog = Watchdog::start(&mut command)
            .inspect_err(
                |error| tracing::warn!(%error, "servers would outlive this process if it were killed"),
            )
            .ok();
    }
    running.notify_watchdog('+', group);
}

/// Forgets a group. It must have ended, and its leader must not have been reaped.
pub(super) fn unregister(group: u32) {
    let mut running = registry();
    running.groups.remove(&group);
    running.notify_watchdog('-', group);
}

fn registry() -> MutexGuard<'static, GroupRegistry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remaining_groups(told: impl Read) -> BTreeSet<u32> {
    let mut groups = BTreeSet::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
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
        // Somebody may have killed it: then nobody watches.
        if let Some(Watchdog { stdin: told, .. }) = &mut self.watchdog {
            let _ = writeln!(told, "{sign}{group}").and_then(|()| told.flush());
        }
    }
}

impl Watchdog {
    /// In a group of its own: what is sent to our group must not end it before us. Holds none of our streams open.
    fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        make_group_leader(command);
        let mut process = command.spawn()?;
        let told = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, stdin: told })
    }
}

#[cfg(test)]
mod tests {
    use super::remaining_groups;

    #[test]
    fn groups_that_were_started_and_not_ended_are_left() {
        let check = |told: &str, expect: &[u32]| {
            let left: Vec<u32> = remaining_groups(told.as_bytes()).into_iter().collect();
            assert_eq!(left, expect, "{told}");
        };
        check("", &[]);
        check("+7\n+9\n-7\n", &[9]);
        check("+7\n-7\n+7\n", &[7]);
        check("+7\nnonsense\n-\n+x\n-8\n+12", &[7, 12]);
    }
}
