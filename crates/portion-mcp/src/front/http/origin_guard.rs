//! Checks `Host` and `Origin`, so that web pages in a browser cannot send requests.
//!
//! A page of evil.example, whose name was changed to resolve to 127.0.0.1, sends `Host: evil.example` (DNS rebinding);
//! any other page sends its `Origin`. Programs other than browsers send our host and no origin.

use std::net::SocketAddr;

use hyper::StatusCode;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::http::uri::Uri;
use portion_policy::web_origin::{ANY, Host, parse_authority, web_authority};
use thiserror::Error;

/// Allowed values of `Host` and `Origin`.
#[derive(Clone, Debug)]
pub struct OriginGuard {
    /// True if the listener can be reached from this machine only.
    is_local: bool,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
}

/// Reason that a request is rejected.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OriginRejected {
    /// The host is not allowed.
    #[error(
        "the host `{0}` is not allowed; use localhost or an IP address of this machine, or start with --allow-host {0}"
    )]
    UnknownHost(String),
    /// The host is invalid.
    #[error("`{0}` is not a host; send Host as NAME, NAME:PORT or [IPV6]:PORT")]
    InvalidHost(String),
    /// The request line has a host instead of a path, as for a tunnel, or `*`.
    #[error("the target of the request is not a path")]
    InvalidTarget,
    /// There is no `Host` header, or more than one.
    #[error("a request needs exactly one Host header")]
    MissingHost,
    /// The origin is not allowed.
    #[error("the origin `{0}` is not allowed; to allow it, start with --allow-origin {0}")]
    ForbiddenOrigin(String),
}

impl OriginRejected {
    /// Returns the status of the response: 400 if the target is no path, or `Host` is missing, repeated or invalid (RFC
    /// 9112, 3.2), else 403.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::InvalidTarget | Self::MissingHost | Self::InvalidHost(_) => StatusCode::BAD_REQUEST,
            Self::UnknownHost(_) | Self::ForbiddenOrigin(_) => StatusCode::FORBIDDEN,
        }
    }
}

impl OriginGuard {
    /// Creates the guard of a listener at `address`. It allows the hosts `localhost` and loopback addresses. If the
    /// listener can be reached from other machines, it allows every IP address: a page can make its own name resolve to
    /// any address, but cannot forge an address. `hosts` (with or without a port) and `origins` are allowed in
    /// addition; [`ANY`] allows all of them.
    pub fn new(address: SocketAddr, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self {
            is_local: address.ip().to_canonical().is_loopback(),
            allowed_hosts: hosts,
            allowed_origins: origins,
        }
    }

    /// Checks a request. `target` is the URI of its request line.
    ///
    /// # Errors
    /// Returns [`OriginRejected`] if host or origin are not allowed.
    pub fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), OriginRejected> {
        if !target.path().starts_with('/') {
            return Err(OriginRejected::InvalidTarget);
        }
        let mut host_headers = headers.get_all(HOST).iter();
        let host = match (target.authority(), host_headers.next(), host_headers.next()) {
            (_, _, Some(_)) | (None, None, None) => return Err(OriginRejected::MissingHost),
            (Some(authority), _, None) => authority.as_str().to_owned(),
            (None, Some(host), None) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        };
        let parsed_host =
            parse_authority(&host).ok_or_else(|| OriginRejected::InvalidHost(printable_name(&host)))?;
        let is_own = is_loopback(parsed_host) || (!self.is_local && matches!(parsed_host, Host::Address(_)));
        if !is_own && !self.allows_host(&host, parsed_host) {
            return Err(OriginRejected::UnknownHost(printable_name(&host)));
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            let authority = web_authority(&origin);
            let same = authority.is_some_and(|authority| authority.eq_ignore_ascii_case(&host));
            let local = self.is_local && authority.and_then(parse_authority).is_some_and(is_loopback);
            let listed = self
                .allowed_origins
                .iter()
                .any(|allowed| allowed == ANY || allowed.eq_ignore_ascii_case(&origin));
            if !(same || local || listed) {
                return Err(OriginRejected::ForbiddenOrigin(printable_name(&origin)));
            }
        }
        Ok(())
    }

    fn allows_host(&self, host: &str, requested: Host<'_>) -> bool {
        self.allowed_hosts.iter().any(|allowed| {
            allowed == ANY
                || allowed.eq_ignore_ascii_case(host)
                || parse_authority(allowed).is_some_and(|allowed_host| {
                    // A host listed with a port is allowed with that port only.
                    has_no_port(allowed) && is_same_host(allowed_host, requested)
                })
        })
    }
}

/// Returns true if an authority, valid for [`parse_authority`], has no port.
fn has_no_port(authority: &str) -> bool {
    authority.ends_with(']') || !authority.contains(':')
}

fn is_same_host(a: Host<'_>, b: Host<'_>) -> bool {
    match (a, b) {
        (Host::Name(a), Host::Name(b)) => a.eq_ignore_ascii_case(b),
        (a, b) => a == b,
    }
}

/// Returns true for `localhost` and loopback addresses.
fn is_loopback(host: Host<'_>) -> bool {
    match host {
        Host::Name(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Address(address) => address.to_canonical().is_loopback(),
    }
}

/// Returns the beginning of a name, without control characters.
fn printable_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod table;

#[cfg(test)]
mod tests {
    use super::{OriginGuard, OriginRejected};
    use hyper::HeaderMap;
    use hyper::header::{HOST, HeaderValue, ORIGIN};

    fn check(at: &str, host: &str, origin: Option<&str>, expect: bool) {
        let allowed = (vec!["proxy.example".into()], vec!["https://app.example".into()]);
        let guard = OriginGuard::new(at.parse().expect("an address"), allowed.0, allowed.1);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).expect("a value"));
        }
        let checked = guard.check(&"/mcp".parse().expect("a path"), &headers);
        assert_eq!(checked.is_ok(), expect, "{at} {host} {origin:?}: {checked:?}");
    }

    #[test]
    fn a_loopback_listener_allows_loopback_hosts_only() {
        let at = "127.0.0.1:8765";
        for host in
            ["localhost:8765", "127.0.0.1:8765", "LOCALHOST", "[::1]:8765", "127.9.9.9", "proxy.example:1"]
        {
            check(at, host, None, true);
        }
        for host in [
            "evil.example",
            "localhost.evil.example:8765",
            "127.0.0.1.evil.example",
            "",
            "a@localhost",
            "10.0.0.1",
            "127.0.0.1:evil",
            "127.0.0.1:99999999",
            "127.0.0.1:65536",
            "127.0.0.1:+1",
            "127.0.0.1:1:1",
            "127.0.0.1:",
            "localhost:evil",
            ":99999999",
            ":80",
            "[127.0.0.1]",
            "[127.0.0.1]:80",
            "[localhost]",
            "[::1",
            "[::1]evil",
            "[::1]:evil",
            "::1",
            "localhost/x",
            "localhost,evil.example",
            "localhost evil",
            "127.1",
            "0x7f.0.0.1",
            "127.0.0.1.",
            "proxy.example:evil",
        ] {
            check(at, host, None, false);
        }
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://app.example", "http://[::1]:5"] {
            check(at, "localhost:8765", Some(origin), true);
        }
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://localhost@evil.example",
            "file://",
            "http://localhost:evil",
            "http://[127.0.0.1]",
            "http://localhost/x",
        ] {
            check(at, "localhost:8765", Some(origin), false);
        }
    }

    #[test]
    fn a_public_listener_allows_addresses_and_listed_names() {
        for at in ["0.0.0.0:80", "[::]:80", "192.0.2.7:80"] {
            for host in ["192.0.2.7", "192.0.2.7:80", "[2001:db8::1]:80", "localhost", "proxy.example:5"] {
                check(at, host, None, true);
            }
            for host in ["mcp.example", "evil.example:80", "192.0.2.7:evil", "[192.0.2.7]"] {
                check(at, host, None, false);
            }
            check(at, "192.0.2.7", Some("http://192.0.2.7"), true);
            check(at, "192.0.2.7:80", Some("http://192.0.2.7:3000"), false);
            check(at, "proxy.example", Some("https://proxy.example"), true);
            check(at, "proxy.example", Some("https://app.example"), true);
            check(at, "proxy.example", Some("https://evil.example"), false);
            check(at, "proxy.example", Some("http://localhost:3000"), false);
            check(at, "evil.example", Some("http://evil.example"), false);
        }
        check("[::ffff:127.0.0.1]:80", "192.0.2.7", None, false);
    }

    #[test]
    fn a_host_with_a_port_is_allowed_with_that_port() {
        let check = |allowed: &str, host: &str, expect: bool| {
            let guard = OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![allowed.into()], vec![]);
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
            assert_eq!(
                guard.check(&"/".parse().expect("a path"), &headers).is_ok(),
                expect,
                "{allowed} {host}"
            );
        };
        check("a.example", "A.example:1", true);
        check("a.example:1", "a.example:1", true);
        check("a.example:1", "a.example:2", false);
        check("192.0.2.7", "192.0.2.7:9", true);
        check("[2001:db8::1]", "[2001:0db8::1]:9", true);
        check("*", "whatever.example", true);
        check("*", "whatever:evil", false);
    }

    #[test]
    fn a_target_is_a_path() {
        let guard = OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]);
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        let check = |target: &str, expect: Result<(), OriginRejected>| {
            assert_eq!(guard.check(&target.parse().expect("a target"), &headers), expect, "{target}");
        };
        for target in ["/", "/mcp?x=*", "/*", "http://localhost", "http://localhost?x=1"] {
            check(target, Ok(()));
        }
        for target in ["*", "localhost", "localhost:443", "mcp"] {
            check(target, Err(OriginRejected::InvalidTarget));
        }
    }

    #[test]
    fn exactly_one_host_is_required() {
        let guard = OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]);
        let mut headers = HeaderMap::new();
        let target = "/".parse().expect("a path");
        assert!(guard.check(&target, &headers).is_err());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&target, &headers).is_ok());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&target, &headers).is_err());
    }
}
