//! Decides who may call a listener: authentication of callers, and the hosts and origins of requests that an operator
//! allows.
//!
//! ```
//! use portion_policy::access::TokenHash;
//!
//! let entry: TokenHash =
//!     "ci=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".parse()?;
//! assert_eq!(&*entry.name, "ci");
//! # Ok::<(), portion_policy::access::TokenHashError>(())
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::Uri;
use thiserror::Error;

/// Prefix of a hash, before its hexadecimal digits.
const HASH_PREFIX: &str = "sha256:";

/// Longest name of a token.
const MAX_NAME_BYTES: usize = 64;

/// Entry that allows every host, or every origin.
pub const ANY: &str = "*";

/// Origin of pages that have none of their own, such as files.
const OPAQUE_ORIGIN: &str = "null";

/// Schemes of web pages, each with its default port, which browsers do not send.
const WEB_SCHEMES: [(&str, &str); 2] = [("http", ":80"), ("https", ":443")];

/// Longest name in the domain name system.
const MAX_HOST_NAME_BYTES: usize = 255;

/// Callers that a listener accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Everyone who reaches the listener.
    #[default]
    Anyone,
    /// Callers with one of these tokens.
    Bearer(Vec<TokenHash>),
    /// Callers with a JSON Web Token.
    Jwt(JwtPolicy),
    /// Everyone; the only upstream checks the credential of each request.
    Passthrough,
}

/// A token: its name, and its SHA-256 hash in place of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHash {
    /// Name, which identifies the caller.
    pub name: Box<str>,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
}

/// Requirements for JSON Web Tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtPolicy {
    /// Value of `iss`.
    pub issuer: String,
    /// Value of `aud`, or one of its values.
    pub audience: String,
    /// URL of the issuer's keys, a JSON Web Key Set.
    pub jwks_url: Uri,
    /// Scopes that a token must have.
    pub scopes: Vec<String>,
}

/// Error in an entry for a token. It does not show the entry, which may be the token itself.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TokenHashError {
    /// There is no name.
    #[error("has an entry without a name; write NAME=sha256:HEX, as `portion token NAME` prints it")]
    NoName,
    /// The name has other characters.
    #[error(
        "has a name of other characters than letters, digits, `_`, `-`, `.` and `@`, or more than 64 characters"
    )]
    InvalidName,
    /// The rest is not a hash.
    #[error(
        "has an entry that is not NAME=sha256:HEX; `portion token NAME` makes a token and prints its entry"
    )]
    InvalidHash,
}

impl AccessPolicy {
    /// Returns true if a listener checks the credentials of its callers, or the upstream does.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::Anyone)
    }
}

impl FromStr for TokenHash {
    type Err = TokenHashError;

    fn from_str(entry: &str) -> Result<Self, TokenHashError> {
        let (name, hash) = entry.trim().split_once('=').ok_or(TokenHashError::NoName)?;
        if name.is_empty() {
            return Err(TokenHashError::NoName);
        }
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte);
        if name.len() > MAX_NAME_BYTES || !name.bytes().all(is_name_byte) {
            return Err(TokenHashError::InvalidName);
        }
        let digits = hash.strip_prefix(HASH_PREFIX).ok_or(TokenHashError::InvalidHash)?;
        let hash = parse_hex(digits).ok_or(TokenHashError::InvalidHash)?;
        Ok(Self { name: name.into(), hash })
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={HASH_PREFIX}", self.name)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

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
/// use portion_policy::access::can_match_host;
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
/// use portion_policy::access::can_match_origin;
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

fn parse_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_scheme_byte)
}

#[cfg(test)]
mod tests {
    use super::{TokenHash, TokenHashError, can_match_host, can_match_origin};

    #[test]
    fn entries_are_names_with_hashes() {
        let check = |entry: &str, expect: Result<&str, TokenHashError>| {
            let parsed = entry.parse::<TokenHash>();
            assert_eq!(parsed.as_ref().map(|entry| &*entry.name), expect.as_ref().copied(), "{entry}");
            if let Ok(parsed) = parsed {
                assert_eq!(parsed.to_string(), entry.trim().to_ascii_lowercase());
            }
        };
        let hash = "sha256:".to_owned() + &"0a".repeat(32);
        check(&format!("ci={hash}"), Ok("ci"));
        check(
            &format!(" ada@example.org={} ", hash.to_uppercase().replace("SHA", "sha")),
            Ok("ada@example.org"),
        );
        check(&hash, Err(TokenHashError::NoName));
        check(&format!("={hash}"), Err(TokenHashError::NoName));
        check("ptn_secret", Err(TokenHashError::NoName));
        check(&format!("a b={hash}"), Err(TokenHashError::InvalidName));
        check(&format!("{}={hash}", "a".repeat(65)), Err(TokenHashError::InvalidName));
        check("ci=ptn_secret", Err(TokenHashError::InvalidHash));
        check(&format!("ci={hash}0"), Err(TokenHashError::InvalidHash));
        check(&format!("ci=sha256:{}", "é".repeat(32)), Err(TokenHashError::InvalidHash));
    }

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
