//! Options of a REST API and the state that its links share.
//!
//! Credentials are kept out of results: APIs repeat them in error texts, and some echo whole requests.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::AUTHORIZATION;
use portion_mcp::upstream::http::HttpClient;
use portion_net::client::TlsError;
use portion_policy::upstream::UpstreamTarget;
use tokio::sync::Semaphore;

use super::oauth::{ClientCredentials, TokenSource};
use super::pacing::Pacer;
use crate::openapi::{Tool, percent};

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

/// Words in names of headers and parameters that carry credentials.
const CREDENTIAL_WORDS: [&str; 9] =
    ["auth", "token", "key", "secret", "cookie", "pass", "sig", "session", "credential"];
/// Shorter values are not replaced, because they occur in other texts.
const MIN_SECRET_BYTES: usize = 6;
/// Text in place of a credential.
const REPLACEMENT: &str = "[credential removed]";

/// Values that must not reach a client.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new(target: &UpstreamTarget, oauth: Option<&ClientCredentials>) -> Self {
        let mut secrets = Self::default();
        for (name, value) in target.headers() {
            let Some(value) = value.to_str().ok().filter(|_| is_credential(name.as_str())) else { continue };
            secrets.add(value);
            if let Some((_, credential)) = value.split_once(' ').filter(|_| name == AUTHORIZATION) {
                secrets.add(credential);
                secrets.add_basic(credential);
            }
        }
        for part in target.url().query().unwrap_or_default().split('&') {
            // A part without a name may be a key.
            let (name, value) = part.split_once('=').unwrap_or(("key", part));
            if is_credential(&name.to_ascii_lowercase()) {
                secrets.add(value);
                secrets.add(&percent::decode(value));
            }
        }
        if let Some(oauth) = oauth {
            secrets.add(&oauth.client_secret);
        }
        // A secret may contain another one.
        secrets.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.0.dedup();
        secrets
    }

    /// Replaces the credentials in a text. `token` is the access token of the request.
    pub(super) fn remove(&self, text: String, token: Option<&str>) -> String {
        let token = token.filter(|token| token.len() >= MIN_SECRET_BYTES);
        let mut text = text;
        for secret in token.into_iter().chain(self.0.iter().map(String::as_str)) {
            if memchr::memmem::find(text.as_bytes(), secret.as_bytes()).is_some() {
                text = text.replace(secret, REPLACEMENT);
            }
        }
        text
    }

    fn add(&mut self, value: &str) {
        if value.len() >= MIN_SECRET_BYTES && !self.0.iter().any(|known| known == value) {
            self.0.push(value.to_owned());
        }
    }

    /// Adds the password of basic authentication.
    fn add_basic(&mut self, credential: &str) {
        let pair = STANDARD.decode(credential).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            self.add(password);
        }
    }
}

/// Returns true if a header or parameter with this name, in lower case, carries a credential.
fn is_credential(name: &str) -> bool {
    CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod secrets_tests {
    use portion_policy::upstream::UpstreamTarget;

    use super::Secrets;

    #[test]
    fn credentials_are_removed() {
        let target = UpstreamTarget::new("http://x/?api_key=k%2Fey123&units=metric&v=2")
            .and_then(|target| target.with_header("Authorization: Basic YWRhOnNlY3JldC1wYXNz"))
            .and_then(|target| target.with_header("X-Api-Key: header-key"))
            .and_then(|target| target.with_header("Accept-Language: german"))
            .expect("a target");
        let secrets = Secrets::new(&target, None);
        let removed = |text: &str| secrets.remove(text.to_owned(), Some("token-1234"));
        for secret in
            ["k/ey123", "k%2Fey123", "YWRhOnNlY3JldC1wYXNz", "secret-pass", "header-key", "token-1234"]
        {
            assert_eq!(removed(&format!("a {secret} b")), "a [credential removed] b");
        }
        assert_eq!(removed("german metric v=2"), "german metric v=2");
    }
}
