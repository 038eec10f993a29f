//! Checks the credential of a request.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Uri};
use portion_policy::access::{AccessPolicy, TokenHash};

use crate::denial::Denial;
use crate::identity::Identity;
use crate::jwt::{EncodedToken, JwtError, JwtVerifier};
use crate::key_source::{FetchKeys, KeySource};
use crate::resource::ResourceMetadata;
use crate::token;

/// Longest bearer token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Authenticates callers.
pub struct Authenticator {
    method: Method,
    /// Metadata for MCP clients; `None` for a listener that is no MCP server.
    metadata: Option<ResourceMetadata>,
}

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

    /// Creates an authenticator of these tokens, for a listener without metadata.
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
                let name = token::name_of(tokens, bearer_token(headers)?).ok_or(Denial::UnknownToken)?;
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

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::AUTHORIZATION;

    use super::bearer_token;
    use crate::Denial;

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
