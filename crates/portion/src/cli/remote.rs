//! Options of a server over HTTP: its headers and its transport.

use clap::{Args, ValueEnum};
use portion_config::reference::ProcessEnvironment;
use portion_config::reference::expand;
use portion_mcp::upstream::http::HttpClient;
use portion_mcp::upstream::link::remote;
use portion_policy::upstream::{Transport, UpstreamTarget};

use crate::cli::failure::{Result, UsageError};

pub(crate) const HEADER_HELP: &str = "Header of each request to the server, `Name: value`; may be repeated. ${NAME} \
                                      is an environment variable, ${file:/path} a file, $$ a dollar sign";

/// Headers of each request, and the transport.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct RemoteArgs {
    #[arg(long = "header", value_name = "FIELD", requires = "http_server", conflicts_with = "command", help = HEADER_HELP)]
    headers: Vec<String>,
    /// Transport of the server: auto (detected, the default), http (streamable HTTP) or sse (revision 2024-11-05)
    #[arg(long, value_name = "NAME", conflicts_with = "command", hide_possible_values = true)]
    transport: Option<TransportArg>,
}

/// Transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    Auto,
    /// Streamable HTTP; clients have several names for it.
    #[value(aliases = ["streamable-http", "streamableHttp"])]
    Http,
    Sse,
}

/// A server over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RemoteServer {
    pub(crate) url: String,
    /// Headers of each request, with references resolved.
    pub(crate) headers: Vec<String>,
    pub(crate) transport: Transport,
}

impl RemoteArgs {
    /// Returns the server at this URL.
    ///
    /// # Errors
    /// Returns an error if a reference cannot be resolved.
    pub(crate) fn resolve(&self, url: &str) -> Result<RemoteServer, UsageError> {
        let (headers, transport) = (self.headers()?, self.transport().unwrap_or_default());
        Ok(RemoteServer { url: url.to_owned(), headers, transport })
    }

    /// Returns the headers of each request.
    ///
    /// # Errors
    /// Returns an error if a reference cannot be resolved.
    pub(crate) fn headers(&self) -> Result<Vec<String>, UsageError> {
        let follow =
            |line: &String| expand(line, &ProcessEnvironment).map_err(|why| format!("a header {why}").into());
        self.headers.iter().map(follow).collect()
    }

    /// Returns true if headers were given.
    pub(crate) fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Returns the transport, if it was given.
    pub(crate) fn transport(&self) -> Option<Transport> {
        self.transport.map(|transport| match transport {
            TransportArg::Auto => Transport::Auto,
            TransportArg::Http => Transport::Http,
            TransportArg::Sse => Transport::Sse,
        })
    }

    /// Rejects `--transport` if no server on the command line has a URL: it would be ignored.
    ///
    /// # Errors
    /// Returns an error if it was given.
    pub(crate) fn reject_transport_without_url(&self) -> Result<(), UsageError> {
        if self.transport.is_none() {
            return Ok(());
        }
        Err("--transport needs a server URL on the command line; in the configuration, set transport beside \
             url"
        .into())
    }
}

impl RemoteServer {
    /// Returns true if `serve` has a connection of its own to it, which does not carry the credentials of callers: it
    /// speaks the older transport. That cannot be probed, because only the clients may have credentials for it.
    pub(crate) fn has_own_connection(&self) -> bool {
        match self.transport {
            Transport::Auto => {
                UpstreamTarget::new(&self.url).is_ok_and(|target| target.url().path().ends_with("/sse"))
            }
            Transport::Http => false,
            Transport::Sse => true,
        }
    }

    /// Returns the connector without logins, for messages of at most `message_limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the URL or a header is invalid.
    pub(crate) fn to_link_remote(&self, message_limit: usize) -> Result<remote::RemoteConnector> {
        let mut target = UpstreamTarget::new(&self.url)?;
        for line in &self.headers {
            target = target.with_header(line)?;
        }
        let client = HttpClient::new(target.url().scheme_str() == Some("https"))?;
        Ok(remote::RemoteConnector {
            target,
            client,
            message_limit,
            transport: self.transport,
            authorizer: None,
        })
    }
}
