//! Requests to the token endpoint and to the revocation endpoint.

use std::future::Future;
use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::url::{Url, form_urlencoded};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, EndpointNotSet, EndpointSet,
    PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, TokenResponse as _, TokenUrl,
};
use serde_json::Value;
use thiserror::Error;

use super::server_url::Endpoint;
use super::store::{ClientIdentity, Credentials, Secret, Tokens};
use crate::oauth::http::{HttpError, OAuthHttp, excerpt};

type TokenClient = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Reason that there are no tokens.
#[derive(Debug, Error)]
pub enum TokenError {
    /// No response.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The authorization server refused.
    #[error("the authorization server refused: {code}{description}")]
    Refused {
        /// Error code of RFC 6749.
        code: String,
        /// Description, after a colon.
        description: String,
    },
    /// The response cannot be used.
    #[error("the authorization server did not return a token: {0}")]
    Unusable(String),
}

/// The token endpoint, for one client and resource.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) http: &'a OAuthHttp,
    pub(crate) url: &'a Url,
    pub(crate) client: &'a ClientIdentity,
    pub(crate) resource: Option<&'a str>,
}

impl TokenError {
    /// Returns true if the tokens or the client are no longer valid, so that only a login helps.
    pub(crate) fn needs_login(&self) -> bool {
        const CODES: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];
        matches!(self, Self::Refused { code, .. } if CODES.contains(&code.as_str()))
    }
}

impl TokenEndpoint<'_> {
    /// Exchanges an authorization code. `scope` is the requested one.
    pub(crate) async fn exchange_code(
        &self,
        code: AuthorizationCode,
        verifier: PkceCodeVerifier,
        redirect_uri: &RedirectUrl,
        scope: Option<&str>,
    ) -> Result<Tokens, TokenError> {
        let client = self.token_client().set_redirect_uri(redirect_uri.clone());
        let mut request = client.exchange_code(code).set_pkce_verifier(verifier);
        for (name, value) in self.extra_parameters() {
            request = request.add_extra_param(name, value);
        }
        read_tokens(&request.request_async(&self.authenticated()).await?, scope, None)
    }

    /// Requests new tokens with the refresh token of `tokens`.
    pub(crate) async fn refresh(&self, token: &Secret, tokens: &Tokens) -> Result<Tokens, TokenError> {
        let client = self.token_client();
        let token = RefreshToken::new(token.expose().to_owned());
        let mut request = client.exchange_refresh_token(&token);
        for (name, value) in self.extra_parameters() {
            request = request.add_extra_param(name, value);
        }
        // A server that does not rotate refresh tokens returns none.
        let previous = tokens.refresh_token.clone();
        read_tokens(&request.request_async(&self.authenticated()).await?, tokens.scope.as_deref(), previous)
    }

    /// Returns a client that sends its id and a secret in the body, for servers that look for the id there, too.
    fn token_client(&self) -> TokenClient {
        let client = BasicClient::new(ClientId::new(self.client.client_id.clone()))
            .set_auth_type(AuthType::RequestBody)
            .set_token_uri(TokenUrl::from_url(self.url.clone()));
        match self.client.client_secret.as_ref().filter(|_| !self.client.uses_basic) {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.expose().to_owned())),
            None => client,
        }
    }

    fn authenticated(&self) -> AuthenticatedHttp<'_> {
        AuthenticatedHttp { http: self.http, authorization: basic_credentials(self.client) }
    }

    fn extra_parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.resource.map(|resource| ("resource", resource)).into_iter()
    }
}

/// Sends requests with the credentials of a client in their header.
struct AuthenticatedHttp<'a> {
    http: &'a OAuthHttp,
    authorization: Option<HeaderValue>,
}

impl<'c> AsyncHttpClient<'c> for AuthenticatedHttp<'_> {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, HttpError>> + Send + 'c>>;

    fn call(&'c self, mut request: Request<Vec<u8>>) -> Self::Future {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        Box::pin(async { self.http.send(request).await.map(with_numeric_lifetime) })
    }
}

/// Writes the lifetime of a token as a number of whole seconds. Some servers send it as text, or with a fraction.
fn with_numeric_lifetime(response: Response<Vec<u8>>) -> Response<Vec<u8>> {
    response.map(|body| {
        let mut document: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some(lifetime) = document.get_mut("expires_in") else { return body };
        let seconds = lifetime.as_f64().or_else(|| lifetime.as_str()?.trim().parse().ok());
        *lifetime = seconds.filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64).into();
        document.to_string().into_bytes()
    })
}

/// Returns the value of `Authorization` of a client that authenticates by its header. A space becomes `%20`, which servers
/// decode that do not take `+` for one.
fn basic_credentials(client: &ClientIdentity) -> Option<HeaderValue> {
    let secret = client.client_secret.as_ref().filter(|_| client.uses_basic)?;
    let encode =
        |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let pair = STANDARD.encode(format!("{}:{}", encode(&client.client_id), encode(secret.expose())));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn read_tokens(
    response: &BasicTokenResponse,
    requested_scope: Option<&str>,
    previous: Option<Secret>,
) -> Result<Tokens, TokenError> {
    if *response.token_type() != oauth2::basic::BasicTokenType::Bearer {
        return Err(TokenError::Unusable("the type of the token is not Bearer".into()));
    }
    let access_token = response.access_token().secret();
    if access_token.is_empty() || !access_token.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
        return Err(TokenError::Unusable("the token has characters that HTTP does not allow".into()));
    }
    let granted = response.scopes().map(|scopes| {
        let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        names.join(" ")
    });
    let refresh_token = response.refresh_token().map(|token| Secret::new(token.secret().clone()));
    let tokens = Tokens {
        access_token: Secret::new(access_token.clone()),
        refresh_token: refresh_token.or(previous),
        scope: granted.or_else(|| requested_scope.map(str::to_owned)),
        renew_at: None,
        expires_at: None,
    };
    Ok(tokens.with_lifetime(response.expires_in()))
}

impl From<RequestTokenError<HttpError, BasicErrorResponse>> for TokenError {
    fn from(error: RequestTokenError<HttpError, BasicErrorResponse>) -> Self {
        match error {
            RequestTokenError::ServerResponse(response) => Self::Refused {
                code: excerpt(response.error().as_ref()),
                description: response
                    .error_description()
                    .map(|text| format!(": {}", excerpt(text)))
                    .unwrap_or_default(),
            },
            RequestTokenError::Request(error) => Self::Http(error),
            // The response may contain a token, so it is not shown.
            RequestTokenError::Parse(..) => Self::Unusable("its response is not a token response".into()),
            RequestTokenError::Other(reason) => Self::Unusable(excerpt(&reason)),
        }
    }
}

/// Revokes the tokens (RFC 7009). Returns false if the server offers no revocation.
///
/// # Errors
/// Returns [`TokenError`] if the server did not revoke them.
pub(crate) async fn revoke(
    http: &OAuthHttp,
    credentials: &Credentials,
    is_loopback_allowed: bool,
) -> Result<bool, TokenError> {
    let Some(url) = &credentials.revocation_endpoint else { return Ok(false) };
    let url =
        Endpoint::parse(url, is_loopback_allowed).map_err(|error| TokenError::Unusable(error.to_string()))?;
    let tokens = &credentials.tokens;
    let refresh = tokens.refresh_token.iter().map(|token| ("refresh_token", token));
    for (kind, token) in refresh.chain([("access_token", &tokens.access_token)]) {
        let mut response =
            http.send(revocation_request(&url, &credentials.client, kind, token, false)?).await?;
        if response.status().is_client_error() {
            // Some servers expect the member in the body, whatever the client authenticates with.
            response = http.send(revocation_request(&url, &credentials.client, kind, token, true)?).await?;
        }
        if !response.status().is_success() {
            return Err(TokenError::Refused {
                code: response.status().to_string(),
                description: String::new(),
            });
        }
    }
    Ok(true)
}

fn revocation_request(
    url: &Endpoint,
    client: &ClientIdentity,
    kind: &str,
    token: &Secret,
    has_empty_secret: bool,
) -> Result<Request<Vec<u8>>, TokenError> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token.expose()).append_pair("token_type_hint", kind);
    form.append_pair("client_id", &client.client_id);
    let secret = client.client_secret.as_ref().map(Secret::expose);
    if let Some(secret) = secret.filter(|_| !client.uses_basic) {
        form.append_pair("client_secret", secret);
    } else if has_empty_secret {
        form.append_pair("client_secret", "");
    }
    let mut request = Request::new(form.finish().into_bytes());
    *request.method_mut() = Method::POST;
    *request.uri_mut() =
        url.as_str().parse().map_err(|_| TokenError::Unusable("the revocation URL is invalid".into()))?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.extend(basic_credentials(client).map(|value| (AUTHORIZATION, value)));
    Ok(request)
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::with_numeric_lifetime;

    #[test]
    fn lifetimes_are_numbers() {
        let check = |body: &str, expect: &str| {
            let response = with_numeric_lifetime(Response::new(body.as_bytes().to_vec()));
            assert_eq!(String::from_utf8_lossy(response.body()), expect);
        };
        check(r#"{"expires_in":"3600","a":1}"#, r#"{"expires_in":3600,"a":1}"#);
        check(r#"{"expires_in":3600.7}"#, r#"{"expires_in":3600}"#);
        check(r#"{"expires_in":"soon"}"#, r#"{"expires_in":null}"#);
        check(r#"{"expires_in":-1}"#, r#"{"expires_in":null}"#);
        for other in [r#"{ "a": 1 }"#, "a=1", ""] {
            check(other, other);
        }
    }
}
