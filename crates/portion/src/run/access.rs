//! Authentication of callers, as configured.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body as HttpBody;
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::{Request, Response, StatusCode, Uri};
use portion_auth::{Authenticator, FetchKeys, FetchedKeys, PROTECTED_RESOURCE_PATH, requested_host};
use portion_config::Config;
use portion_gateway::principal::PrincipalResolver;
use portion_mcp::front::http::OriginGuard;
use portion_mcp::http::body;
use portion_mcp::upstream::http::HttpClient;
use portion_policy::access::AccessPolicy;
use portion_rest::reverse_proxy::{denied_response, document_response, rejected_response};
use portion_rest::{Body, CallerIdentity, UnverifiedPreflight, is_preflight};
use tokio::time::timeout;

use super::listening::Listener;
use crate::cli::failure::{StartError, UsageError};
use crate::run::server::Server;

/// Timeout of a request for the keys of an issuer.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest document with keys, in bytes.
const MAX_KEYS_BYTES: usize = 256 << 10;

/// Path of the API, as a resource whose metadata clients request.
const RESOURCE_PATH: &str = "/";
/// Header fields of a CORS preflight that the API gets. It gets no others from a caller that is not verified.
const PREFLIGHT_FIELDS: [HeaderName; 6] =
    [ACCEPT, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, USER_AGENT];

/// Checks and identifies callers.
pub(crate) struct ApiCallers {
    pub(crate) guard: OriginGuard,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) principals: PrincipalResolver,
}

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

impl ApiCallers {
    /// Returns the request with the identity of its caller, and without the credential if that was for this program.
    ///
    /// # Errors
    /// Returns the response if the caller is denied, or has requested the metadata of this program.
    pub(crate) async fn admit<B: HttpBody>(
        &self,
        mut request: Request<B>,
    ) -> Result<Request<B>, Response<Body>> {
        if let Err(rejected) = self.guard.check(request.uri(), request.headers()) {
            return Err(rejected_response(rejected.status(), &rejected.to_string()));
        }
        if !self.authenticator.verifies() {
            let principal = self.principals.identify("", None, request.headers());
            request.extensions_mut().insert(CallerIdentity::from(&principal));
            return Ok(request);
        }
        let host = requested_host(request.uri(), request.headers());
        if let Some(metadata) =
            self.authenticator.metadata().filter(|_| request.uri().path() == PROTECTED_RESOURCE_PATH)
        {
            return Err(document_response(metadata.document(host, RESOURCE_PATH)));
        }
        if is_preflight(request.method(), request.headers()) && request.body().is_end_stream() {
            // A browser sends no credential with it.
            let given = std::mem::take(request.headers_mut());
            let allowed = given.iter().filter(|(name, _)| PREFLIGHT_FIELDS.contains(name));
            request.headers_mut().extend(allowed.map(|(name, value)| (name.clone(), value.clone())));
            let principal = self.principals.identify("", None, &HeaderMap::new());
            request.extensions_mut().insert(CallerIdentity::from(&principal));
            request.extensions_mut().insert(UnverifiedPreflight);
            return Ok(request);
        }
        match self.authenticator.authenticate(request.headers()).await {
            Ok(identity) => {
                let identity = identity.as_ref().map(|identity| identity.parts()).unwrap_or_default();
                let principal = self.principals.identify_verified(&identity, "", None, request.headers());
                request.extensions_mut().insert(CallerIdentity::from(&principal));
                request.headers_mut().remove(AUTHORIZATION);
                Ok(request)
            }
            Err(denial) => {
                tracing::debug!(%denial, "denied a caller");
                let mut response = denied_response(denial.status(), &denial.to_string());
                if let Some(challenge) = self.authenticator.challenge(&denial, host, RESOURCE_PATH) {
                    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                }
                if denial.status() == StatusCode::SERVICE_UNAVAILABLE {
                    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                }
                Err(response)
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hyper::{HeaderMap, Request};
    use portion_auth::Authenticator;
    use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
    use portion_mcp::front::http::OriginGuard;
    use portion_policy::access::TokenHash;
    use portion_rest::{CallerIdentity, UnverifiedPreflight};

    use super::ApiCallers;

    const PREFLIGHT: &str =
        "host: localhost\norigin: http://localhost:3000\naccess-control-request-method: GET";

    /// Returns the header fields that the API gets, or the status of the response.
    async fn admitted(method: &str, fields: &str, body: &str) -> Result<HeaderMap, u16> {
        let callers = ApiCallers {
            guard: OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]),
            authenticator: Arc::new(Authenticator::bearer(vec![TokenHash {
                name: "ci".into(),
                hash: [0; 32],
            }])),
            principals: PrincipalResolver::new([7; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec()),
        };
        let mut request = Request::builder().method(method).uri("/bookings?limit=5");
        for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        let request = request.body(body.to_owned()).expect("a request");
        let request = callers.admit(request).await.map_err(|response| response.status().as_u16())?;
        let identity = request.extensions().get::<CallerIdentity>().expect("an identity");
        assert!(!identity.is_authenticated && request.extensions().get::<UnverifiedPreflight>().is_some());
        Ok(request.headers().clone())
    }

    #[tokio::test]
    async fn a_preflight_passes_without_a_token_and_without_other_fields() {
        let fields = admitted("OPTIONS", PREFLIGHT, "").await.expect("it is admitted");
        assert_eq!(fields.len(), 3);
        let more = "\nauthorization: Bearer a\ncookie: a=b\nx-http-method-override: DELETE\nx-api-key: a";
        assert_eq!(admitted("OPTIONS", &format!("{PREFLIGHT}{more}"), "").await, Ok(fields));
    }

    #[tokio::test]
    async fn what_is_no_preflight_needs_a_token() {
        assert_eq!(admitted("GET", PREFLIGHT, "").await, Err(401));
        assert_eq!(admitted("OPTIONS", PREFLIGHT, "a body").await, Err(401));
        assert_eq!(admitted("OPTIONS", "host: localhost\norigin: http://localhost:3000", "").await, Err(401));
        let method = "host: localhost\naccess-control-request-method: GET";
        assert_eq!(admitted("OPTIONS", method, "").await, Err(401));
        let stranger = PREFLIGHT.replace("localhost:3000", "evil.example");
        assert_eq!(admitted("OPTIONS", &stranger, "").await, Err(403));
    }
}
