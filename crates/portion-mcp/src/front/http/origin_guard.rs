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
mod tests;
