//! A server as it is named on the command line.

use std::error::Error;
use std::ffi::OsString;
use std::str::FromStr;
use std::sync::Arc;

use portion_gateway::bridge::{self, Bridge};
use portion_gateway::front::http::Backend;
use portion_gateway::mcp::Lanes;
use portion_gateway::proxy::Proxy;
use portion_gateway::upstream::link::sse::SseDial;
use portion_gateway::upstream::link::{ChildDial, remote};

use crate::remote::Way;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Upstream {
    /// It is there already, and is reached this way.
    Url(String, Way),
    /// We start it.
    Command(Vec<OsString>),
}

/// A server with the name under which it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) upstream: Upstream,
}

impl Upstream {
    /// What stands for it behind a path.
    pub(super) fn backend(&self, lanes: &Lanes) -> Result<Arc<dyn Backend>, Box<dyn Error>> {
        match self {
            Self::Url(url, way) => {
                let remote::Remote { target, client, message_limit, transport } =
                    way.remote(url, lanes.message_limit)?;
                // Whether it speaks the older way cannot be asked: that may need what only its clients have.
                let is_older = match transport {
                    remote::Transport::Auto => target.url().path().ends_with("/sse"),
                    remote::Transport::Http => false,
                    remote::Transport::Sse => true,
                };
                if !is_older {
                    return Ok(Arc::new(Proxy::new(target, client, lanes.clone())));
                }
                let dial = SseDial { target, client, message_limit };
                Ok(Arc::new(Bridge::new(Arc::new(dial), lanes.clone(), bridge::Limits::default())))
            }
            Self::Command(command) => {
                let [program, args @ ..] = command.as_slice() else {
                    return Err("no command is given".into());
                };
                let (program, args) = (program.clone(), args.to_vec());
                let dial = ChildDial { program, args, message_limit: lanes.message_limit };
                Ok(Arc::new(Bridge::new(Arc::new(dial), lanes.clone(), bridge::Limits::default())))
            }
        }
    }
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('=').ok_or("write it as NAME=URL or NAME='CMD ARGS'")?;
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if name.is_empty() || !plain || name.starts_with('.') {
            return Err(format!("`{name}` cannot stand in a path; use letters, digits, `_`, `-` and `.`"));
        }
        let upstream = if rest.starts_with("http://") || rest.starts_with("https://") {
            Upstream::Url(rest.to_owned(), Way::default())
        } else {
            let words = shlex::split(rest).filter(|words| !words.is_empty());
            let words = words.ok_or_else(|| format!("`{rest}` is neither a URL nor a command line"))?;
            Upstream::Command(words.into_iter().map(OsString::from).collect())
        };
        Ok(Self { name: name.to_owned(), upstream })
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, Upstream, Way};

    fn check(text: &str, expect: Result<(&str, Upstream), &str>) {
        let named = text.parse::<Named>();
        match (&named, expect) {
            (Ok(named), Ok((name, upstream))) => {
                assert_eq!((&*named.name, &named.upstream), (name, &upstream));
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            (named, expect) => panic!("{text}: {named:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn a_server_is_a_url_or_a_command_line() {
        check("a=http://x/mcp?y=z", Ok(("a", Upstream::Url("http://x/mcp?y=z".into(), Way::default()))));
        let words = ["uvx", "x y", "--z=1"].map(Into::into).to_vec();
        check("git-1=uvx 'x y' --z=1", Ok(("git-1", Upstream::Command(words))));
        check("a", Err("NAME=URL"));
        check("a/b=x", Err("cannot stand in a path"));
        check("..=x", Err("cannot stand in a path"));
        check("a=", Err("neither a URL nor a command line"));
        check("a='x", Err("neither a URL nor a command line"));
    }
}
