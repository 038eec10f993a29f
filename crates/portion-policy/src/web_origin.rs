//! Hosts and origins of requests, and those that an operator allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Entry that allows every host, or every origin.
pub const ANY: &str = "*";

/// Origin of pages that have none of their own, such as files.
const OPAQUE_ORIGIN: &str = "null";
/// Schemes of web pages, each with its default port, which browsers do not send.
const WEB_SCHEMES: [(&str, &str); 2] = [("http", ":80"), ("https", ":443")];
/// Longest name in the domain name system.
const MAX_HOST_NAME_BYTES: usize = 255;

/// Host name or address, without port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// Name.
    Name(&'a str),
    /// Address.
    Address(IpAddr),
}

/// Returns the host of an authority, `NAME`, `NAME:PORT`, `ADDRESS:PORT` or `[IPV6]:PORT`; `None` if it is invalid.
pub fn parse_authority(authority: &str) -> Option<Host<'_>> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        (Host::Address(address.into()), after.strip_prefix(':').or(after.is_empty().then_some("0"))?)
    } else {
        let (name, port) = authority.split_once(':').unwrap_or((authority, "0"));
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > MAX_HOST_NAME_BYTES || !name.bytes().all(is_name_byte) {
            return None;
        }
        (name.parse::<Ipv4Addr>().map_or(Host::Name(name), |address| Host::Address(address.into())), port)
    };
    let is_port = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_port && port.parse::<u16>().is_ok()).then_some(host)
}

/// Returns the authority of an origin, if it is one of web pages: of the scheme `http` or `https`. The name in another
/// origin, such as that of a browser extension, is no host.
pub fn web_authority(origin: &str) -> Option<&str> {
    let (scheme, authority) = origin.split_once("://")?;
    default_port(scheme).is_some().then_some(authority)
}

/// Returns true if an allowed host is [`ANY`] or can be that of a request.
///
/// ```
/// use portion_policy::web_origin::can_match_host;
///
/// assert!(["*", "a.example", "a.example:80", "[::1]"].into_iter().all(can_match_host));
/// assert!(!["*.example", "http://a.example", "::1"].into_iter().any(can_match_host));
/// ```
pub fn can_match_host(allowed: &str) -> bool {
    allowed == ANY || parse_authority(allowed).is_some()
}

/// Returns true if an allowed origin is [`ANY`] or can be that of a page.
///
/// ```
/// use portion_policy::web_origin::can_match_origin;
///
/// assert!(["*", "null", "https://a.example:8443", "moz-extension://a1-b2"].into_iter().all(can_match_origin));
/// assert!(!["https://*.example", "https://a.example/", "a.example"].into_iter().any(can_match_origin));
/// ```
pub fn can_match_origin(allowed: &str) -> bool {
    if allowed == ANY || allowed.eq_ignore_ascii_case(OPAQUE_ORIGIN) {
        return true;
    }
    let Some((scheme, authority)) = allowed.split_once("://") else { return false };
    let is_valid = parse_authority(authority).is_some();
    match default_port(scheme) {
        Some(port) => is_valid && !authority.ends_with(port),
        None => is_scheme(scheme) && (is_valid || authority.is_empty()),
    }
}

/// Returns the default port of a scheme of web pages, after its colon.
fn default_port(scheme: &str) -> Option<&'static str> {
    WEB_SCHEMES.iter().find(|(web, _)| scheme.eq_ignore_ascii_case(web)).map(|(_, port)| *port)
}

/// Returns true if a byte can be part of the scheme of a URL (RFC 3986, 3.1).
pub(crate) fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_scheme_byte)
}

#[cfg(test)]
mod tests {
    use super::{can_match_host, can_match_origin};

    #[test]
    fn hosts_that_no_request_names_are_found() {
        for host in
            ["*", "a", "a_b-c.example", "a.example:0", "192.0.2.7", "192.0.2.7:80", "[2001:db8::1]:443"]
        {
            assert!(can_match_host(host), "{host}");
        }
        for host in
            ["", "**", "*.example", "a.*", "*:80", "a.example:*", "a.example:", "a.example/", "::1", "a b"]
        {
            assert!(!can_match_host(host), "{host}");
        }
        for host in
            ["http://a.example", "//a.example", "me@a.example", "b\u{fc}cher.example", "a.example:65536"]
        {
            assert!(!can_match_host(host), "{host}");
        }
    }

    #[test]
    fn origins_that_no_page_has_are_found() {
        for origin in [
            "*",
            "null",
            "NULL",
            "https://a.example",
            "HTTPS://A.example:8443",
            "http://a.example:443",
            "https://[::1]:5",
            "https://[::443]",
            "file://",
            "chrome-extension://abcdef",
            "tauri://localhost",
        ] {
            assert!(can_match_origin(origin), "{origin}");
        }
        for origin in [
            "",
            "a.example",
            "//a.example",
            "://a.example",
            "https://",
            "https://*",
            "https://*.example.com",
            "https://a.example:*",
            "*://a.example",
            "https://a.example/",
            "https://a.example/*",
            "https://a.example?x",
            "https://a.example:443",
            "http://a.example:80",
            "https://me@a.example",
            "https://b\u{fc}cher.example",
            "chrome-extension://*",
            "https://a.example https://b.example",
        ] {
            assert!(!can_match_origin(origin), "{origin}");
        }
    }
}
