//! Who may ask: a web page that a browser shows may not, wherever its name points to.
//!
//! A page of evil.example whose name is suddenly that of 127.0.0.1 sends `Host: evil.example` (DNS rebinding); any other
//! page sends its `Origin`. Programs that are no browsers send neither, or our own.

use std::net::SocketAddr;

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::http::uri::{Authority, Uri};
use thiserror::Error;

/// What `Host` and `Origin` may be.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Only who means this machine by its own name may ask.
    local: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why a request is turned away.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Stranger {
    /// It means somebody else.
    #[error(
        "the host `{0}` is not served here; ask for localhost or 127.0.0.1, or start with --allow-host {0}"
    )]
    Host(String),
    /// It does not say whom it means.
    #[error("a request needs one Host header")]
    NoHost,
    /// It comes from a page that may not ask.
    #[error("pages of `{0}` may not ask; to let them, start with --allow-origin {0}")]
    Origin(String),
}

impl Guard {
    /// The guard of a listener at `address`: on loopback, only who means loopback may ask. `hosts` (with or without
    /// a port) and `origins` may ask as well.
    pub fn new(address: SocketAddr, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { local: address.ip().is_loopback(), hosts, origins }
    }

    /// Whether a request may pass. `target`: what its first line names.
    ///
    /// # Errors
    /// [`Stranger`] tells why not.
    pub fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        let mut named = headers.get_all(HOST).iter();
        let host = match (target.authority(), named.next(), named.next()) {
            (_, _, Some(_)) | (None, None, None) => return Err(Stranger::NoHost),
            (Some(authority), _, None) => authority.as_str().to_owned(),
            (None, Some(host), None) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        };
        if self.local && !is_loopback(&host) && !self.allows(&host) {
            return Err(Stranger::Host(shown(&host)));
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            let same = authority.is_some_and(|authority| authority.eq_ignore_ascii_case(&host));
            let local = self.local && authority.is_some_and(is_loopback);
            let listed =
                self.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(&origin));
            if !(same || local || listed) {
                return Err(Stranger::Origin(shown(&origin)));
            }
        }
        Ok(())
    }

    fn allows(&self, host: &str) -> bool {
        let bare = host.parse::<Authority>().map(|authority| authority.host().to_owned()).unwrap_or_default();
        self.hosts.iter().any(|allowed| {
            allowed == "*" || allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(&bare)
        })
    }
}

/// Whether a host, with or without a port, is this machine by its own name.
fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    if authority.as_str().contains('@') {
        return false;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Enough of a name to know it by.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::Guard;
    use hyper::HeaderMap;
    use hyper::header::{HOST, HeaderValue, ORIGIN};

    fn check(at: &str, host: &str, origin: Option<&str>, expect: bool) {
        let allowed = (vec!["proxy.example".into()], vec!["https://app.example".into()]);
        let guard = Guard::new(at.parse().expect("an address"), allowed.0, allowed.1);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).expect("a value"));
        }
        let checked = guard.check(&"/mcp".parse().expect("a path"), &headers);
        assert_eq!(checked.is_ok(), expect, "{at} {host} {origin:?}: {checked:?}");
    }

    #[test]
    fn on_loopback_only_loopback_may_ask() {
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
        ] {
            check(at, host, None, false);
        }
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://app.example", "http://[::1]:5"] {
            check(at, "localhost:8765", Some(origin), true);
        }
        for origin in ["http://evil.example", "null", "", "http://localhost@evil.example", "file://"] {
            check(at, "localhost:8765", Some(origin), false);
        }
    }

    #[test]
    fn elsewhere_only_pages_of_the_same_host_may_ask() {
        let at = "0.0.0.0:80";
        check(at, "mcp.example", None, true);
        check(at, "mcp.example", Some("https://mcp.example"), true);
        check(at, "mcp.example", Some("https://evil.example"), false);
        check(at, "mcp.example", Some("http://localhost:3000"), false);
    }

    #[test]
    fn a_host_is_needed_once() {
        let guard = Guard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]);
        let mut headers = HeaderMap::new();
        let target = "/".parse().expect("a path");
        assert!(guard.check(&target, &headers).is_err());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&target, &headers).is_ok());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(guard.check(&target, &headers).is_err());
    }
}
