//! Link to a REST API: a server in this process whose tools are operations of the API.
//!
//! It answers `initialize`, `server/discover`, `tools/list` and `tools/call` of all revisions. A call is one request to
//! the API, or one for each of several values in the path, and its response becomes the result. So a REST API goes through the same gateway as an MCP server.
//!
//! - `api`: options and state that all links share, and the credentials that are kept out of results
//! - `server`: MCP messages
//! - `exchange`: the request of one call, with retries and redirects
//! - `content`: the response, or the responses of one call to several paths, as the content of a result
//! - `pacing`: `Retry-After` and rate limits
//! - `oauth`: access tokens by client credentials

mod api;
mod content;
mod exchange;
mod oauth;
mod pacing;
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use portion_net::client::TlsError;
use tokio::task::JoinHandle;

use api::RestApi;
pub use api::RestOptions;
pub use oauth::ClientCredentials;
use portion_mcp::upstream::link::{ConnectFuture, Connector, Link};

/// Connects to the tools of a REST API. All links share one client and its access token.
#[derive(Clone)]
pub struct RestConnector {
    api: Arc<RestApi>,
}

impl RestConnector {
    /// Creates a connector.
    ///
    /// # Errors
    /// Returns [`TlsError`] if TLS is needed and no certificate authorities are found.
    pub fn new(options: RestOptions) -> Result<Self, TlsError> {
        Ok(Self { api: Arc::new(RestApi::new(options)?) })
    }

    /// Returns a link and its task, which ends with the link.
    pub fn connect_with_task(&self) -> (Link, JoinHandle<()>) {
        let (link, transport) = Link::new();
        (link, tokio::spawn(server::run(Arc::clone(&self.api), transport)))
    }
}

impl Connector for RestConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async { Ok(self.connect_with_task().0) })
    }
}
