//! Link to a REST API: a server in this process whose tools are operations of the API.
//!
//! It answers `initialize`, `server/discover`, `tools/list` and `tools/call` of all revisions. Each call is one request to
//! the API, and its response becomes the result. So a REST API goes through the same gateway as an MCP server.
//!
//! - `server`: MCP messages
//! - `exchange`: the request of one call, with retries and redirects
//! - `content`: the response as the content of a result
//! - `pacing`: `Retry-After` and rate limits
//! - `oauth`: access tokens by client credentials
//! - `secrets`: keeps credentials out of results

mod content;
mod exchange;
mod oauth;
mod pacing;
mod secrets;
mod server;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use portion_net::tls::TlsError;
use portion_openapi::Tool;
use portion_policy::upstream::UpstreamTarget;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{ConnectFuture, Connector, Link};
use crate::upstream::http::HttpClient;
pub use oauth::ClientCredentials;
use oauth::TokenSource;
use pacing::Pacer;
use secrets::Secrets;

/// Concurrent requests to one API.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// A REST API and its tools.
pub struct RestOptions {
    /// Base URL. Its headers and its query are part of each request.
    pub target: UpstreamTarget,
    /// Tools, in the order in which they are listed.
    pub tools: Vec<Tool>,
    /// Credentials for access tokens.
    pub oauth: Option<ClientCredentials>,
    /// Longest duration of a call, with its retries.
    pub timeout: Duration,
    /// Largest response, in bytes.
    pub max_response_bytes: usize,
    /// Name and version of the API, for clients.
    pub title: String,
    /// Version of the API, for clients.
    pub version: String,
}

/// Connects to the tools of a REST API. All links share one client and its access token.
#[derive(Clone)]
pub struct RestConnector {
    api: Arc<RestApi>,
}

/// State shared by all links.
struct RestApi {
    options: RestOptions,
    client: HttpClient,
    tokens: Option<TokenSource>,
    pacer: Pacer,
    secrets: Secrets,
    slots: Semaphore,
    tool_by_name: HashMap<String, usize>,
    /// The `tools` of the list, as JSON.
    listing: String,
}

impl RestConnector {
    /// Creates a connector.
    ///
    /// # Errors
    /// Returns [`TlsError`] if TLS is needed and no certificate authorities are found.
    pub fn new(options: RestOptions) -> Result<Self, TlsError> {
        let is_secure = |target: &UpstreamTarget| target.url().scheme_str() == Some("https");
        let oauth = options.oauth.as_ref();
        let client = HttpClient::new(
            is_secure(&options.target) || oauth.is_some_and(|oauth| is_secure(&oauth.token_url)),
        )?;
        let listed: Vec<String> = options.tools.iter().map(|tool| tool.listing().to_string()).collect();
        let names = options.tools.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index));
        Ok(Self {
            api: Arc::new(RestApi {
                tokens: options.oauth.clone().map(TokenSource::new),
                secrets: Secrets::new(&options.target, oauth),
                pacer: Pacer::default(),
                slots: Semaphore::new(MAX_CONCURRENT_REQUESTS),
                tool_by_name: names.collect(),
                listing: format!("[{}]", listed.join(",")),
                client,
                options,
            }),
        })
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

/// Sets a header; a name or value that HTTP does not allow is an error of the document, and is left out.
fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    } else {
        tracing::warn!(name, "a header of the OpenAPI document is not valid in HTTP and is not sent");
    }
}
