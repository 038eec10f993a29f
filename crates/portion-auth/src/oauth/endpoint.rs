//! URLs that a server names, which a browser or a credential may be sent to.

use std::fmt;

use oauth2::url::Url;
use thiserror::Error;

use crate::oauth::server_url::is_loopback;

/// URL of an authorization server: `https`, or `http` on loopback if the MCP server is on loopback, too.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

/// Reason that a URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// It is not an absolute URL.
    #[error("is not a URL")]
    Invalid,
    /// Its scheme is neither `https` nor `http`.
    #[error("has the scheme `{0}`, which is refused: only https is accepted")]
    Scheme(String),
    /// It is plain `http`.
    #[error("is not encrypted, which is refused: only https is accepted")]
    NotEncrypted,
    /// It contains a user or password.
    #[error("contains a user or password, which is refused")]
    HasUser,
    /// It contains a fragment (RFC 6749, 3.1 and 3.2).
    #[error("contains a fragment, which is refused")]
    HasFragment,
}

impl Endpoint {
    /// Parses a URL. `is_loopback_allowed` accepts `http` on this machine.
    ///
    /// # Errors
    /// Returns [`EndpointError`] if it must not be used.
    pub fn parse(text: &str, is_loopback_allowed: bool) -> Result<Self, EndpointError> {
        let url = Url::parse(text).map_err(|_| EndpointError::Invalid)?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback_allowed && is_loopback(&url) => {}
            "http" => return Err(EndpointError::NotEncrypted),
            other => return Err(EndpointError::Scheme(other.chars().take(20).collect())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::HasUser);
        }
        if url.fragment().is_some() {
            return Err(EndpointError::HasFragment);
        }
        Ok(Self(url))
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Shows the URL without its query.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = self.0.clone();
        plain.set_query(None);
        f.write_str(plain.as_str())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointError};

    #[test]
    fn only_encrypted_urls_are_accepted() {
        let check = |text: &str, is_loopback_allowed: bool, expect: Result<(), EndpointError>| {
            let found = Endpoint::parse(text, is_loopback_allowed);
            assert_eq!(found.map(|_| ()), expect, "{text}");
        };
        check("https://as.example/authorize", false, Ok(()));
        check("http://127.0.0.1:9/authorize", true, Ok(()));
        check("http://127.0.0.1:9/authorize", false, Err(EndpointError::NotEncrypted));
        check("http://as.example/authorize", true, Err(EndpointError::NotEncrypted));
        check("http://127.0.0.1.evil.example/", true, Err(EndpointError::NotEncrypted));
        check("javascript:alert(1)", true, Err(EndpointError::Scheme("javascript".into())));
        check("file:///etc/passwd", true, Err(EndpointError::Scheme("file".into())));
        check("https://u@as.example/", true, Err(EndpointError::HasUser));
        check("https://as.example/authorize#x", true, Err(EndpointError::HasFragment));
        check("/authorize", true, Err(EndpointError::Invalid));
    }
}
