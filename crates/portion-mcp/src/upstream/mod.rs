//! Connections to MCP servers: child processes and HTTP. The program that runs a server, the errors of starting
//! it, and its stderr, which is copied and whose last lines are kept for error messages.

pub mod http;
pub mod link;
pub mod process_group;
pub mod stdio;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use parking_lot::Mutex;
use portion_text::display::is_printable;
use tokio::time::timeout;

use crate::once::OneShotFlag;

/// Programs that start the program named by their first argument, and options that may precede that argument.
const LAUNCHERS: &[&str] = &["bun", "bunx", "deno", "node", "npx", "pipx", "python", "python3", "uvx"];

const LAUNCHER_OPTIONS: &[&str] = &["-m", "-y", "--yes", "run", "x"];

/// Bytes kept of the end, and lines shown of that. They are sent to the client, so both are small.
const MAX_TAIL_BYTES: usize = 2 << 10;

const MAX_TAIL_LINES: usize = 20;

/// Error of Node.js for a package that lacks files.
const MISSING_MODULE: &str = "ERR_MODULE_NOT_FOUND";

/// Directory of packages that `npx` has installed.
const NPX_DIRECTORY: &str = "/_npx/";

/// Stack of a copying thread.
const STACK_BYTES: usize = 128 << 10;

/// Program of a server, with arguments and environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Name or path.
    pub name: OsString,
    /// Arguments.
    pub args: Vec<OsString>,
    /// Variables set in addition to our environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables of ours that it does not get.
    pub withheld: Vec<OsString>,
}

impl Program {
    /// Creates a program with these arguments, in our environment.
    pub fn new<A: Into<OsString>>(name: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { name: name.into(), args, ..Self::default() }
    }

    /// The same without a variable of our environment. One that it is given itself stays.
    #[must_use]
    pub fn without_variable(mut self, name: impl Into<OsString>) -> Self {
        self.withheld.push(name.into());
        self
    }

    /// Checks that the program exists and is executable, before it is started. It may still fail to start.
    ///
    /// # Errors
    /// Returns [`SpawnError`] if it does not exist, is not executable, or is a script without its interpreter.
    pub fn look_up(&self) -> Result<(), SpawnError> {
        let missing = |kind: io::ErrorKind| Err(SpawnError::new(&self.name, kind.into()));
        let path = Path::new(&self.name);
        let found = if path.components().count() > 1 {
            match path.metadata() {
                Ok(file) if is_executable(&file) => path.to_owned(),
                Ok(_) => return missing(io::ErrorKind::PermissionDenied),
                Err(error) => return missing(error.kind()),
            }
        } else {
            let Some(places) = self.search_path() else { return Ok(()) };
            let Some(found) = self.find_in(&places) else { return missing(io::ErrorKind::NotFound) };
            found
        };
        if interpreter(&found).is_some_and(|interpreter| !interpreter.exists()) {
            return Err(SpawnError::NoInterpreter(self.name.to_string_lossy().into_owned()));
        }
        Ok(())
    }

    /// Returns the name or path to start.
    ///
    /// Windows itself only finds `.exe` files by a bare name. Scripts such as `npx.cmd` are found here, and started by path.
    pub fn executable(&self) -> OsString {
        let is_bare = Path::new(&self.name).components().count() == 1;
        let found = (cfg!(windows) && is_bare).then(|| self.find_in(&self.search_path()?)).flatten();
        found.map_or_else(|| self.name.clone(), PathBuf::into_os_string)
    }

    /// The variable `PATH` of the program.
    fn search_path(&self) -> Option<OsString> {
        let set = self.environment.iter().rev().find(|(name, _)| name == "PATH");
        set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))
    }

    /// Finds the program in directories.
    fn find_in(&self, places: &OsStr) -> Option<PathBuf> {
        let names = candidate_names(&self.name);
        std::env::split_paths(places)
            .flat_map(|place| names.iter().map(move |name| place.join(name)))
            .find(|path| path.metadata().is_ok_and(|file| is_executable(&file)))
    }

    /// Returns the name for error messages: the program's name, and after a launcher the name of the launched program.
    /// Other arguments may be secret.
    pub fn label(&self) -> String {
        let name = self.name.to_string_lossy();
        let base = Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy();
        let launched =
            self.args.iter().map(|arg| arg.to_string_lossy()).find(|arg| !LAUNCHER_OPTIONS.contains(&&**arg));
        let launched =
            launched.filter(|arg| LAUNCHERS.contains(&&*base) && !arg.starts_with('-') && arg.len() < 100);
        launched.map_or_else(|| name.to_string(), |launched| format!("{name} … {launched}"))
    }
}

/// Reason that a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A bare name that is in no directory of PATH.
    #[error("cannot start `{0}`: not found on PATH; install it, or use its full path")]
    NotOnPath(String),
    /// A path without a file.
    #[error("cannot start `{0}`: no such file; check the path")]
    NoSuchFile(String),
    /// The file exists, but the interpreter named in its first line (`#!`) does not.
    #[error("cannot start `{0}`: its interpreter is missing; check its first line")]
    NoInterpreter(String),
    /// The file is not executable.
    #[error("cannot start `{0}`: not executable; check its permissions (chmod +x)")]
    NotExecutable(String),
    /// Any other error of the system.
    #[error("cannot start `{0}`: {1}")]
    Other(String, #[source] io::Error),
}

impl SpawnError {
    fn new(program: &OsStr, error: io::Error) -> Self {
        let path = Path::new(program);
        let name = program.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::NotFound if path.components().count() == 1 => Self::NotOnPath(name),
            io::ErrorKind::NotFound if path.exists() => Self::NoInterpreter(name),
            io::ErrorKind::NotFound => Self::NoSuchFile(name),
            io::ErrorKind::PermissionDenied => Self::NotExecutable(name),
            _ => Self::Other(name, error),
        }
    }
}

/// Last bytes that a server has written to its stderr.
#[derive(Clone, Debug, Default)]
pub struct StderrTail(Arc<TailShared>);

/// Last lines of a server's stderr, without control characters; empty if nothing was written.
///
/// Displays as the end of an error message: a heading and the lines, each on a line of its own. Displays as nothing if it
/// is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StderrLines(String);

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
    async fn wait_until_read(&self, limit: Duration) {
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

/// Longest first line of a script that is read, as in Linux.
#[cfg(unix)]
const MAX_FIRST_LINE_BYTES: u64 = 256;

/// Returns the interpreter that the first line of a script names with its whole path.
#[cfg(unix)]
fn interpreter(script: &Path) -> Option<PathBuf> {
    use io::Read as _;

    let mut beginning = Vec::new();
    std::fs::File::open(script).ok()?.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut beginning).ok()?;
    let line = beginning.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    name.starts_with('/').then(|| name.into())
}

#[cfg(not(unix))]
fn interpreter(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(unix)]
fn is_executable(file: &Metadata) -> bool {
    file.is_file() && std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(file: &Metadata) -> bool {
    file.is_file()
}

/// Returns the file names that a program may have in a directory of PATH.
#[cfg(unix)]
fn candidate_names(name: &OsStr) -> Vec<OsString> {
    vec![name.to_owned()]
}

/// Returns the file names that a program may have in a directory of PATH. A file without one of the extensions is not
/// executable: beside `npx.cmd` there is a shell script `npx`.
#[cfg(not(unix))]
fn candidate_names(name: &OsStr) -> Vec<OsString> {
    const EXTENSIONS: [&str; 4] = ["exe", "com", "bat", "cmd"];
    let extension = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    if EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension)) {
        return vec![name.to_owned()];
    }
    let with = |extension: &str| {
        let mut name = name.to_owned();
        name.push(".");
        name.push(extension);
        name
    };
    EXTENSIONS.map(with).into()
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
    use super::{MAX_TAIL_BYTES, MAX_TAIL_LINES, Program, StderrLines, StderrTail, last_lines, remedy};

    #[test]
    fn a_label_names_the_launched_program_and_no_secret() {
        let check = |line: &[&str], expect: &str| {
            assert_eq!(Program::new(line[0], &line[1..]).label(), expect, "{line:?}");
        };
        check(&["false"], "false");
        check(&["/bin/srv", "--key", "s3cret"], "/bin/srv");
        check(&["srv", "s3cret"], "srv");
        check(&["npx", "-y", "@scope/server", "s3cret"], "npx … @scope/server");
        check(&["python3", "-m", "server"], "python3 … server");
        check(&["node", "--env-file", "s3cret"], "node");
        check(&["sh", "-c", "s3cret"], "sh");
    }

    #[cfg(unix)]
    #[test]
    fn a_missing_program_is_reported_before_it_is_started() {
        let check = |name: &str, expect: &str| {
            let error = Program::new(name, [""; 0]).look_up().err().map(|error| error.to_string());
            assert!(error.unwrap_or_default().contains(expect), "{name}");
        };
        check("sh", "");
        check("/bin/sh", "");
        check("no-such-server", "not found on PATH");
        check("./no/such/server", "no such file");
        check("/etc/passwd", "not executable");
        let script = std::env::temp_dir().join(format!("portion-no-interpreter-{}", std::process::id()));
        std::fs::write(&script, "#! /no/such/interpreter -u\n").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("a mode");
        check(&script.to_string_lossy(), "its interpreter is missing");
        std::fs::remove_file(&script).expect("removed");
        let environment = vec![("PATH".into(), "/no/such/place".into())];
        assert!(Program { environment, ..Program::new("sh", [""; 0]) }.look_up().is_err());
        assert_eq!(Program::new("sh", [""; 0]).executable(), "sh", "the system finds it");
    }

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
