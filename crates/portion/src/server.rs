//! A server that we stand in front of: one that is there already, or a program that we start.

use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;

use portion_config::{Server as Written, Upstream};
use portion_gateway::bridge::{self, Bridge};
use portion_gateway::front::http::Backend;
use portion_gateway::mcp::Lanes;
use portion_gateway::proxy::Proxy;
use portion_gateway::upstream::link::sse::SseDial;
use portion_gateway::upstream::link::{ChildDial, remote};
use portion_gateway::upstream::stdio::{Program, SpawnError};

use crate::remote::{Remote, Way};

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// It is there already.
    Remote(Remote),
    /// We start it.
    Command(Program),
}

/// A server with its name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) server: Server,
}

impl Server {
    /// The one that is given on the command line.
    ///
    /// # Errors
    /// Where one of its headers refers to nothing.
    pub(crate) fn given(url: Option<&str>, way: &Way, command: &[OsString]) -> Result<Option<Self>, String> {
        if let Some(url) = url {
            return way.to(url).map(Self::Remote).map(Some);
        }
        let [program, args @ ..] = command else { return Ok(None) };
        Ok(Some(Self::Command(Program::new(program, args))))
    }

    /// Looks whether a program that is to be started is there.
    ///
    /// # Errors
    /// What to mend.
    pub(crate) fn look_up(&self) -> Result<(), SpawnError> {
        match self {
            Self::Remote(_) => Ok(()),
            Self::Command(program) => program.look_up(),
        }
    }

    /// What stands for it behind a path.
    pub(crate) fn backend(self, lanes: Lanes) -> Result<Arc<dyn Backend>, Box<dyn Error>> {
        let limits = bridge::Limits::default();
        match self {
            Self::Remote(remote) => {
                let remote::Remote { target, client, message_limit, transport } =
                    remote.reached(lanes.message_limit)?;
                // Whether it speaks the older way cannot be asked: that may need what only its clients have.
                let is_older = match transport {
                    remote::Transport::Auto => target.url().path().ends_with("/sse"),
                    remote::Transport::Http => false,
                    remote::Transport::Sse => true,
                };
                if !is_older {
                    return Ok(Arc::new(Proxy::new(target, client, lanes)));
                }
                let dial = SseDial { target, client, message_limit };
                Ok(Arc::new(Bridge::new(Arc::new(dial), lanes, limits)))
            }
            Self::Command(program) => {
                let dial = ChildDial { program, message_limit: lanes.message_limit };
                Ok(Arc::new(Bridge::new(Arc::new(dial), lanes, limits)))
            }
        }
    }
}

impl Configured {
    /// The same where this says how a server at a URL speaks.
    pub(crate) fn speaking(mut self, transport: Option<remote::Transport>) -> Self {
        if let (Server::Remote(remote), Some(transport)) = (&mut self.server, transport) {
            remote.transport = transport;
        }
        self
    }

    /// Those that a configuration names.
    pub(crate) fn all(upstreams: &[Upstream]) -> Vec<Self> {
        upstreams.iter().map(Self::from).collect()
    }
}

impl From<&Upstream> for Configured {
    fn from(upstream: &Upstream) -> Self {
        let server = match &upstream.server {
            Written::Url { url, headers, transport } => {
                let (url, headers, transport) = (url.clone(), headers.clone(), *transport);
                Server::Remote(Remote { url, headers, transport })
            }
            Written::Command { words, environment } => {
                let (name, args) =
                    words.split_first().map_or(("", [].as_slice()), |(name, args)| (name, args));
                let environment =
                    environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
                Server::Command(Program { environment, ..Program::new(name, args) })
            }
        };
        Self { name: upstream.name.to_string(), server }
    }
}
