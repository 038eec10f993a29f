//! Options of a REST API and the state that its links share.

use std::collections::HashMap;
use std::time::Duration;

use portion_net::tls::TlsError;
use portion_openapi::Tool;
use portion_policy::upstream::UpstreamTarget;
use tokio::sync::Semaphore;

use super::oauth::{ClientCredentials, TokenSource};
use super::pacing::Pacer;
use super::secrets::Secrets;
use crate::upstream::http::HttpClient;

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

/// State shared by all links.
pub(super) struct RestApi {
    pub options: RestOptions,
    pub client: HttpClient,
    pub tokens: Option<TokenSource>,
    pub pacer: Pacer,
    pub secrets: Secrets,
    pub slots: Semaphore,
    pub tool_by_name: HashMap<String, usize>,
    /// The `tools` of the list, as JSON.
    pub listing: String,
}

impl RestApi {
    pub(super) fn new(options: RestOptions) -> Result<Self, TlsError> {
        let is_secure = |target: &UpstreamTarget| target.url().scheme_str() == Some("https");
        let oauth = options.oauth.as_ref();
        let client = HttpClient::new(
            is_secure(&options.target) || oauth.is_some_and(|oauth| is_secure(&oauth.token_url)),
        )?;
        let listed: Vec<String> = options.tools.iter().map(|tool| tool.listing().to_string()).collect();
        let names = options.tools.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index));
        Ok(Self {
            tokens: options.oauth.clone().map(TokenSource::new),
            secrets: Secrets::new(&options.target, oauth),
            pacer: Pacer::default(),
            slots: Semaphore::new(MAX_CONCURRENT_REQUESTS),
            tool_by_name: names.collect(),
            listing: format!("[{}]", listed.join(",")),
            client,
            options,
        })
    }
}
