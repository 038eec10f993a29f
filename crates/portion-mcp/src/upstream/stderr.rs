//! Reads the stderr of a server, copies it, and keeps its last lines for error messages.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use portion_text::display::is_printable;
use tokio::time::timeout;

use crate::once::OneShotFlag;

/// Bytes kept of the end, and lines shown of that. They are sent to the client, so both are small.
const MAX_TAIL_BYTES: usize = 2 << 10;
const MAX_TAIL_LINES: usize = 20;
/// Error of Node.js for a package that lacks files.
const MISSING_MODULE: &str = "ERR_MODULE_NOT_FOUND";
/// Directory of packages that `npx` has installed.
const NPX_DIRECTORY: &str = "/_npx/";
/// Stack of a copying thread.
const STACK_BYTES: usize = 128 << 10;

/// Last bytes that a server has written to its stderr.
#[derive(Clone, Debug, Default)]
pub struct StderrTail(Arc<TailShared>);

/// Last lines of a server's stderr, without control characters; empty if nothing was written.
///
/// Displays as the end of an error message: a heading and the lines, each on a line of its own. Displays as nothing if it
/// is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StderrLines(String);

impl fmt::Display for StderrLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "\nIts stderr ended with:\n{}", self.0) }
    }
}

impl StderrLines {
    /// Returns the cause of the failure and the command that mends it, if they are known.
    pub fn cause(&self) -> Option<String> {
        remedy(&self.0).map(|command| format!("Its package is installed incompletely: {command}"))
    }
}

#[derive(Debug, Default)]
struct TailShared {
    buffer: Mutex<VecDeque<u8>>,
    /// Set at the end of the pipe: no process can write to it any more.
    ended: OneShotFlag,
}

impl StderrTail {
    /// Copies a server's stderr to `to`, on a thread of its own.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn follow(stderr: impl Read + Send + 'static, to: impl Write + Send + 'static) -> io::Result<Self> {
        let tail = Self::default();
        let copied = tail.clone();
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            copied.copy(stderr, to);
            copied.0.ended.set();
        })?;
        Ok(tail)
    }

    /// Returns true if stderr has been read to its end.
    pub fn is_read(&self) -> bool {
        self.0.ended.is_set()
    }

    /// Waits until stderr has been read to its end, at most `limit`: other processes may hold it open.
    pub(super) async fn wait_until_read(&self, limit: Duration) {
        let _ = timeout(limit, self.0.ended.wait()).await;
    }

    /// Returns the last lines that were written.
    pub fn lines(&self) -> StderrLines {
        let kept: Vec<u8> = {
            let kept = self.0.buffer.lock();
            kept.iter().copied().collect()
        };
        StderrLines(last_lines(&String::from_utf8_lossy(&kept)))
    }

    /// Copies until `from` ends, and ends its last line, because other lines follow. Keeps reading if `to` fails: a server must not
    /// block on a full pipe.
    fn copy(&self, mut from: impl Read, mut to: impl Write) {
        let mut buffer = [0; 4096];
        loop {
            let read = match from.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let _ = to.write_all(&buffer[..read]);
            let mut kept = self.0.buffer.lock();
            kept.extend(&buffer[..read]);
            let excess = kept.len().saturating_sub(MAX_TAIL_BYTES);
            kept.drain(..excess);
        }
        let kept = self.0.buffer.lock();
        if kept.back().is_some_and(|last| *last != b'\n') {
            let _ = to.write_all(b"\n");
        }
    }
}

/// Returns the command that mends an incomplete installation, by the stderr of the server.
pub fn remedy(stderr: &str) -> Option<String> {
    let place = stderr.contains(MISSING_MODULE).then(|| stderr.replace('\\', "/"))?;
    let (before, after) = place.split_once(NPX_DIRECTORY)?;
    let start =
        before.rfind(|char: char| char.is_whitespace() || "'\"(".contains(char)).map_or(0, |at| at + 1);
    let root = before[start..].trim_start_matches("file://");
    let hash: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    let remove = if cfg!(windows) { "rmdir /s /q" } else { "rm -rf" };
    Some(format!("{remove} {root}{NPX_DIRECTORY}{hash}"))
}

fn last_lines(text: &str) -> String {
    let plain = strip_controls(text);
    let lines: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(MAX_TAIL_LINES)..].join("\n")
}

/// Removes terminal escape sequences, and what is not printable except line ends and tabs.
fn strip_controls(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.next_if_eq(&'[').is_some() {
            // The sequence ends at its final byte (ECMA-48, 5.4).
            while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {}
        } else if is_printable(c) || matches!(c, '\n' | '\t') {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{MAX_TAIL_BYTES, MAX_TAIL_LINES, StderrLines, StderrTail, last_lines, remedy};

    #[test]
    fn last_lines_are_plain_and_few() {
        let check = |text: &str, expect: &str| assert_eq!(last_lines(text), expect, "{text:?}");
        check("", "");
        check("\n \n", "");
        check("boom\n", "boom");
        check("a\r\nb", "a\nb");
        check("\u{1b}[1;31merror\u{1b}[0m: \u{7}no\tport\n", "error: no\tport");
        check("cut \u{1b}[1;3", "cut");
        check("a\u{202e}b\u{2066}c", "abc");
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        check(&many.join("\n"), &many[100 - MAX_TAIL_LINES..].join("\n"));
    }

    #[test]
    fn an_incomplete_installation_has_a_remedy() {
        let error = "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/a/.npm/_npx/0a1b2c/node_modules/x/y.js' imported from";
        assert_eq!(remedy(error).as_deref(), Some("rm -rf /home/a/.npm/_npx/0a1b2c"));
        let cause = StderrLines(error.into()).cause();
        assert!(cause.is_some_and(|cause| cause.ends_with("incompletely: rm -rf /home/a/.npm/_npx/0a1b2c")));
        assert_eq!(remedy("Cannot find module '/home/a/.npm/_npx/0a/x'"), None);
        assert_eq!(remedy("ERR_MODULE_NOT_FOUND: /srv/app/x.js"), None);
    }

    #[test]
    fn all_is_copied_and_the_last_lines_are_kept() {
        let (tail, mut passed) = (StderrTail::default(), Vec::new());
        let written = "0123456789\n".repeat(MAX_TAIL_BYTES);
        tail.copy(written.as_bytes(), &mut passed);
        assert_eq!(passed, written.as_bytes());
        assert_eq!(tail.lines().0.lines().count(), MAX_TAIL_LINES);
        tail.copy([b'x'; 3 * MAX_TAIL_BYTES].as_slice(), &mut passed);
        assert_eq!(tail.lines().0.len(), MAX_TAIL_BYTES);
    }

    #[test]
    fn lines_are_shown_under_a_heading() {
        assert_eq!(StderrLines("boom".into()).to_string(), "\nIts stderr ended with:\nboom");
        assert_eq!(StderrLines::default().to_string(), "");
    }

    #[test]
    fn the_last_line_is_ended() {
        let check = |written: &str, expect: &str| {
            let mut passed = Vec::new();
            StderrTail::default().copy(written.as_bytes(), &mut passed);
            assert_eq!(String::from_utf8_lossy(&passed), expect);
        };
        check("", "");
        check("boom", "boom\n");
        check("a\nboom\n", "a\nboom\n");
    }
}
