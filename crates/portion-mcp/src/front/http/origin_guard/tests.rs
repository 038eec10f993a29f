//! Tests of hosts and origins.

use hyper::HeaderMap;
use hyper::header::{HOST, HeaderValue, ORIGIN};

use super::{OriginGuard, OriginRejected};

/// A value, and whether it is allowed on a local and on a public listener.
type Row = (&'static str, bool, bool);

const HOSTS: &[Row] = &[
    ("localhost", true, true),
    ("LocalHost", true, true),
    ("localhost:1", true, true),
    ("localhost:65535", true, true),
    ("localhost:0", true, true),
    ("127.0.0.1", true, true),
    ("127.0.0.1:8765", true, true),
    ("127.255.255.254", true, true),
    ("[::1]", true, true),
    ("[::1]:8765", true, true),
    ("[0:0:0:0:0:0:0:1]", true, true),
    ("[::ffff:127.0.0.1]", true, true),
    ("listed.example", true, true),
    ("LISTED.example:9", true, true),
    ("ported.example:9", true, true),
    ("10.0.0.1", false, true),
    ("192.168.1.1:8765", false, true),
    ("169.254.169.254", false, true),
    ("0.0.0.0", false, true),
    ("255.255.255.255", false, true),
    ("8.8.8.8:53", false, true),
    ("[::]", false, true),
    ("[2001:db8::1]", false, true),
    ("[fe80::1]:80", false, true),
    ("[::ffff:10.0.0.1]", false, true),
    ("ported.example", false, false),
    ("ported.example:8", false, false),
    ("evil.example", false, false),
    ("listed.example.evil.example", false, false),
    ("evil-listed.example", false, false),
    ("x.listed.example", false, false),
    ("listed.example.", false, false),
    ("localhost.", false, false),
    ("localhost.localdomain", false, false),
    ("localhost.evil.example", false, false),
    ("evil.localhost", false, false),
    ("localhosts", false, false),
    ("127.0.0.1.evil.example", false, false),
    ("127.0.0.1.", false, false),
    ("127.1", false, false),
    ("127.0.0.01", false, false),
    ("0177.0.0.1", false, false),
    ("0x7f.0.0.1", false, false),
    ("0x7f000001", false, false),
    ("2130706433", false, false),
    ("127.0.0.1:", false, false),
    ("127.0.0.1:evil", false, false),
    ("127.0.0.1:65536", false, false),
    ("127.0.0.1:99999999", false, false),
    ("127.0.0.1:-1", false, false),
    ("127.0.0.1:+1", false, false),
    ("127.0.0.1: 80", false, false),
    ("127.0.0.1:80:80", false, false),
    ("127.0.0.1/", false, false),
    ("127.0.0.1/mcp", false, false),
    ("127.0.0.1?x", false, false),
    ("127.0.0.1#x", false, false),
    ("127.0.0.1@evil.example", false, false),
    ("evil.example@127.0.0.1", false, false),
    ("user:pass@localhost", false, false),
    ("http://localhost", false, false),
    ("localhost,evil.example", false, false),
    ("localhost evil.example", false, false),
    ("localhost\tevil", false, false),
    ("localhost%00", false, false),
    ("localhost%2eevil.example", false, false),
    ("%6cocalhost", false, false),
    ("[127.0.0.1]", false, false),
    ("[localhost]", false, false),
    ("[::1", false, false),
    ("::1", false, false),
    ("::1]", false, false),
    ("[::1]x", false, false),
    ("[::1]:x", false, false),
    ("[::1]:", false, false),
    ("[::1%25lo]", false, false),
    ("[[::1]]", false, false),
    ("[]", false, false),
    ("", false, false),
    (" ", false, false),
    (".", false, false),
    (":", false, false),
    (":80", false, false),
    ("*", false, false),
    ("null", false, false),
    ("l\u{f6}calhost", false, false),
    ("\u{ff4c}ocalhost", false, false),
];

/// Origins of a request to `localhost:8765`.
const ORIGINS: &[Row] = &[
    ("http://localhost:8765", true, true),
    ("https://localhost:8765", true, true),
    ("HTTP://LOCALHOST:8765", true, true),
    ("https://app.example", true, true),
    ("HTTPS://APP.EXAMPLE", true, true),
    ("http://localhost", true, false),
    ("http://localhost:3000", true, false),
    ("http://127.0.0.1", true, false),
    ("http://127.0.0.1:8765", true, false),
    ("http://127.9.9.9:1", true, false),
    ("http://[::1]", true, false),
    ("http://[::1]:3000", true, false),
    ("http://app.example", false, false),
    ("https://app.example:443", false, false),
    ("https://app.example/", false, false),
    ("https://app.example.evil.example", false, false),
    ("https://evil-app.example", false, false),
    ("https://x.app.example", false, false),
    ("app.example", false, false),
    ("//app.example", false, false),
    ("http://evil.example", false, false),
    ("http://evil.example:8765", false, false),
    ("http://localhost.evil.example:8765", false, false),
    ("http://localhost@evil.example", false, false),
    ("http://evil.example@localhost", false, false),
    ("http://localhost:8765@evil.example", false, false),
    ("http://localhost:8765.evil.example", false, false),
    ("http://localhost:8765/", false, false),
    ("http://localhost:8765/mcp", false, false),
    ("http://localhost:8765?x", false, false),
    ("http://localhost:evil", false, false),
    ("http://localhost:", false, false),
    ("http://localhost:87650", false, false),
    ("http://localhost, http://evil.example", false, false),
    ("http://evil.example http://localhost", false, false),
    ("http://[127.0.0.1]", false, false),
    ("http://127.1", false, false),
    ("http://2130706433", false, false),
    ("http://0.0.0.0", false, false),
    ("http://10.0.0.1", false, false),
    ("http://169.254.169.254", false, false),
    ("file://", false, false),
    ("file:///etc/passwd", false, false),
    ("data:text/html,x", false, false),
    ("chrome-extension://abcdef", false, false),
    ("chrome-extension://localhost", false, false),
    ("chrome-extension://localhost:8765", false, false),
    ("moz-extension://127.0.0.1", false, false),
    ("Chrome-Extension://[::1]:8765", false, false),
    ("capacitor://localhost", false, false),
    ("file://localhost:8765", false, false),
    ("ws://localhost:8765", false, false),
    ("xhttp://localhost:8765", false, false),
    ("httpx://localhost:8765", false, false),
    (" http://localhost:8765", false, false),
    ("://localhost:8765", false, false),
    ("//localhost:8765", false, false),
    ("moz-extension://listed", true, true),
    ("null", false, false),
    ("NULL", false, false),
    ("", false, false),
    ("*", false, false),
    ("localhost", false, false),
    ("localhost:8765", false, false),
    ("javascript://localhost%0a", false, false),
];

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

fn guard(at: &str) -> OriginGuard {
    let hosts = vec!["listed.example".to_owned(), "ported.example:9".to_owned()];
    let origins = ["https://app.example", "moz-extension://listed"].map(str::to_owned).to_vec();
    OriginGuard::new(at.parse().expect("an address"), hosts, origins)
}

fn is_allowed(guard: &OriginGuard, host: &str, origin: Option<&str>) -> bool {
    let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).expect("a value");
    let mut headers = HeaderMap::from_iter([(HOST, value(host))]);
    headers.extend(origin.map(|origin| (ORIGIN, value(origin))));
    guard.check(&"/mcp".parse().expect("a path"), &headers).is_ok()
}

#[test]
fn every_pair_is_decided_as_written() {
    let (local, public) = (guard("127.0.0.1:8765"), guard("0.0.0.0:8765"));
    for (host, on_local, on_public) in HOSTS {
        assert_eq!(is_allowed(&local, host, None), *on_local, "{host} on loopback");
        assert_eq!(is_allowed(&public, host, None), *on_public, "{host} on all addresses");
    }
    for (origin, on_local, on_public) in ORIGINS {
        assert_eq!(is_allowed(&local, "localhost:8765", Some(origin)), *on_local, "{origin} on loopback");
        assert_eq!(
            is_allowed(&public, "localhost:8765", Some(origin)),
            *on_public,
            "{origin} on all addresses"
        );
    }
    assert!(2 * (HOSTS.len() + ORIGINS.len()) >= 200);
}
