//! Checks `Host` and `Origin`, so that web pages in a browser cannot send requests.
//!
//! A page of evil.example, whose name was changed to resolve to 127.0.0.1, sends `Host: evil.example` (DNS rebinding);
//! any other page sends its `Origin`. Programs other than browsers send our host and no origin.
//!
//! CORS: preflights of browsers are answered, and pages of allowed origins may read responses. A browser sends no credential with
//! a preflight, so it is answered before the caller is authenticated, and no backend sees it. Cookies are not allowed.

use std::net::SocketAddr;

use hyper::body::Body as HttpBody;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::http::uri::Uri;
use hyper::{Method, Request, Response, StatusCode};
use portion_policy::access::{ANY, Host, parse_authority, web_authority};
use thiserror::Error;

use crate::http::body::{self, Body};
use crate::mcp::request_headers::PARAM_HEADER_PREFIX;

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

/// Methods that pages may use.
const ALLOWED_METHODS: &str = "GET, POST, DELETE";
/// Header fields that pages may send: those of MCP, and credentials.
const ALLOWED_HEADERS: [&str; 11] = [
    "content-type",
    "accept",
    "authorization",
    "mcp-protocol-version",
    "mcp-session-id",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "x-api-key",
    "api-key",
    "x-auth-token",
];
/// Header fields that pages may read.
const EXPOSED_HEADERS: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";
/// Seconds for which a browser may remember the response to a preflight.
const MAX_AGE_SECONDS: &str = "3600";
/// Most fields with arguments of a tool that a preflight is allowed, and their longest name in bytes.
const MAX_PARAM_HEADERS: usize = 64;
const MAX_PARAM_NAME_BYTES: usize = 200;

/// Returns the origin of the page that sends a request; `None` if there is not exactly one.
pub(super) fn page_origin(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => Some(origin.clone()),
        _ => None,
    }
}

/// Returns the response to a preflight, without the fields of [`allow_reading`]; `None` if the request is no preflight.
pub(super) fn preflight_response<B: HttpBody>(request: &Request<B>) -> Option<Response<Body>> {
    let asks = *request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && request.body().is_end_stream();
    if !asks {
        return None;
    }
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED_METHODS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_SECONDS));
    let allowed = HeaderValue::try_from(allowed_headers(request.headers())).ok();
    headers.extend(allowed.map(|allowed| (ACCESS_CONTROL_ALLOW_HEADERS, allowed)));
    Some(response)
}

/// Lets a page of this origin read a response, unless the server has decided about that.
pub(super) fn allow_reading(headers: &mut HeaderMap, origin: HeaderValue) {
    if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    if !headers.get_all(VARY).iter().any(names_origin) {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
}

/// Returns true for a value of `Vary` by which a response depends on the origin.
fn names_origin(vary: &HeaderValue) -> bool {
    let is_origin = |name: &str| name.trim() == "*" || name.trim().eq_ignore_ascii_case("origin");
    vary.to_str().is_ok_and(|names| names.split(',').any(is_origin))
}

/// Returns the names of the fields that a page may send. Those with arguments of a tool have the names that the preflight
/// asks for.
fn allowed_headers(preflight: &HeaderMap) -> String {
    let requested = preflight.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let requested = requested.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let params = requested.map(str::trim).filter(|name| is_param_header(name)).take(MAX_PARAM_HEADERS);
    ALLOWED_HEADERS.into_iter().chain(params).collect::<Vec<_>>().join(", ")
}

/// Returns true for the name of a field with an argument of a tool.
fn is_param_header(name: &str) -> bool {
    let prefix = name.get(..PARAM_HEADER_PREFIX.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_HEADER_PREFIX))
        && name.len() <= MAX_PARAM_NAME_BYTES
        && HeaderName::try_from(name).is_ok()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod cors_tests {
    use super::*;

    const PREFLIGHT: &[(&str, &str)] =
        &[("origin", "https://app.example"), ("access-control-request-method", "POST")];

    fn answer(method: &str, fields: &[(&str, &str)], content: &'static str) -> Option<Response<Body>> {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        preflight_response(&request.body(body::full(content)).expect("a request"))
    }

    #[test]
    fn a_preflight_is_told_what_pages_may_send() {
        let check = |requested: &str, expect: &str| {
            let mut fields = PREFLIGHT.to_vec();
            fields.push(("access-control-request-headers", requested));
            let response = answer("OPTIONS", &fields, "").expect("a response");
            assert_eq!(response.status(), StatusCode::NO_CONTENT);
            let field = |name: &str| response.headers()[name].to_str().expect("ASCII");
            assert_eq!(field("access-control-allow-methods"), "GET, POST, DELETE");
            assert_eq!(field("access-control-max-age"), "3600");
            let allowed = field("access-control-allow-headers");
            let rest = allowed.strip_prefix(&ALLOWED_HEADERS.join(", "));
            assert_eq!(rest, Some(expect), "{requested}");
        };
        check("", "");
        check("content-type,authorization,x-mine", "");
        check(
            "mcp-param-region, Mcp-Param-City,mcp-paramx,mcp-param-a b",
            ", mcp-param-region, Mcp-Param-City",
        );
        check(&format!("mcp-param-{}", "x".repeat(300)), "");
    }

    #[test]
    fn other_requests_are_no_preflights() {
        assert!(answer("OPTIONS", PREFLIGHT, "").is_some());
        assert!(answer("OPTIONS", PREFLIGHT, "a body").is_none());
        assert!(answer("OPTIONS", &PREFLIGHT[..1], "").is_none());
        assert!(answer("POST", PREFLIGHT, "").is_none());
    }

    #[test]
    fn one_origin_may_read_a_response() {
        let origin = HeaderValue::from_static("https://app.example");
        let mut headers = HeaderMap::from_iter([(ORIGIN, origin.clone())]);
        assert_eq!(page_origin(&headers), Some(origin.clone()));
        headers.append(ORIGIN, origin.clone());
        assert_eq!((page_origin(&headers), page_origin(&HeaderMap::new())), (None, None));
        let mut response = HeaderMap::new();
        allow_reading(&mut response, origin.clone());
        assert_eq!(response[ACCESS_CONTROL_ALLOW_ORIGIN], origin);
        assert_eq!(response[ACCESS_CONTROL_EXPOSE_HEADERS], EXPOSED_HEADERS);
        let check = |vary: &'static str, expect: &[&str]| {
            let mut response = HeaderMap::from_iter([(VARY, HeaderValue::from_static(vary))]);
            allow_reading(&mut response, origin.clone());
            assert_eq!(response.get_all(VARY).iter().collect::<Vec<_>>(), expect);
        };
        check("Accept", &["Accept", "Origin"]);
        check("accept, origin", &["accept, origin"]);
        check("*", &["*"]);
    }

    #[test]
    fn what_the_server_says_stays() {
        let any = HeaderValue::from_static("*");
        let mut response = HeaderMap::from_iter([(ACCESS_CONTROL_ALLOW_ORIGIN, any)]);
        let before = response.clone();
        allow_reading(&mut response, HeaderValue::from_static("https://app.example"));
        assert_eq!(response, before);
    }
}
