//! The program that runs an MCP server, and the errors of starting it.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Programs that start the program named by their first argument, and options that may precede that argument.
const LAUNCHERS: &[&str] = &["bun", "bunx", "deno", "node", "npx", "pipx", "python", "python3", "uvx"];
const LAUNCHER_OPTIONS: &[&str] = &["-m", "-y", "--yes", "run", "x"];

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
    pub(super) fn new(program: &OsStr, error: io::Error) -> Self {
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

#[cfg(test)]
mod tests {
    use super::Program;

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
}
