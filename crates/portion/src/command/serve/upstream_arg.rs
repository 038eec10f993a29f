//! Value of `--upstream`.

use std::str::FromStr;

use portion_mcp::upstream::stdio::Program;

use crate::cli::remote::RemoteArgs;
use crate::run::server::{NamedServer, Server};

/// A server with its name.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UpstreamArg(pub(super) NamedServer);

/// Shows the name only: URL and command may contain secrets.
impl std::fmt::Debug for UpstreamArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl FromStr for UpstreamArg {
    type Err = String;

    /// A URL without a name has an empty one.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("http://") || text.starts_with("https://") {
            let server =
                Server::Remote(RemoteArgs::default().resolve(text).map_err(|error| error.to_string())?);
            return Ok(Self(NamedServer { name: String::new(), server }));
        }
        let (name, rest) = text.split_once('=').ok_or("write it as NAME=URL or NAME='CMD ARGS'")?;
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if name.is_empty() || !plain || name.starts_with('.') {
            return Err(format!("`{name}` is not valid in a path; use letters, digits, `_`, `-` and `.`"));
        }
        let server = if rest.starts_with("http://") || rest.starts_with("https://") {
            Server::Remote(RemoteArgs::default().resolve(rest).map_err(|error| error.to_string())?)
        } else {
            let words = shlex::split(rest).unwrap_or_default();
            let [program, args @ ..] = words.as_slice() else {
                return Err(format!("`{rest}` is neither a URL nor a command line"));
            };
            Server::Command(Program::new(program, args))
        };
        Ok(Self(NamedServer { name: name.to_owned(), server }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Program, RemoteArgs, Server, UpstreamArg};

    fn check(text: &str, expect: Result<(&str, Server), &str>) {
        match (text.parse::<UpstreamArg>(), expect) {
            (Ok(UpstreamArg(named)), Ok((name, server))) => {
                assert!(named.name == name && named.server == server, "{text}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            (named, _) => panic!("{text}: {named:?}"),
        }
    }

    #[test]
    fn a_server_is_a_url_or_a_command_line() {
        let remote = RemoteArgs::default().resolve("http://x/mcp?y=z").expect("no references");
        check("a=http://x/mcp?y=z", Ok(("a", Server::Remote(remote))));
        check("git-1=uvx 'x y' --z=1", Ok(("git-1", Server::Command(Program::new("uvx", ["x y", "--z=1"])))));
        check("a", Err("NAME=URL"));
        let bare = RemoteArgs::default().resolve("https://x/v1?y=z").expect("no references");
        check("https://x/v1?y=z", Ok(("", Server::Remote(bare))));
        check("a/b=x", Err("is not valid in a path"));
        check("..=x", Err("is not valid in a path"));
        check("a=", Err("neither a URL nor a command line"));
        check("a='x", Err("neither a URL nor a command line"));
    }
}
