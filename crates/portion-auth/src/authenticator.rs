//! Checks the credential of a request.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use http::{HeaderMap, HeaderValue, Uri};
use portion_policy::access::{AccessPolicy, TokenHash};

use crate::denial::Denial;
use crate::jwt::{EncodedToken, JwtError, JwtVerifier};
use crate::key_source::{FetchKeys, KeySource};
use crate::resource::ResourceMetadata;
use crate::{Identity, token};

/// Longest bearer token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Authenticates callers.
pub struct Authenticator {
    method: Method,
    /// Metadata for MCP clients; `None` for a listener that is no MCP server, but has pages for people.
    metadata: Option<ResourceMetadata>,
}

/// Name of the cookie with the token of a person who has signed in.
pub const TOKEN_COOKIE: &str = "portion_token";

enum Method {
    /// Credentials are not checked here.
    Unchecked,
    Bearer(Vec<TokenHash>),
    Jwt(Box<JwtVerifier>, KeySource),
}

impl Authenticator {
    /// Creates the authenticator of a policy. `public_url` is the URL under which clients reach the listener.
    /// `fetch_keys` returns the function that fetches the document at the policy's `jwks_url`.
    ///
    /// # Errors
    /// Returns the error of `fetch_keys`.
    pub fn new<E>(
        policy: AccessPolicy,
        public_url: Option<Uri>,
        fetch_keys: impl FnOnce(&Uri) -> Result<FetchKeys, E>,
    ) -> Result<Self, E> {
        let metadata = ResourceMetadata::new(&policy, public_url);
        let method = match policy {
            AccessPolicy::Anyone | AccessPolicy::Passthrough => return Ok(Self::unchecked()),
            AccessPolicy::Bearer(tokens) => Method::Bearer(tokens),
            AccessPolicy::Jwt(policy) => {
                let keys = KeySource::new(fetch_keys(&policy.jwks_url)?);
                Method::Jwt(Box::new(JwtVerifier::new(policy)), keys)
            }
        };
        Ok(Self { method, metadata: Some(metadata) })
    }

    /// Creates an authenticator that accepts every caller and verifies none.
    pub fn unchecked() -> Self {
        Self { method: Method::Unchecked, metadata: None }
    }

    /// Creates an authenticator of these tokens, for a listener with pages: browsers send the token in a cookie, or as the
    /// password of Basic authentication.
    pub fn bearer(tokens: Vec<TokenHash>) -> Self {
        Self { method: Method::Bearer(tokens), metadata: None }
    }

    /// Returns the metadata of the listener, if it has any.
    pub fn metadata(&self) -> Option<&ResourceMetadata> {
        self.metadata.as_ref()
    }

    /// Returns the value of `WWW-Authenticate` for a denied request to `path` at `host`.
    pub fn challenge(&self, denial: &Denial, host: &str, path: &str) -> Option<HeaderValue> {
        match &self.metadata {
            Some(metadata) => denial.challenge(Some(&metadata.url(host, path)), metadata.scopes()),
            None => denial.challenge(None, &[]),
        }
    }

    /// Fetches the keys of the token issuer, if tokens are verified with them, so that the first caller does not wait.
    pub async fn prepare(&self) {
        if let Method::Jwt(_, keys) = &self.method {
            keys.keys_for(None, Instant::now()).await;
        }
    }

    /// Returns true if callers need a credential for this program. It must not be forwarded.
    pub fn verifies(&self) -> bool {
        !matches!(self.method, Method::Unchecked)
    }

    /// Returns the identity of the caller; `None` if callers are not verified.
    ///
    /// # Errors
    /// Returns [`Denial`] if the request has no valid credential.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<Identity>, Denial> {
        match &self.method {
            Method::Unchecked => Ok(None),
            Method::Bearer(tokens) => {
                let given = match bearer_token(headers) {
                    Err(Denial::NoCredential) if self.metadata.is_none() => {
                        browser_token(headers).ok_or(Denial::NoCredential)?
                    }
                    given => given?.to_owned(),
                };
                let name = token::name_of(tokens, &given).ok_or(Denial::UnknownToken)?;
                Ok(Some(Identity::Token { name: name.into() }))
            }
            Method::Jwt(verifier, keys) => {
                let token = EncodedToken::parse(bearer_token(headers)?).ok_or(JwtError::Malformed)?;
                let keys =
                    keys.keys_for(token.key_id(), Instant::now()).await.ok_or(Denial::KeysUnavailable)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                Ok(Some(verifier.verify(&token, &keys, now)?))
            }
        }
    }
}

/// Returns the bearer token of a request.
fn bearer_token(headers: &HeaderMap) -> Result<&str, Denial> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(Denial::NoCredential),
        (Some(value), None) => value.to_str().map_err(|_| Denial::UnknownToken)?,
        (Some(_), Some(_)) => return Err(Denial::SeveralCredentials),
    };
    let (scheme, token) = value.trim().split_once(' ').ok_or(Denial::NoCredential)?;
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(Denial::NoCredential);
    }
    if token.len() > MAX_TOKEN_BYTES || token.contains(char::is_whitespace) {
        return Err(Denial::UnknownToken);
    }
    Ok(token)
}

/// Returns the token that a browser sends: in the cookie, or as the password of Basic authentication.
fn browser_token(headers: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let password = text(AUTHORIZATION).find_map(|value| {
        let (scheme, encoded) = value.trim().split_once(' ')?;
        let decoded =
            scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()).ok())??;
        String::from_utf8(decoded).ok()?.split_once(':').map(|(_, password)| password.to_owned())
    });
    let cookie = || {
        let mut cookies = text(COOKIE).flat_map(|line| line.split(';'));
        cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == TOKEN_COOKIE).then(|| value.to_owned())
        })
    };
    password.or_else(cookie).filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{AUTHORIZATION, COOKIE};

    use super::{bearer_token, browser_token};
    use crate::Denial;

    #[test]
    fn a_browser_sends_a_cookie_or_a_password() {
        let check = |name, value: &'static str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a value"));
            assert_eq!(browser_token(&headers).as_deref(), expect, "{value}");
        };
        check(COOKIE, "a=b; portion_token=abc; c=d", Some("abc"));
        check(COOKIE, "xportion_token=abc", None);
        check(COOKIE, "portion_token=", None);
        check(AUTHORIZATION, "Basic bWU6YWJj", Some("abc"));
        check(AUTHORIZATION, "basic OmE6Yg==", Some("a:b"));
        check(AUTHORIZATION, "Basic bWU=", None);
        check(AUTHORIZATION, "Basic !", None);
    }

    #[test]
    fn a_request_has_one_bearer_token() {
        let check = |values: &[&'static str], expect: Result<&str, Denial>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().expect("a value"));
            }
            assert_eq!(bearer_token(&headers), expect, "{values:?}");
        };
        check(&["Bearer a"], Ok("a"));
        check(&["bearer  a "], Ok("a"));
        check(&[], Err(Denial::NoCredential));
        check(&["Bearer"], Err(Denial::NoCredential));
        check(&["Bearer "], Err(Denial::NoCredential));
        check(&["Basic a"], Err(Denial::NoCredential));
        check(&["Bearer a b"], Err(Denial::UnknownToken));
        check(&["Bearer a", "Bearer a"], Err(Denial::SeveralCredentials));
    }
}
