//! The end of the stderr of a server, for errors.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Lines that are kept.
const MAX_LINES: usize = 8;
/// Longest wait for the end of stderr: descendants of the server may hold the pipe open.
const GRACE: Duration = Duration::from_millis(500);

/// The last lines of a stderr that is read in a thread.
#[derive(Debug)]
pub(super) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    ended: Receiver<()>,
}

impl StderrTail {
    pub(super) fn follow(stderr: ChildStderr) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (end, ended) = channel();
        let kept = Arc::clone(&lines);
        thread::spawn(move || {
            let _end = end;
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(line);
                if lines.len() > MAX_LINES {
                    lines.pop_front();
                }
            }
        });
        Self { lines, ended }
    }

    /// Returns the last lines, after a short wait for the end.
    pub(super) fn text(&self) -> String {
        let _ = self.ended.recv_timeout(GRACE);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>().join("\n")
    }
}
