//! A login in the browser: authorization code with PKCE, and the identity of this client at the authorization
//! server.

use std::io;
use std::time::Duration;

use http::StatusCode;
use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, AuthorizationCode, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::timeout;

use super::http::{HttpError, OAuthHttp, excerpt};
use super::metadata::{AuthorizationServer, DiscoveryError};
use super::store::{ClientIdentity, Credentials, Secret};
use crate::oauth::SessionOptions;
use crate::oauth::callback::{CallbackError, CallbackListener, ExpectedRedirect};
use crate::oauth::discovery::Discovery;
use crate::oauth::server_url::ServerUrl;
use crate::oauth::token_request::{TokenEndpoint, TokenError};

/// Scope with which `OpenID` providers issue refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

/// Reason that a login failed.
#[derive(Debug, Error)]
pub enum LoginError {
    /// No authorization server.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No identity of the client.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// No tokens.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The redirect brought no code.
    #[error("{0}")]
    Redirect(String),
    /// The listener for the redirect failed.
    #[error("cannot listen on loopback for the redirect: {0}; choose a free port with --callback-port")]
    Listener(#[from] io::Error),
    /// Nobody has finished the login.
    #[error("the login was not finished within {minutes} minutes", minutes = .0.as_secs().div_ceil(60))]
    TimedOut(Duration),
}

impl LoginError {
    /// Returns true if a person has seen the login: it failed after the browser was opened.
    pub(crate) fn was_shown(&self) -> bool {
        matches!(self, Self::Redirect(_) | Self::TimedOut(_) | Self::Token(_))
    }
}

/// Runs a login. `show` gets the URL for the browser.
pub(crate) async fn log_in(
    http: &OAuthHttp,
    server: &ServerUrl,
    found: &Discovery,
    scope: Option<&str>,
    options: &SessionOptions,
    show: &(dyn Fn(&str) + Send + Sync),
) -> Result<Credentials, LoginError> {
    let listener = CallbackListener::bind(options.callback_port).await?;
    let redirect_uri = listener.redirect_uri();
    let client = identify(http, found, &redirect_uri, scope, options).await?;
    let redirect_uri = RedirectUrl::new(redirect_uri)
        .map_err(|error| LoginError::Redirect(format!("the redirect is not a URL: {error}")))?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let oauth = BasicClient::new(ClientId::new(client.client_id.clone()))
        .set_auth_uri(AuthUrl::from_url(found.server.authorization_endpoint.url().clone()))
        .set_redirect_uri(redirect_uri.clone());
    let mut request = oauth.authorize_url(CsrfToken::new_random).set_pkce_challenge(challenge);
    for name in scope.unwrap_or_default().split_whitespace() {
        request = request.add_scope(Scope::new(name.to_owned()));
        if name == OFFLINE_ACCESS {
            // OpenID Connect Core 1.0, 11: without it, the scope is ignored.
            request = request.add_extra_param("prompt", "consent");
        }
    }
    if let Some(resource) = &found.resource {
        request = request.add_extra_param("resource", resource.clone());
    }
    let (url, state) = request.url();
    let expected = ExpectedRedirect {
        state: state.into_secret(),
        issuer: found.server.issuer.clone(),
        requires_issuer: found.server.sends_issuer,
    };
    show(url.as_str());
    let received = timeout(options.login_timeout, listener.receive(expected)).await;
    let code = received.map_err(|_| LoginError::TimedOut(options.login_timeout))?;
    let code = code.map_err(|error: CallbackError| LoginError::Redirect(error.to_string()))?;
    let endpoint = TokenEndpoint {
        http,
        url: found.server.token_endpoint.url(),
        client: &client,
        resource: found.resource.as_deref(),
    };
    let tokens = endpoint.exchange_code(AuthorizationCode::new(code), verifier, &redirect_uri, scope).await?;
    let revocation_endpoint = found.server.revocation_endpoint.as_ref();
    Ok(Credentials {
        server: server.as_str().to_owned(),
        resource: found.resource.clone(),
        issuer: found.server.issuer.clone(),
        token_endpoint: found.server.token_endpoint.as_str().to_owned(),
        revocation_endpoint: revocation_endpoint.map(|url| url.as_str().to_owned()),
        client,
        tokens,
    })
}

/// Returns the identity of this client: a configured one, else the document's, else a new one. A new registration per
/// login needs no fixed port and cannot be out of date.
async fn identify(
    http: &OAuthHttp,
    found: &Discovery,
    redirect_uri: &str,
    scope: Option<&str>,
    options: &SessionOptions,
) -> Result<ClientIdentity, RegistrationError> {
    if let Some(id) = &options.client_id {
        let client = ClientIdentity::configured(id, options.client_secret.as_deref());
        return Ok(client.for_server(&found.server));
    }
    match &options.client_metadata_url {
        Some(url) if found.server.accepts_metadata_documents => Ok(ClientIdentity::configured(url, None)),
        _ => register(http, &found.server, redirect_uri, scope).await,
    }
}

/// Chooses the scopes to request: the configured ones, else those of the challenge, else those of the resource.
/// `granted` is set if a valid token lacks scopes.
pub(crate) fn choose_scope(
    configured: Option<&str>,
    challenged: Option<&str>,
    granted: Option<&str>,
    found: &Discovery,
) -> Option<String> {
    let of_resource = || Some(found.scopes.join(" ")).filter(|scopes| !scopes.is_empty());
    let base = configured.or(challenged).map(str::to_owned).or_else(of_resource);
    let mut names: Vec<&str> = Vec::new();
    // More scopes than those granted are requested together with them.
    let added = granted.and(challenged);
    for name in [granted, base.as_deref(), added].into_iter().flatten().flat_map(str::split_whitespace) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let offers_offline = found.server.scopes_supported.iter().any(|name| name == OFFLINE_ACCESS);
    if offers_offline && !names.is_empty() && !names.contains(&OFFLINE_ACCESS) {
        names.push(OFFLINE_ACCESS);
    }
    (!names.is_empty()).then(|| names.join(" "))
}

/// Reason that there is no identity.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// No response.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The server has no registration.
    #[error("{0} does not register clients by itself; register one there and use --client-id ID")]
    NotOffered(String),
    /// There is no authorization server where 2025-03-26 expects it.
    #[error(
        "{0} requires credentials and offers no login; provide a token: --header 'Authorization: Bearer ${{TOKEN}}'"
    )]
    NoLogin(String),
    /// The server refused the registration.
    #[error("{url} returned {status} to the registration of this client{detail}")]
    Refused {
        /// URL of the registration.
        url: String,
        /// Status.
        status: StatusCode,
        /// Error text of the server.
        detail: String,
    },
    /// The response cannot be used.
    #[error("the registration at {url} cannot be used: {reason}")]
    Unusable {
        /// URL of the registration.
        url: String,
        /// Fault of the response.
        reason: &'static str,
    },
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    #[serde(default)]
    client_secret_expires_at: u64,
    token_endpoint_auth_method: Option<String>,
}

/// Registers this client (RFC 7591).
pub(crate) async fn register(
    http: &OAuthHttp,
    server: &AuthorizationServer,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<ClientIdentity, RegistrationError> {
    let endpoint = server.registration_endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| RegistrationError::NotOffered(excerpt(&server.issuer)))?;
    let mut request = json!({
        "client_name": "Portion",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": preferred_method(server),
        "application_type": "native",
        "software_id": "portion",
        "software_version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(scope) = scope {
        request["scope"] = scope.into();
    }
    let url = excerpt(&endpoint.to_string());
    let body = request.to_string().into_bytes();
    let response = http.post_json(endpoint.url(), body).await?;
    let status = response.status();
    if server.is_assumed && matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
        return Err(RegistrationError::NoLogin(excerpt(&server.issuer)));
    }
    if !matches!(status, StatusCode::OK | StatusCode::CREATED) {
        return Err(RegistrationError::Refused { url, status, detail: error_detail(response.body()) });
    }
    let unusable = |reason| RegistrationError::Unusable { url: url.clone(), reason };
    let found: Registered =
        serde_json::from_slice(response.body()).map_err(|_| unusable("the response has no `client_id`"))?;
    let method = found.token_endpoint_auth_method.as_deref();
    let method = method.unwrap_or(if found.client_secret.is_some() { "client_secret_basic" } else { "none" });
    let client_secret = match (method, found.client_secret) {
        ("none", _) => None,
        ("client_secret_post" | "client_secret_basic", Some(secret)) => Some(Secret::new(secret)),
        ("client_secret_post" | "client_secret_basic", None) => {
            return Err(unusable("the client needs a secret and got none"));
        }
        _ => return Err(unusable("its way to authenticate the client is not supported")),
    };
    Ok(ClientIdentity {
        client_id: found.client_id,
        uses_basic: method == "client_secret_basic",
        secret_expires_at: client_secret
            .as_ref()
            .map(|_| found.client_secret_expires_at)
            .filter(|at| *at > 0),
        client_secret,
    })
}

/// Returns the method of client authentication to register with: none if possible, because a program on the machine of
/// its user keeps no secret.
fn preferred_method(server: &AuthorizationServer) -> &'static str {
    let Some(known) = &server.auth_methods else { return "none" };
    let order = ["none", "client_secret_post", "client_secret_basic"];
    order.into_iter().find(|method| known.iter().any(|other| other == method)).unwrap_or("none")
}

/// Returns the error code and description of a response, in parentheses.
fn error_detail(body: &[u8]) -> String {
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(excerpt);
    match (text("error"), text("error_description")) {
        (Some(code), Some(description)) => format!(" ({code}: {description})"),
        (Some(text), None) | (None, Some(text)) => format!(" ({text})"),
        (None, None) => String::new(),
    }
}
