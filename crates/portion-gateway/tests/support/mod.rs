//! Runs the example relay around a real server and plays its client.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Far beyond what anything here takes, even on a busy machine: reaching it means a hang.
const HANG: Duration = Duration::from_mins(1);

/// A client, the relay that it started, and the server behind that.
pub(crate) struct Client {
    pub(crate) relay: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<BufReader<ChildStdout>>,
}

impl Client {
    /// Around `sh -c SCRIPT`.
    pub(crate) fn around(script: &str) -> Self {
        Self::with(&["sh", "-c", script])
    }

    /// Around `python3 -c SCRIPT`, with a message limit of 8 MiB.
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

    /// The next message, with its newline; empty at the end.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().expect("still open").read_line(&mut line).expect("UTF-8");
        line
    }

    /// The server's group, if the server's first message is nothing but its process id.
    pub(crate) fn group(&mut self) -> u32 {
        self.hear().trim().parse().expect("a process id")
    }

    /// All that comes until the end.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.stdout.as_mut().expect("still open").lines().map(|line| line.expect("UTF-8")).collect()
    }

    /// Closes stdin, hears what still comes, and waits for the exit code.
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

    /// The most memory that the relay ever had, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.relay.id())).expect("it runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
        peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After a failed assertion.
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// The example relay, which cargo builds next to the tests.
pub(crate) fn command() -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let mut path: PathBuf = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").into();
    path.push("examples/pass_through");
    assert!(path.exists(), "build the example first: cargo build -p portion-gateway --example pass_through");
    Command::new(path)
}

/// Waits until nobody of the group is alive.
pub(crate) fn assert_gone(group: u32) {
    wait_until("the group ends", || !alive(group));
}

/// Whether anybody of the group lives; one who is dead and not yet reaped does not.
fn alive(group: u32) -> bool {
    std::fs::read_dir("/proc").expect("Linux").flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // PID (NAME) STATE PARENT GROUP …, and a name may hold anything.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next().unwrap_or("Z");
        state != "Z" && fields.nth(1) == Some(&group.to_string())
    })
}

pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < HANG, "hangs: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
