//! Runs the example relay around a real server and plays its client.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::waiting::wait_until;

/// A client, the relay that it started, and the server behind the relay.
pub(crate) struct Client {
    pub(crate) relay: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<BufReader<ChildStdout>>,
}

impl Client {
    /// Starts a relay around `sh -c SCRIPT`.
    pub(crate) fn around(script: &str) -> Self {
        Self::with(&["sh", "-c", script])
    }

    /// Starts a relay around `python3 -c SCRIPT`, with a message limit of 8 MiB.
    pub(crate) fn around_python(script: &str) -> Self {
        Self::with(&["--limit", "8388608", "python3", "-c", script])
    }

    pub(crate) fn with(args: &[&str]) -> Self {
        let mut relay =
            command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
        Self { stdin: relay.stdin.take(), stdout: relay.stdout.take().map(BufReader::new), relay }
    }

    /// Sends one message.
    pub(crate) fn say(&mut self, message: &str) {
        let stdin = self.stdin.as_mut().expect("still open");
        stdin.write_all(format!("{message}\n").as_bytes()).expect("the relay reads");
    }

    /// Returns the next message, with its newline; empty at the end.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().expect("still open").read_line(&mut line).expect("UTF-8");
        line
    }

    /// Returns the server's process group, if its first message is its process id.
    pub(crate) fn group(&mut self) -> u32 {
        self.hear().trim().parse().expect("a process id")
    }

    /// Returns all remaining messages.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.stdout.as_mut().expect("still open").lines().map(|line| line.expect("UTF-8")).collect()
    }

    /// Closes stdin, and returns the remaining messages and the exit code.
    pub(crate) fn leave(mut self) -> (Vec<String>, i32) {
        self.stdin = None;
        let rest = self.rest();
        (rest, self.code())
    }

    /// Waits for the exit code.
    pub(crate) fn code(&mut self) -> i32 {
        let mut status = None;
        wait_until("the relay ends", || {
            status = self.relay.try_wait().expect("ours to wait for");
            status.is_some()
        });
        status.and_then(|status| status.code()).expect("it never dies of a signal")
    }

    /// Returns the peak memory of the relay, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.relay.id())).expect("it runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
        peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Needed after a failed assertion.
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// Returns the example relay, which cargo builds next to the tests.
pub(crate) fn command() -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let mut path: PathBuf = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").into();
    path.push("examples/pass_through");
    assert!(path.exists(), "build the example first: cargo build -p portion-mcp --example pass_through");
    Command::new(path)
}

/// Waits until no process of the group is alive.
pub(crate) fn assert_gone(group: u32) {
    wait_until("the group ends", || !alive(group));
}

/// Returns true if a process of the group is alive; zombies do not count.
fn alive(group: u32) -> bool {
    std::fs::read_dir("/proc").expect("Linux").flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // PID (NAME) STATE PARENT GROUP …; the name may contain any characters.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next().unwrap_or("Z");
        state != "Z" && fields.nth(1) == Some(&group.to_string())
    })
}
