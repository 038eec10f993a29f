//! Tests of hosts and origins.

mod table;

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
        assert_eq!(guard.check(&"/".parse().expect("a path"), &headers).is_ok(), expect, "{allowed} {host}");
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
