//! A server behind Portion: one that is reached over HTTP, or a program that Portion starts.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use portion_config::{Config, ServerConfig as Written, Upstream};
use portion_core::cursor::Scope;
use portion_gateway::gateway_parts::random_secret;
use portion_mcp::bridge::{self, Bridge};
use portion_mcp::front::http::Backend;
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::proxy::{Proxy, PublicResource};
use portion_mcp::upstream::link::{ChildConnector, Connector};
use portion_mcp::upstream::stdio::{Program, SpawnError};
use portion_policy::endpoint::ListingStyle;
use portion_policy::upstream::Transport;
use portion_rest::link::RestConnector;
use portion_text::display::hex;

use crate::cli::failure::{Result, UsageError};
use crate::cli::remote::{self, RemoteArgs, RemoteServer};
use crate::cli::rest::{self, RestServer};
use crate::run::process;

/// Largest message of a server without a configuration, in bytes: the default of `upstreamMessageLimit`.
const MESSAGE_LIMIT: usize = 256 << 20;

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// Reached over HTTP.
    Remote(RemoteServer),
    /// Started by Portion.
    Command(Program),
    /// The operations of a REST API, served in this process.
    Rest(Box<RestServer>),
}

/// A server with its name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NamedServer {
    pub(crate) name: String,
    pub(crate) server: Server,
}

/// Names for a set of servers, which reveal nothing about them.
pub(crate) struct ServerIds {
    /// For a store of one user: servers differ by everything, their working directory included.
    pub(crate) local: String,
    /// For a store that instances share: the same names mean the same servers.
    pub(crate) names: String,
    /// Like `local` without the working directory, which differs between instances.
    pub(crate) shared: String,
}

impl ServerIds {
    /// Returns the ids of named servers.
    pub(crate) fn new<'a>(servers: impl IntoIterator<Item = (&'a str, &'a Server)>) -> Self {
        let [mut local, mut names, mut shared] = [const { Vec::new() }; 3];
        for (name, server) in servers {
            for parts in [&mut local, &mut names, &mut shared] {
                parts.push(name.as_bytes().to_vec());
            }
            server.write_identity(true, &mut local);
            server.write_identity(false, &mut shared);
        }
        Self { local: hash_parts(&local), names: hash_parts(&names), shared: hash_parts(&shared) }
    }

    /// Makes equal calls of other processes answer nothing here. For processes that each have one caller: their
    /// servers may act for different people, by variables that they inherit.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn with_own_calls(self) -> Result<Self> {
        Ok(Self { shared: hash_parts(&[self.shared.into_bytes(), random_secret()?.to_vec()]), ..self })
    }
}

fn hash_parts(parts: &[Vec<u8>]) -> String {
    hex(Scope::from_parts(&[0; 32], parts.iter().map(Vec::as_slice)).as_bytes())
}

impl Server {
    /// Returns the server on the command line, if there is one.
    ///
    /// # Errors
    /// Returns an error if a reference in a header cannot be resolved.
    pub(crate) fn from_args(
        url: Option<&str>,
        way: &RemoteArgs,
        command: &[OsString],
    ) -> Result<Option<Self>, UsageError> {
        if let Some(url) = url {
            return way.resolve(url).map(Self::Remote).map(Some);
        }
        let [program, args @ ..] = command else { return Ok(None) };
        Ok(Some(Self::Command(Program::new(program, args))))
    }

    /// Replaces the base URL of a configured REST API, and adds headers to each request.
    ///
    /// # Errors
    /// Returns an error if the server is none.
    pub(crate) fn with_rest_target(
        self,
        url: Option<&str>,
        headers: Vec<String>,
    ) -> Result<Self, UsageError> {
        match self {
            Self::Rest(rest) => Ok(Self::Rest(Box::new(rest.with_target(url, headers)))),
            _ if url.is_none() && headers.is_empty() => Ok(self),
            _ => Err(NO_REST_API.into()),
        }
    }

    /// Appends everything that distinguishes it from other servers.
    fn write_identity(&self, has_directory: bool, out: &mut Vec<Vec<u8>>) {
        let mut add = |bytes: &[u8]| out.push(bytes.to_vec());
        match self {
            Self::Remote(remote) => {
                add(b"url");
                add(remote.url.as_bytes());
                remote.headers.iter().for_each(|header| add(header.as_bytes()));
            }
            Self::Command(program) => {
                add(b"command");
                if has_directory {
                    // Relative names in the arguments depend on the working directory.
                    add(std::env::current_dir().unwrap_or_default().as_os_str().as_encoded_bytes());
                }
                add(program.name.as_encoded_bytes());
                program.args.iter().for_each(|word| add(word.as_encoded_bytes()));
                for (name, value) in &program.environment {
                    add(b"environment");
                    add(name.as_encoded_bytes());
                    add(value.as_encoded_bytes());
                }
            }
            Self::Rest(rest) => rest.identity().iter().for_each(|part| add(part.as_bytes())),
        }
        out.push(b"end".to_vec());
    }

    /// Checks that the program exists.
    ///
    /// # Errors
    /// Returns the problem and how to fix it.
    pub(crate) fn check_program(&self) -> Result<(), SpawnError> {
        match self {
            Self::Remote(_) | Self::Rest(_) => Ok(()),
            Self::Command(program) => program.look_up(),
        }
    }

    /// Checks what a start needs of it on this machine: its program, or the document of an API.
    ///
    /// # Errors
    /// Returns the problem and how to fix it.
    pub(crate) fn check(&self, config_file: Option<&Path>) -> Result<()> {
        match self {
            Self::Remote(_) | Self::Command(_) => Ok(self.check_program()?),
            Self::Rest(rest) => rest.connect(MESSAGE_LIMIT, config_file, |_| false).map(drop),
        }
    }

    /// Returns a connector for a command that calls the server once. Logins are those that are stored.
    ///
    /// # Errors
    /// Returns an error if the URL, a header or the document of an API is invalid.
    pub(crate) fn connector(self) -> Result<Box<dyn Connector>> {
        Ok(match self {
            Self::Remote(remote) => {
                let mut connector = remote.to_link_remote(MESSAGE_LIMIT)?;
                connector.authorizer = remote::stored_login(&connector.target)?;
                Box::new(connector)
            }
            Self::Command(program) => {
                process::register_watchdog();
                Box::new(ChildConnector { program, message_limit: MESSAGE_LIMIT })
            }
            Self::Rest(rest) => Box::new(rest.connect(MESSAGE_LIMIT, None, |_| false)?.connector),
        })
    }

    /// Returns the backend of the server. `config` has settings for the tools of a REST API.
    /// `public` is the backend as a protected resource, if it has a public URL.
    pub(crate) fn into_backend(
        self,
        mut factory: McpProcessorFactory,
        config: &Config,
        public: Option<PublicResource>,
    ) -> Result<Arc<dyn Backend>> {
        let limits = bridge::BridgeLimits::default();
        match self {
            Self::Remote(remote) => {
                let mut connector = remote.to_link_remote(factory.max_server_message_bytes)?;
                if remote.has_own_connection() {
                    connector.transport = Transport::Sse;
                    return Ok(Arc::new(Bridge::new(Arc::new(connector), factory, limits)));
                }
                Ok(Arc::new(Proxy::new(connector.target, connector.client, factory, public)))
            }
            Self::Command(program) => {
                let program = process::with_user_environment(program);
                let message_limit = factory.max_server_message_bytes;
                let connector = ChildConnector { program, message_limit };
                Ok(Arc::new(Bridge::new(Arc::new(connector), factory, limits)))
            }
            Self::Rest(rest) => {
                let connector = connect_rest(&rest, &mut factory, config)?;
                Ok(Arc::new(Bridge::new(Arc::new(connector), factory, limits)))
            }
        }
    }
}

/// Builds the tools of a REST API. A long list is listed lazily, unless its style is configured.
///
/// # Errors
/// Returns an error if the document, the URL or a credential is invalid.
pub(crate) fn connect_rest(
    rest: &RestServer,
    factory: &mut McpProcessorFactory,
    config: &Config,
) -> Result<RestConnector> {
    let upstream = factory.upstream.clone();
    let is_read = |name: &str| config.is_read_tool(upstream.as_deref(), name);
    let tools = rest.connect(factory.max_server_message_bytes, config.file(), is_read)?;
    if tools.is_large {
        if !config.has_listing_style(upstream.as_deref()) {
            factory.listing.style = ListingStyle::Lazy;
        }
        rest::advise_on_large_list(factory.listing.style == ListingStyle::Lazy);
    }
    Ok(tools.connector)
}

/// Error for `--upstream URL` without a REST API.
pub(crate) const NO_REST_API: &str = "--upstream URL is the base URL of a REST API: give its document with --openapi, or its \
                                      tools with --profile or in the configuration";

/// Shows the name only: URL and command may contain secrets.
impl fmt::Debug for NamedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl NamedServer {
    /// Sets the transport of a server at a URL.
    pub(crate) fn with_transport(mut self, transport: Option<Transport>) -> Self {
        if let (Server::Remote(remote), Some(transport)) = (&mut self.server, transport) {
            remote.transport = transport;
        }
        self
    }

    /// Returns the servers of a configuration.
    pub(crate) fn from_upstreams(upstreams: &[Upstream]) -> Vec<Self> {
        upstreams.iter().map(Self::from).collect()
    }
}

impl From<&Upstream> for NamedServer {
    fn from(upstream: &Upstream) -> Self {
        let server = match &upstream.server {
            Written::Url { url, headers, transport, .. } => {
                let (url, headers, transport) = (url.clone(), headers.clone(), *transport);
                Server::Remote(RemoteServer { url, headers, transport })
            }
            Written::Command { argv: words, environment } => {
                let (name, args) =
                    words.split_first().map_or(("", [].as_slice()), |(name, args)| (name, args));
                let environment =
                    environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
                Server::Command(Program { environment, ..Program::new(name, args) })
            }
            Written::Rest(rest) => Server::Rest(Box::new(RestServer::from_config((**rest).clone()))),
        };
        Self { name: upstream.name.to_string(), server }
    }
}
