//! The command line with which a client starts Portion: how it is written and how it is recognised.
//!
//! ```
//! use portion_install::invocation::wrap_args;
//!
//! assert_eq!(wrap_args("git", &[], false), ["wrap", "--server", "git", "--"]);
//! ```

use std::path::Path;

/// Command of Portion that wraps a server.
const WRAP: &str = "wrap";
/// Option with the name of the server. Its presence marks an entry that `install` wrote.
const SERVER: &str = "--server";
/// Separates the options of Portion from the command of the server.
pub(crate) const SEPARATOR: &str = "--";
/// Name of the packages with Portion on npm and `PyPI`.
const PACKAGE: &str = "portion-mcp";
/// Option with the URL of a server over HTTP.
const URL: &str = "--url";

/// An option of Portion that `install` writes: its name, and its value if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapOption {
    /// Name, with hyphens.
    pub name: &'static str,
    /// Value; `None` for a flag.
    pub value: Option<String>,
}

impl WrapOption {
    /// Returns the words of the option.
    pub(crate) fn words(&self) -> Vec<String> {
        std::iter::once(self.name.to_owned()).chain(self.value.clone()).collect()
    }
}

/// Program that the entries are to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Absolute path of Portion.
    pub program: &'a str,
    /// True to wrap servers with a URL, too.
    pub include_http: bool,
    /// Options of Portion that are asked for.
    pub options: &'a [WrapOption],
}

/// Form in which an entry starts its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Without Portion.
    Direct,
    /// By Portion, as `install` writes it.
    Installed(Installed),
    /// By Portion, as a user wrote it.
    Manual,
}

/// An entry that `install` wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Index, among the arguments of Portion, of the server's program; `None` if the server has a URL.
    pub program_index: Option<usize>,
    /// True if the entry had no `args`. They are removed again.
    pub adds_args: bool,
}

/// Returns why a server of this name cannot be put behind Portion; `None` if it can.
pub fn name_problem(server: &str) -> Option<&'static str> {
    if server.starts_with('-') {
        // It looks like an option.
        Some("its name begins with a hyphen: rename it")
    } else if server.chars().any(char::is_control) {
        // No argument of a program contains NUL, and the others are not visible.
        Some("its name has control characters: rename it")
    } else {
        None
    }
}

/// Returns the arguments of Portion before the server's program.
///
/// `--server=NAME` in one word marks an entry that had no `args`. Unlike whitespace, that survives a client that rewrites
/// its file.
pub fn wrap_args(server: &str, options: &[WrapOption], adds_args: bool) -> Vec<String> {
    let mut args = wrap_with(options);
    if adds_args {
        args.push(format!("{SERVER}={server}"));
    } else {
        args.extend([SERVER.to_owned(), server.to_owned()]);
    }
    args.push(SEPARATOR.to_owned());
    args
}

/// Returns the arguments of Portion in front of a server with a URL. `headers` are lines `Name: value`.
pub fn wrap_url_args(
    server: &str,
    options: &[WrapOption],
    url: &str,
    transport: Option<&str>,
    headers: &[String],
) -> Vec<String> {
    let mut args = wrap_with(options);
    args.extend([SERVER, server, URL, url].map(str::to_owned));
    for header in headers {
        args.extend(["--header".to_owned(), header.clone()]);
    }
    args.extend(transport.into_iter().flat_map(|name| ["--transport".to_owned(), name.to_owned()]));
    args
}

fn wrap_with(options: &[WrapOption]) -> Vec<String> {
    std::iter::once(WRAP.to_owned()).chain(options.iter().flat_map(WrapOption::words)).collect()
}

/// Recognises how a command line starts its server.
pub fn recognise<S: AsRef<str>>(program: &str, args: &[S]) -> Invocation {
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    if !is_portion(program) {
        return if starts_portion(program, &args) { Invocation::Manual } else { Invocation::Direct };
    }
    if args.first() != Some(&WRAP) {
        return Invocation::Manual;
    }
    let separator = args.iter().position(|arg| *arg == SEPARATOR);
    let options = &args[..separator.unwrap_or(args.len())];
    let joined = options.iter().any(|arg| arg.strip_prefix(SERVER).is_some_and(|rest| rest.starts_with('=')));
    if !joined && !options.contains(&SERVER) {
        return Invocation::Manual;
    }
    match separator {
        Some(at) if at + 1 < args.len() => Invocation::Installed(Installed {
            program_index: Some(at + 1),
            adds_args: joined && at + 2 == args.len(),
        }),
        None if options.contains(&URL) => {
            Invocation::Installed(Installed { program_index: None, adds_args: false })
        }
        _ => Invocation::Manual,
    }
}

/// Returns true if a command starts Portion by another program: `npx portion-mcp wrap`, `docker run … portion wrap`,
/// `sh -c "portion wrap …"`.
fn starts_portion(program: &str, args: &[&str]) -> bool {
    let is_package =
        |word: &str| word.split('@').next().is_some_and(|name| name.rsplit('/').next() == Some(PACKAGE));
    let wraps = |words: &[&str]| {
        words.windows(2).any(|pair| (is_portion(pair[0]) || is_package(pair[0])) && pair[1] == WRAP)
    };
    let words: Vec<&str> = std::iter::once(program).chain(args.iter().copied()).collect();
    wraps(&words) || args.iter().any(|arg| wraps(&arg.split_whitespace().collect::<Vec<_>>()))
}

/// Returns true if a program is Portion, by its file name. Both separators of paths count on every system.
pub fn is_portion(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    stem.eq_ignore_ascii_case("portion") && (stem == name || name.to_ascii_lowercase().ends_with(".exe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expect: &Invocation) {
        assert_eq!(recognise(words[0], &words[1..]), *expect, "{words:?}");
    }

    #[test]
    fn entries_are_recognised() {
        let installed =
            |program_index, adds_args| Invocation::Installed(Installed { program_index, adds_args });
        check(&["npx", "wrap"], &Invocation::Direct);
        check(&["portions", "wrap", "--server", "a", "--", "x"], &Invocation::Direct);
        check(&["portion"], &Invocation::Manual);
        for line in [
            "npx -y portion-mcp wrap -- npx x",
            "npx portion-mcp@latest wrap -- x",
            "uvx --from portion-mcp portion wrap -- x",
            "portion-mcp wrap -- x",
            "env A=1 portion wrap -- x",
            "cmd /c portion.exe wrap -- x",
            "docker run -i ghcr.io/a/portion-mcp wrap -- x",
        ] {
            check(&line.split(' ').collect::<Vec<_>>(), &Invocation::Manual);
        }
        check(&["sh", "-c", "exec portion wrap -- npx x"], &Invocation::Manual);
        check(&["npx", "-y", "portion-mcp-like", "wrap"], &Invocation::Direct);
        check(&["portion", "wrap", "--lean", "--", "npx", "--server", "x"], &Invocation::Manual);
        check(&["portion", "wrap", "--server", "a"], &Invocation::Manual);
        check(&["portion", "wrap", "--server", "a", "--"], &Invocation::Manual);
        check(&["/o/portion", "wrap", "--server", "a", "--", "npx"], &installed(Some(4), false));
        check(&["portion", "wrap", "--server=a", "--", "npx"], &installed(Some(3), true));
        check(&["portion", "wrap", "--server=a", "--", "npx", "-y"], &installed(Some(3), false));
        check(&["portion", "wrap", "--server", "a", "--lean", "--", "npx"], &installed(Some(5), false));
        check(
            &[r"C:\Program Files\Portion.exe", "wrap", "--server", "a", "--", "cmd"],
            &installed(Some(4), false),
        );
        check(&["portion", "wrap", "--server", "a", "--url", "https://x"], &installed(None, false));
    }
}
