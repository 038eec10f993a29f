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

use super::group::{kill_group, lead_group};

/// How long a watchdog may take to leave.
const LEAVING: Duration = Duration::from_millis(200);

static RUNNING: Mutex<Running> =
    Mutex::new(Running { groups: BTreeSet::new(), command: None, watchdog: None });

struct Running {
    groups: BTreeSet<u32>,
    /// What starts a watchdog, once there is a group to watch.
    command: Option<Command>,
    watchdog: Option<Watchdog>,
}

struct Watchdog {
    process: Child,
    told: ChildStdin,
}

/// Has a watchdog started by this command when the first server is. It must call [`watch`] with its stdin.
pub fn watch_by(command: Command) {
    running().command = Some(command);
}

/// Lets the watchdog go: this process is about to end, and no server runs.
pub fn dismiss() {
    let watchdog = running().watchdog.take();
    if let Some(Watchdog { mut process, told }) = watchdog {
        drop(told);
        let until = Instant::now() + LEAVING;
        while matches!(process.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Kills every group that runs.
pub fn kill_all() {
    running().groups.iter().for_each(|group| kill_group(*group));
}

/// The watchdog: keeps account of groups, by what it is told, and kills those that are left when nothing more follows.
pub fn watch(told: impl Read) {
    groups_left(told).into_iter().for_each(kill_group);
}

/// Adds a group that was started.
pub(super) fn started(group: u32) {
    let mut running = running();
    running.groups.insert(group);
    if let Some(mut command) = running.command.take() {
        running.watchdog = Watchdog::start(&mut command)
            .inspect_err(
                |error| tracing::warn!(%error, "servers would outlive this process if it were killed"),
            )
            .ok();
    }
    running.tell('+', group);
}

/// Forgets a group. It must have ended, and its leader must not have been reaped.
pub(super) fn ended(group: u32) {
    let mut running = running();
    running.groups.remove(&group);
    running.tell('-', group);
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn groups_left(told: impl Read) -> BTreeSet<u32> {
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

impl Running {
    fn tell(&mut self, sign: char, group: u32) {
        // Somebody may have killed it: then nobody watches.
        if let Some(Watchdog { told, .. }) = &mut self.watchdog {
            let _ = writeln!(told, "{sign}{group}").and_then(|()| told.flush());
        }
    }
}

impl Watchdog {
    /// In a group of its own: what is sent to our group must not end it before us. Holds none of our streams open.
    fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        lead_group(command);
        let mut process = command.spawn()?;
        let told = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, told })
    }
}

#[cfg(test)]
mod tests {
    use super::groups_left;

    #[test]
    fn groups_that_were_started_and_not_ended_are_left() {
        let check = |told: &str, expect: &[u32]| {
            let left: Vec<u32> = groups_left(told.as_bytes()).into_iter().collect();
            assert_eq!(left, expect, "{told}");
        };
        check("", &[]);
        check("+7\n+9\n-7\n", &[9]);
        check("+7\n-7\n+7\n", &[7]);
        check("+7\nnonsense\n-\n+x\n-8\n+12", &[7, 12]);
    }
}
