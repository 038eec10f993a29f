//! Authentication of callers, as configured.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Request, Uri};
use portion_auth::{Authenticator, FetchKeys, FetchedKeys};
use portion_config::Config;
use portion_mcp::http::body;
use portion_mcp::upstream::http::HttpClient;
use portion_policy::access::AccessPolicy;
use tokio::time::timeout;

use crate::cli::exposure::Listener;
use crate::cli::failure::UsageError;
use crate::run::server::Server;
use crate::run::start_error::StartError;

/// Timeout of a request for the keys of an issuer.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest document with keys, in bytes.
const MAX_KEYS_BYTES: usize = 256 << 10;

/// Upstreams of a listener, as far as `auth: passthrough` depends on them.
#[derive(Debug)]
pub(crate) enum Upstreams<'a> {
    /// One server over HTTP, which gets the credentials of callers.
    OneRemote {
        /// URL of the operator.
        url: &'a str,
        /// Headers of the operator, with their references resolved.
        headers: &'a [String],
    },
    /// Anything else.
    Other,
    /// Nothing is known of them: the command line may name them.
    Unknown,
}

impl<'a> Upstreams<'a> {
    /// Returns the server that gets the credentials of callers, if there is only one. A server may have several paths.
    pub(crate) fn of(servers: impl IntoIterator<Item = &'a Server>) -> Self {
        let mut servers = servers.into_iter();
        let Some(first) = servers.next() else { return Self::Unknown };
        match first {
            Server::Remote(remote) if !remote.has_own_connection() && servers.all(|other| other == first) => {
                Self::OneRemote { url: &remote.url, headers: &remote.headers }
            }
            _ => Self::Other,
        }
    }
}

/// Checks that the callers of a listener may reach it, and returns their authenticator.
///
/// # Errors
/// Returns the problem and the options that fix it.
pub(crate) fn authenticator(
    config: &Config,
    listener: Listener,
    upstreams: &Upstreams<'_>,
) -> Result<Arc<Authenticator>, Box<dyn Error>> {
    let policy = policy(config, upstreams)?;
    listener.check(policy.is_checked(), config.insecure())?;
    listener.warn_if_open(policy.is_checked());
    Ok(Arc::new(Authenticator::new(policy, config.public_url(), keys_at)?))
}

/// Returns the error for which a listener of clients does not start, if there is one.
pub(crate) fn caller_error(
    config: &Config,
    listener: Listener,
    upstreams: &Upstreams<'_>,
) -> Option<StartError> {
    match policy(config, upstreams) {
        Ok(policy) => {
            let error = listener.check(policy.is_checked(), config.insecure()).err()?;
            Some(StartError::at_key(config, "listen", &error))
        }
        Err(error) => Some(StartError::at_key(config, "auth", &error)),
    }
}

/// Returns who may call a listener in front of these servers.
fn policy(config: &Config, upstreams: &Upstreams<'_>) -> Result<AccessPolicy, UsageError> {
    let policy = config.access()?;
    if policy == AccessPolicy::Passthrough {
        check_passthrough(upstreams)?;
    }
    Ok(policy)
}

/// Checks the admin listener, and returns the authenticator of its callers.
///
/// # Errors
/// Returns the problem and the options that fix it.
pub(crate) fn admin_authenticator(
    config: &Config,
    at: Option<SocketAddr>,
    insecure: bool,
) -> Result<Arc<Authenticator>, UsageError> {
    let tokens = config.admin_tokens();
    if let Some(listener) = at.map(admin_listener) {
        listener.check(!tokens.is_empty(), insecure || config.insecure())?;
        listener.warn_if_open(!tokens.is_empty());
    }
    Ok(Arc::new(if tokens.is_empty() { Authenticator::unchecked() } else { Authenticator::bearer(tokens) }))
}

/// Returns the error for which the admin listener does not start, if there is one.
pub(crate) fn admin_error(config: &Config, at: Option<SocketAddr>, insecure: bool) -> Option<StartError> {
    let is_authenticated = !config.admin_tokens().is_empty();
    let error = admin_listener(at?).check(is_authenticated, insecure || config.insecure()).err()?;
    Some(StartError::at_key(config, "admin", &error))
}

fn admin_listener(at: SocketAddr) -> Listener {
    let (subject, auth_option) = ("health, metrics and records", Some("--admin-token-hash"));
    Listener { at, subject, option: "--admin", auth_option }
}

/// Checks that there is an upstream that checks the credentials of callers, and gets no others. Any header, and the query of
/// the URL, may be a credential, so none is allowed.
fn check_passthrough(upstreams: &Upstreams<'_>) -> Result<(), UsageError> {
    let (url, headers) = match upstreams {
        Upstreams::OneRemote { url, headers } => (url, headers),
        Upstreams::Other => {
            return Err("auth passthrough needs exactly one upstream, with a URL, that checks the credentials of callers; \
                        use bearer or jwt in front of commands and of several servers"
                .into());
        }
        Upstreams::Unknown => return Ok(()),
    };
    // Without a colon the line is invalid, and may be a secret.
    let name =
        |line: &String| line.split_once(':').map_or("without a name", |(name, _)| name.trim()).to_owned();
    let own = match headers.first() {
        Some(line) => format!("the header {} of the configuration", name(line)),
        None if url.contains('?') => "the query of its URL".to_owned(),
        None => return Ok(()),
    };
    Err(format!(
        "auth passthrough lets the upstream check each caller by what the caller sends, but {own} may be a credential for \
         all of them: remove it, or use bearer or jwt"
    )
    .into())
}

/// Returns the function that fetches the keys at a URL.
fn keys_at(url: &Uri) -> Result<FetchKeys, Box<dyn Error>> {
    let client = HttpClient::new(url.scheme_str() == Some("https"))?;
    let url = url.clone();
    Ok(Box::new(move || Box::pin(fetch_keys(client.clone(), url.clone()))))
}

async fn fetch_keys(client: HttpClient, url: Uri) -> FetchedKeys {
    let fetch = async {
        let mut request = Request::new(body::empty());
        *request.uri_mut() = url;
        let headers: &mut HeaderMap = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, application/jwk-set+json"));
        let response = client.send(request).await.map_err(|error| error.to_string())?;
        // A redirect is no success: it leads to a server that the operator has not named.
        if !response.status().is_success() {
            return Err(format!("the response status was {}", response.status()));
        }
        let (mut head, content) = response.into_parts();
        let content = body::decode_body(&mut head.headers, content).map_err(|error| error.to_string())?;
        body::read_all(content, MAX_KEYS_BYTES).await.map_err(|error| error.to_string())
    };
    timeout(KEYS_TIMEOUT, fetch)
        .await
        .unwrap_or_else(|_| Err(format!("no response within {} s", KEYS_TIMEOUT.as_secs())))
}
