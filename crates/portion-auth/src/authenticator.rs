//! Checks the credential of a request.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use portion_policy::access::{AccessPolicy, JwtPolicy, TokenHash};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use crate::Identity;
use crate::jwt::{self, EncodedToken, FetchKeys, JwtError, KeySource};

/// Longest bearer token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Prefix of generated tokens, by which secret scanners can find them.
const TOKEN_PREFIX: &str = "ptn_";

/// Path of the metadata; the path of the resource follows.
pub const PROTECTED_RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";

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
    Jwt(JwtPolicy, KeySource),
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
                Method::Jwt(policy, keys)
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
                let name = name_of(tokens, &given).ok_or(Denial::UnknownToken)?;
                Ok(Some(Identity::Token { name: name.into() }))
            }
            Method::Jwt(policy, keys) => {
                let token = EncodedToken::parse(bearer_token(headers)?).ok_or(JwtError::Malformed)?;
                let keys = keys
                    .keys_for(token.key_id.as_deref(), Instant::now())
                    .await
                    .ok_or(Denial::KeysUnavailable)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                Ok(Some(jwt::verify(policy, &token, &keys, now)?))
            }
        }
    }
}

/// Reason that a caller is denied. It contains nothing of the credential.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Denial {
    /// There is no bearer token.
    #[error("a bearer token is required; send Authorization: Bearer TOKEN")]
    NoCredential,
    /// There is more than one `Authorization` header.
    #[error("the header field Authorization is repeated")]
    SeveralCredentials,
    /// The token is not known.
    #[error("the token is not valid")]
    UnknownToken,
    /// The JSON Web Token is not valid.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The keys of the issuer are not available.
    #[error("tokens cannot be verified at the moment; retry later")]
    KeysUnavailable,
}

impl Denial {
    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Jwt(JwtError::MissingScope) => StatusCode::FORBIDDEN,
            Self::KeysUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns the value of `WWW-Authenticate`, with the URL of the metadata and the scopes that a token needs.
    pub fn challenge(&self, metadata_url: Option<&str>, scopes: &[String]) -> Option<HeaderValue> {
        let mut parameters = Vec::new();
        match self {
            Self::KeysUnavailable => return None,
            Self::NoCredential => {}
            Self::Jwt(JwtError::MissingScope) => parameters.push("error=\"insufficient_scope\"".to_owned()),
            Self::SeveralCredentials | Self::UnknownToken | Self::Jwt(_) => {
                parameters.push(format!("error=\"invalid_token\", error_description=\"{self}\""));
            }
        }
        if !scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        parameters.extend(metadata_url.map(|url| format!("resource_metadata=\"{url}\"")));
        if parameters.is_empty() {
            parameters.push("realm=\"portion\"".to_owned());
        }
        HeaderValue::from_str(&format!("Bearer {}", parameters.join(", "))).ok()
    }
}

/// Returns a random token of 256 bits. Its hash needs no salt.
///
/// # Errors
/// Returns an error if the system has no randomness.
pub fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Returns the entry of a token in the configuration.
pub fn token_entry(name: &str, token: &str) -> TokenHash {
    TokenHash { name: name.into(), hash: hash_of(token) }
}

/// Metadata of the resources of a listener.
#[derive(Clone, Debug, Default)]
pub struct ResourceMetadata {
    /// URL under which clients reach the listener; without it, the host of the request is used.
    public_url: Option<Uri>,
    issuer: Option<String>,
    scopes: Vec<String>,
}

impl ResourceMetadata {
    /// Creates the metadata of a listener with this policy.
    pub fn new(policy: &AccessPolicy, public_url: Option<Uri>) -> Self {
        match policy {
            AccessPolicy::Jwt(jwt) => {
                Self { public_url, issuer: Some(jwt.issuer.clone()), scopes: jwt.scopes.clone() }
            }
            _ => Self { public_url, issuer: None, scopes: Vec::new() },
        }
    }

    /// Returns the scopes that a token needs.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns the URL of the metadata of the resource at `path`, for a request to `host`.
    pub fn url(&self, host: &str, path: &str) -> String {
        let path = if path == "/" { "" } else { path };
        format!("{}{PROTECTED_RESOURCE_PATH}{path}", self.base(host))
    }

    /// Returns the metadata of the resource at `path`, for a request to `host`.
    pub fn document(&self, host: &str, path: &str) -> String {
        let mut document = json!({
            "resource": format!("{}{path}", self.base(host)),
            "bearer_methods_supported": ["header"],
        });
        if let Some(issuer) = &self.issuer {
            document["authorization_servers"] = json!([issuer]);
        }
        if !self.scopes.is_empty() {
            document["scopes_supported"] = json!(self.scopes);
        }
        document.to_string()
    }

    fn base(&self, host: &str) -> String {
        match &self.public_url {
            Some(url) => url.to_string().trim_end_matches('/').to_owned(),
            None => format!("http://{host}"),
        }
    }
}

/// Returns the host of a request: that of its target, or of its `Host` field.
pub fn requested_host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> &'a str {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    uri.authority().map(Authority::as_str).or(named).unwrap_or_default()
}

/// Returns the name of a token. The time does not depend on which entry matches, or how much of it.
fn name_of<'a>(entries: &'a [TokenHash], token: &str) -> Option<&'a str> {
    let hash = hash_of(token);
    let mut name = None;
    for entry in entries {
        if bool::from(entry.hash.ct_eq(&hash)) {
            name = Some(&*entry.name);
        }
    }
    name
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

fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{AUTHORIZATION, COOKIE};
    use portion_policy::access::{AccessPolicy, JwtPolicy};
    use serde_json::{Value, json};

    use super::{Denial, ResourceMetadata, bearer_token, browser_token, name_of, new_token, token_entry};
    use crate::JwtError;

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

    #[test]
    fn challenges_follow_the_standards() {
        let check = |denial: Denial, scopes: &[&str], expect: Option<&str>| {
            let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let value = denial.challenge(Some("http://localhost/.well-known/x"), &scopes);
            assert_eq!(value.as_ref().and_then(|value| value.to_str().ok()), expect, "{denial:?}");
        };
        let url = "resource_metadata=\"http://localhost/.well-known/x\"";
        check(Denial::NoCredential, &[], Some(&format!("Bearer {url}")));
        check(Denial::NoCredential, &["a", "b"], Some(&format!("Bearer scope=\"a b\", {url}")));
        let invalid = "error=\"invalid_token\", error_description=\"the token has expired\"";
        check(JwtError::Expired.into(), &[], Some(&format!("Bearer {invalid}, {url}")));
        let scope = "error=\"insufficient_scope\", scope=\"a\"";
        check(JwtError::MissingScope.into(), &["a"], Some(&format!("Bearer {scope}, {url}")));
        check(Denial::KeysUnavailable, &[], None);
        assert_eq!(Denial::NoCredential.challenge(None, &[]).expect("a value"), "Bearer realm=\"portion\"");
    }

    #[test]
    fn a_token_has_one_name() {
        let tokens: Vec<String> = (0..50).map(|_| new_token().expect("randomness")).collect();
        let entries: Vec<_> =
            tokens.iter().enumerate().map(|(i, token)| token_entry(&i.to_string(), token)).collect();
        for (i, token) in tokens.iter().enumerate() {
            assert_eq!(name_of(&entries, token), Some(i.to_string().as_str()));
            for other in
                [&token[1..], &token[..token.len() - 1], &token.to_lowercase(), &format!("{token} "), ""]
            {
                assert_eq!(name_of(&entries, other), None, "{other}");
            }
        }
    }

    #[test]
    fn the_document_names_resource_and_issuer() {
        let policy = AccessPolicy::Jwt(JwtPolicy {
            issuer: "https://id.example".into(),
            audience: "a".into(),
            jwks_url: "https://id.example/keys".parse().expect("a URL"),
            scopes: vec!["read".into()],
        });
        let local = ResourceMetadata::new(&policy, None);
        let document: Value = serde_json::from_str(&local.document("localhost:1", "/mcp")).expect("JSON");
        let expect = json!({
            "resource": "http://localhost:1/mcp",
            "bearer_methods_supported": ["header"],
            "authorization_servers": ["https://id.example"],
            "scopes_supported": ["read"],
        });
        assert_eq!(document, expect);
        assert_eq!(
            local.url("localhost:1", "/mcp"),
            "http://localhost:1/.well-known/oauth-protected-resource/mcp"
        );
        let public = ResourceMetadata::new(&policy, Some("https://mcp.example/".parse().expect("a URL")));
        assert_eq!(
            public.url("localhost:1", "/"),
            "https://mcp.example/.well-known/oauth-protected-resource"
        );
    }
}
