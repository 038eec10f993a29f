//! The identity of this client at an authorization server.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::store::{ClientIdentity, Secret};
use crate::oauth::http::{HttpError, OAuthHttp, excerpt};
use crate::oauth::metadata::AuthorizationServer;

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
pub(crate) fn error_detail(body: &[u8]) -> String {
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(excerpt);
    match (text("error"), text("error_description")) {
        (Some(code), Some(description)) => format!(" ({code}: {description})"),
        (Some(text), None) | (None, Some(text)) => format!(" ({text})"),
        (None, None) => String::new(),
    }
}
