//! The URL of an MCP server, as the key of its tokens.

use std::fmt;

use oauth2::url::{Host, Url};
use portion_text::display::hex;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// URL of an MCP server: `https`, or `http` on loopback.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(Url);

/// Reason that tokens cannot be sent to a URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServerUrlError {
    /// It is not an absolute URL.
    #[error("this is not the URL of a server; write it as https://HOST/PATH")]
    Invalid,
    /// The connection would not be encrypted.
    #[error("a login needs https, and plain http only on this machine; use the https URL of the server")]
    NotEncrypted,
    /// The URL contains a user or password.
    #[error("the URL contains a user or password; remove it")]
    HasUser,
}

impl ServerUrl {
    /// Parses a URL. A fragment is removed.
    ///
    /// # Errors
    /// Returns [`ServerUrlError`] if tokens must not be sent there.
    pub fn parse(text: &str) -> Result<Self, ServerUrlError> {
        let mut url = Url::parse(text.trim()).map_err(|_| ServerUrlError::Invalid)?;
        url.set_fragment(None);
        match url.scheme() {
            "https" if url.has_host() => {}
            "http" if is_loopback(&url) => {}
            "http" if url.has_host() => return Err(ServerUrlError::NotEncrypted),
            _ => return Err(ServerUrlError::Invalid),
        }
        if has_user(&url) {
            return Err(ServerUrlError::HasUser);
        }
        Ok(Self(url))
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Returns true if the server is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Returns the whole URL, whose query may be secret.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the name of the files for this server.
    pub(crate) fn file_stem(&self) -> String {
        hex(&Sha256::digest(self.0.as_str().as_bytes())[..16])
    }

    /// Returns true if `resource` names this server, or a part of its origin that contains it.
    pub(crate) fn is_within(&self, resource: &Url) -> bool {
        if resource.origin() != self.0.origin() || resource.fragment().is_some() {
            return false;
        }
        if resource.query().is_some_and(|query| self.0.query() != Some(query)) {
            return false;
        }
        let base = resource.path().trim_end_matches('/');
        let path = self.0.path();
        path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Shows the URL without its query, which may be secret.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_without_query(&self.0, f)
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

fn write_without_query(url: &Url, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(url.as_str().split('?').next().unwrap_or_default())
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns true if the host is this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

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
        if has_user(&url) {
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
        write_without_query(&self.0, f)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointError, ServerUrl, ServerUrlError};

    fn parse(text: &str) -> ServerUrl {
        ServerUrl::parse(text).expect("a URL")
    }

    #[test]
    fn plain_http_is_for_loopback() {
        let check = |text: &str, expect: Result<&str, ServerUrlError>| {
            let found = ServerUrl::parse(text);
            assert_eq!(found.as_ref().map(ServerUrl::as_str), expect.as_ref().map(|url| *url), "{text}");
        };
        check("https://H.example:443/mcp#x", Ok("https://h.example/mcp"));
        check("http://127.0.0.1:1/mcp", Ok("http://127.0.0.1:1/mcp"));
        check("http://[::1]:1/mcp", Ok("http://[::1]:1/mcp"));
        check("http://localhost/mcp", Ok("http://localhost/mcp"));
        check("http://h.example/mcp", Err(ServerUrlError::NotEncrypted));
        check("http://localhost.evil.example/mcp", Err(ServerUrlError::NotEncrypted));
        check("https://u:p@h.example/mcp", Err(ServerUrlError::HasUser));
        check("javascript:alert(1)", Err(ServerUrlError::Invalid));
        check("/mcp", Err(ServerUrlError::Invalid));
    }

    #[test]
    fn a_query_is_not_shown() {
        assert_eq!(parse("https://h.example/mcp?key=secret").to_string(), "https://h.example/mcp");
        assert!(!format!("{:?}", parse("https://h.example/mcp?key=secret")).contains("secret"));
    }

    #[test]
    fn a_resource_contains_a_server_by_whole_segments() {
        let check = |resource: &str, expect: bool| {
            let resource = oauth2::url::Url::parse(resource).expect("a URL");
            assert_eq!(parse("https://h.example/a/mcp").is_within(&resource), expect, "{resource}");
        };
        check("https://h.example/a/mcp", true);
        check("https://h.example/a/mcp/", true);
        check("https://h.example/a", true);
        check("https://h.example", true);
        check("https://h.example/a/m", false);
        check("https://h.example/a/mcp/x", false);
        check("https://h.example:444/a/mcp", false);
        check("http://h.example/a/mcp", false);
        check("https://other.example/a/mcp", false);
        check("https://h.example/a/mcp?x=1", false);
    }

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
