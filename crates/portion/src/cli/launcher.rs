//! Launchers: programs that install a package before they start it, such as `npx`.
//!
//! A launcher that is killed in the first installation of a package leaves a lock, or a tree that looks complete and is
//! not. So the package is installed first, without a time limit and in a process group of its own, and then started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use portion_client::check::{KnownPaths, KnownValues};
use portion_text::display::hex;
use sha2::{Digest as _, Sha512};

use crate::cli::terminal::print_stderr;

/// Time between two lines about an installation.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(4);

/// Time between two looks at an installation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// File that `npx` writes at the end of an installation.
const NPX_END: &str = "node_modules/.package-lock.json";

/// Held while a package is installed: two installations of one break each other.
static INSTALLATION: Mutex<()> = Mutex::new(());

/// Largest text that is read as an example, in bytes.
const MAX_EXAMPLE_BYTES: u64 = 1 << 20;

/// Files of a directory that are looked at.
const MAX_ENTRIES: usize = 2_000;

/// The installation of a package, as a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    launcher: &'static str,
    package: String,
    words: Vec<String>,
}

/// How a launcher is told to install a package and to do nothing with it.
struct Launcher {
    name: &'static str,
    /// Options without a value that may be in front of the package.
    flags: &'static [&'static str],
    /// Options with a value that may be in front of the package.
    valued: &'static [&'static str],
    /// Option that names the package, where the command has another name.
    package: &'static str,
    /// Words that do nothing.
    nothing: &'static [&'static str],
}

const LAUNCHERS: [Launcher; 4] = [
    Launcher {
        name: "npx",
        flags: &["-y", "--yes", "-q", "--quiet", "--prefer-online", "--prefer-offline"],
        valued: &["-p", "--package", "--registry"],
        package: "--package",
        nothing: &["-c", "exit 0"],
    },
    Launcher {
        name: "uvx",
        flags: &["-q", "--quiet", "--refresh", "--isolated", "--native-tls"],
        valued: &["--from", "--with", "--python", "-p", "--index", "--index-url", "--default-index"],
        package: "--from",
        nothing: &["python", "-c", ""],
    },
    Launcher {
        name: "bunx",
        flags: &["-y", "--yes", "--bun", "--silent"],
        valued: &["-p", "--package"],
        package: "--package",
        nothing: &["node", "-e", "0"],
    },
    Launcher {
        name: "dlx",
        flags: &["-s", "--silent"],
        valued: &["--package"],
        package: "--package",
        nothing: &["node", "-e", "0"],
    },
];

impl Installation {
    /// Returns the installation that the start of a server begins with, if it starts by a launcher.
    pub(crate) fn of(words: &[String]) -> Option<Self> {
        let stem = |word: &str| {
            let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
            name.strip_suffix(".cmd").or(name.strip_suffix(".exe")).unwrap_or(&name).to_owned()
        };
        let (program, rest) = words.split_first()?;
        let (prefix, rest) = match (stem(program).as_str(), rest.first().map(String::as_str)) {
            ("cmd", Some("/c" | "/C")) => return Self::of(rest.get(1..)?),
            ("pnpm", Some("dlx")) => (vec![program.clone(), "dlx".to_owned()], rest.get(1..)?),
            _ => (vec![program.clone()], rest),
        };
        let name = if prefix.len() > 1 { "dlx".to_owned() } else { stem(program) };
        let launcher = LAUNCHERS.iter().find(|launcher| launcher.name == name)?;
        let (options, package, is_named) = launcher.split(rest)?;
        let mut words = prefix;
        words.extend(options);
        if !is_named {
            words.extend([launcher.package.to_owned(), package.clone()]);
        }
        words.extend(launcher.nothing.iter().map(|word| (*word).to_owned()));
        let shown = if launcher.name == "dlx" { "pnpm" } else { launcher.name };
        Some(Self { launcher: shown, package, words })
    }

    /// Returns true if `npx` has the package: the file that it writes at the end of an installation is there.
    fn is_installed(&self) -> bool {
        if self.launcher != "npx" {
            return false;
        }
        let name = self
            .package
            .char_indices()
            .skip(1)
            .find(|(_, char)| *char == '@')
            .map_or(self.package.as_str(), |(at, _)| &self.package[..at]);
        if Path::new("node_modules").join(name).is_dir() {
            return true;
        }
        let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".npm"));
        let local = || Some(PathBuf::from(env::var_os("LOCALAPPDATA")?).join("npm-cache"));
        let cache = env::var_os("npm_config_cache").map(PathBuf::from).or_else(if cfg!(windows) {
            local
        } else {
            home
        });
        let hash = hex(&Sha512::digest(&self.package)[..8]);
        cache.is_some_and(|cache| cache.join("_npx").join(hash).join(NPX_END).is_file())
    }

    /// Installs the package and waits for it, however long it takes. A failure is not reported: the start of the server
    /// fails for the same reason. `setting` sets the environment of the server.
    pub(crate) fn run(&self, setting: impl FnOnce(&mut Command)) {
        if self.is_installed() {
            return;
        }
        let _one_at_a_time = INSTALLATION.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((program, args)) = self.words.split_first() else { return };
        let mut command =
            Command::new(portion_mcp::upstream::stdio::Program::new(program, args).executable());
        command.args(args);
        setting(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // An interrupt ends the command that waits, not the installation.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let Ok(mut child) = command.spawn() else { return };
        let since = Instant::now();
        let mut shown = since;
        while let Ok(None) = child.try_wait() {
            if shown.elapsed() >= PROGRESS_INTERVAL {
                shown = Instant::now();
                let Self { launcher, package, .. } = self;
                print_stderr!("portion: {launcher} installs {package} … {} s", since.elapsed().as_secs());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Launcher {
    /// Returns the options in front of a command, the package, and true if an option names the package.
    fn split(&self, words: &[String]) -> Option<(Vec<String>, String, bool)> {
        let mut package = None;
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            let (name, joined) =
                word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let is_package = name == self.package || (name == "-p" && self.package == "--package");
            let value = if self.valued.contains(&name) {
                Some(joined.map_or_else(|| words.get(at + 1).cloned(), |value| Some(value.to_owned()))?)
            } else if self.flags.contains(&name) {
                None
            } else {
                // What it does is not known.
                return None;
            };
            at += if value.is_some() && joined.is_none() { 2 } else { 1 };
            package = package.or(value.filter(|_| is_package));
        }
        let command = words.get(at)?;
        let is_named = package.is_some();
        Some((words[..at].to_vec(), package.unwrap_or_else(|| command.clone()), is_named))
    }
}

/// Installs the package of a command that starts by `npx`, which a client may give up on before it is complete.
pub(crate) fn install_for_client(command: &[OsString]) {
    install_if(command, |found| found.launcher == "npx");
}

/// Installs the package of a command that starts by a launcher.
pub(crate) fn install_for(command: &[OsString]) {
    install_if(command, |_| true);
}

/// Returns the first directory among the words of a command, and the largest text directly in it.
pub(crate) fn known_paths(command: &[OsString]) -> KnownValues {
    let words = command.iter().skip(1).map(PathBuf::from);
    let directory = words.into_iter().find(|path| path.is_dir()).and_then(|path| path.canonicalize().ok());
    let file = directory.as_deref().and_then(largest_text);
    let is_small = directory.as_deref().is_some_and(has_few_entries);
    let text = |path: PathBuf| path.to_str().map(str::to_owned);
    KnownPaths { directory: directory.and_then(text), file: file.and_then(text), is_small }.into()
}

fn install_if(command: &[OsString], is_wanted: impl FnOnce(&Installation) -> bool) {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(installation) = Installation::of(&words).filter(is_wanted) {
        installation.run(|_| {});
    }
}

/// Returns true if a directory has few entries, at every depth together.
fn has_few_entries(directory: &Path) -> bool {
    let (mut waiting, mut left) = (vec![directory.to_owned()], MAX_ENTRIES);
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
            let Some(others) = left.checked_sub(1) else { return false };
            left = others;
            // The type of a link is not that of its target, so that no link is followed.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    true
}

fn largest_text(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.take(MAX_ENTRIES).filter_map(Result::ok);
    let sized = entries.filter_map(|entry| {
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        (!is_hidden && found.len() <= MAX_EXAMPLE_BYTES).then(|| (found.len(), entry.path()))
    });
    let mut sized: Vec<(u64, PathBuf)> = sized.collect();
    sized.sort_unstable_by(|one, other| other.cmp(one));
    let is_text = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| str::from_utf8(&bytes).is_ok());
    sized.into_iter().map(|(_, path)| path).find(is_text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use portion_client::check::{Tool, fill_arguments};
    use serde_json::json;

    use super::{Installation, MAX_ENTRIES, has_few_entries, known_paths};

    #[test]
    fn launchers_install_without_starting() {
        let check = |line: &str, expect: Option<&str>| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = Installation::of(&words).map(|installation| installation.words.join(" "));
            assert_eq!(found.as_deref(), expect, "{line}");
        };
        check("npx -y @a/b /tmp", Some("npx -y --package @a/b -c exit 0"));
        check("/usr/bin/npx a@1 --flag", Some("/usr/bin/npx --package a@1 -c exit 0"));
        check("npx -y --package=a b -x", Some("npx -y --package=a -c exit 0"));
        check("npx -p a b", Some("npx -p a -c exit 0"));
        check("cmd /c npx.cmd -y a", Some("npx.cmd -y --package a -c exit 0"));
        check("uvx mcp-server-git --repository .", Some("uvx --from mcp-server-git python -c "));
        check("uvx --from a --with b c", Some("uvx --from a --with b python -c "));
        check("pnpm dlx a", Some("pnpm dlx --package a node -e 0"));
        check("bunx a", Some("bunx --package a node -e 0"));
        for line in
            ["npx --no-install a", "npx --unknown x a", "npx", "npx -y", "node a", "pnpm run a", "npxx a"]
        {
            check(line, None);
        }
    }

    #[test]
    fn the_largest_text_of_a_directory_is_an_example() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().canonicalize().expect("a path");
        for (name, bytes) in
            [("a.txt", &b"some text"[..]), ("b.bin", &[0xff; 99]), (".c", &[b'x'; 50]), ("d", b"y")]
        {
            fs::write(path.join(name), bytes).expect("a file");
        }
        let command = ["server".into(), "--flag".into(), path.clone().into_os_string()];
        let listed = json!({"name": "read_file", "inputSchema": {"required": ["path"]}});
        let tool = Tool::parse(&listed).expect("a tool");
        let filled = fill_arguments(&tool, &known_paths(&command)).expect("a path");
        assert_eq!(filled["path"], json!(path.join("a.txt")));
        assert!(fill_arguments(&tool, &known_paths(&["server".into()])).is_err());
        fs::create_dir(path.join("e")).expect("a directory");
        assert!(has_few_entries(&path));
        for number in 0..MAX_ENTRIES {
            fs::write(path.join("e").join(number.to_string()), b"").expect("a file");
        }
        assert!(!has_few_entries(&path));
    }
}
