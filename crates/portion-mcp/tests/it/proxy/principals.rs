//! Tests that principals read only their own data over HTTP.

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::parsed;
use super::peers::{Scene, json, say};

const CALLERS: usize = 50;
const GUESTS: usize = 300;

/// A caller: header lines and query of its requests, on a connection of its own.
struct Caller {
    target: String,
    lines: String,
    connection: BufReader<TcpStream>,
}

impl Caller {
    fn new(scene: &Scene, target: &str, lines: String) -> Self {
        let connection = BufReader::new(scene.says(b""));
        Self { target: target.to_owned(), lines, connection }
    }

    /// Posts a body; returns head and body of the response.
    fn post(&mut self, body: &str) -> (String, String) {
        let (Self { target, lines, .. }, length) = (&self, body.len());
        let head = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: {length}");
        self.connection.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("it reads");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.connection.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        let mut body = vec![0; length.parse().expect("a number")];
        self.connection.read_exact(&mut body).expect("a body");
        (head, String::from_utf8(body).expect("UTF-8"))
    }

    fn call(&mut self, name: &str, arguments: &str) -> String {
        self.post(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        ))
        .1
    }

    /// Begins a session, which is used from then on.
    fn begin(&mut self) {
        let params =
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
        let (head, _) =
            self.post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#));
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        self.lines.extend(["Mcp-Session-Id: ", id, "\r\n"]);
    }

    /// Follows a cursor in one of four ways.
    fn read(&mut self, way: usize, cursor: &str) -> String {
        match way % 4 {
            0 => self.call("portion_read", &format!(r#"{{"cursor":"{cursor}"}}"#)),
            1 => {
                self.call("portion_query", &format!(r#"{{"cursor":"{cursor}","sql":"SELECT * FROM items"}}"#))
            }
            2 => self.call("search_bookings", &format!(r#"{{"city":"Oslo","cursor":"{cursor}"}}"#)),
            _ => {
                let uri = format!("portion://read/{cursor}");
                self.post(&format!(
                    r#"{{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#
                ))
                .1
            }
        }
    }
}

/// Returns a server whose responses each have a mark of their own, `guest-of-N-`.
fn server() -> Scene {
    server_giving(|n| format!("session-{n}"))
}

/// Returns such a server that assigns these session ids.
fn server_giving(session: impl Fn(usize) -> String + Send + Sync + 'static) -> Scene {
    let (calls, sessions) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Scene::new(move |request, stream| {
        if request.body.is_empty() {
            return say(stream, json("{}"));
        }
        let message = parsed(&request.body);
        let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        match method {
            "initialize" => {
                let body = answer(
                    r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#,
                );
                let session = session(sessions.fetch_add(1, Ordering::Relaxed));
                say(stream, json(&body).replacen("\r\n", &format!("\r\nMcp-Session-Id: {session}\r\n"), 1));
            }
            "tools/list" => {
                let schema = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
                let hint = r#"{"readOnlyHint":true}"#;
                let tool =
                    format!(r#"{{"name":"search_bookings","inputSchema":{schema},"annotations":{hint}}}"#);
                say(stream, json(&answer(&format!(r#"{{"tools":[{tool}]}}"#))));
            }
            _ => {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                let guests: Vec<String> = (0..GUESTS)
                    .map(|n| format!(r#"{{\"id\":{n},\"name\":\"guest-of-{call}-{n}\"}}"#))
                    .collect();
                let text = format!("[{}]", guests.join(","));
                say(stream, json(&answer(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))));
            }
        }
    })
}

/// Returns the marks of the calls whose results a reply shows.
fn marks(reply: &str) -> BTreeSet<String> {
    let marks = reply.split("guest-of-").skip(1).filter_map(|rest| rest.split('-').next());
    marks.map(str::to_owned).collect()
}

fn cursor_of(reply: &str) -> String {
    let notice = &parsed(reply)["result"]["_meta"]["io.portion/notice"];
    notice["nextCursor"].as_str().unwrap_or_else(|| panic!("no cursor: {reply:.300}")).to_owned()
}

/// Checks that callers of a scheme read only their own data, with a cursor or without.
fn check(scheme: &str, target: impl Fn(usize) -> String, lines: impl Fn(usize) -> String, session: bool) {
    let scene = server();
    let mut callers: Vec<Caller> = (0..CALLERS).map(|n| Caller::new(&scene, &target(n), lines(n))).collect();
    let mut kept = Vec::new();
    for caller in &mut callers {
        if session {
            caller.begin();
        }
        let reply = caller.call("search_bookings", r#"{"city":"Oslo"}"#);
        let marks = marks(&reply);
        assert_eq!(marks.len(), 1, "{scheme}: {reply:.300}");
        kept.push((cursor_of(&reply), marks));
    }
    let all: BTreeSet<String> = kept.iter().flat_map(|(_, marks)| marks.clone()).collect();
    let mut refused: [HashSet<String>; 4] = Default::default();
    for (n, caller) in callers.iter_mut().enumerate() {
        for (m, (cursor, marks)) in kept.iter().enumerate() {
            let reply = caller.read(n + m, cursor);
            if n == m {
                assert_eq!(&self::marks(&reply), marks, "{scheme}: its own: {reply:.300}");
            } else {
                assert!(reply.contains("cursor_invalid"), "{scheme}: {n} reads of {m}: {reply:.300}");
                refused[(n + m) % 4].insert(reply);
            }
        }
        // One that is nearly a cursor of another caller; its own would be named in the error.
        let mut forged = kept[(n + 1) % CALLERS].0.clone();
        let last = if forged.pop() == Some('a') { 'e' } else { 'a' };
        for (way, refused) in refused.iter_mut().enumerate() {
            refused.insert(caller.read(way, &forged));
            refused.insert(caller.read(way, &format!("{forged}{last}")));
            refused.insert(caller.read(way, "x"));
        }
        let again = marks(&caller.call("search_bookings", r#"{"city":"Oslo","page":2}"#));
        let foreign: Vec<_> = again.intersection(&all).filter(|mark| !kept[n].1.contains(*mark)).collect();
        assert!(foreign.is_empty() && again.len() == 1, "{scheme}: {n} sees {foreign:?} without a cursor");
    }
    for refused in refused {
        assert_eq!(refused.len(), 1, "{scheme}: one error for all: {refused:?}");
    }
}

fn mcp(_: usize) -> String {
    "/mcp".to_owned()
}

#[test]
fn a_key_in_a_header_separates_callers() {
    for name in ["Authorization", "Proxy-Authorization", "X-API-Key", "Api-Key", "X-Auth-Token"] {
        check(name, mcp, |n| format!("{name}: key-{n}\r\n"), false);
    }
    check("Bearer", mcp, |n| format!("Authorization: Bearer key-{n}\r\n"), false);
}

#[test]
fn a_cookie_separates_callers() {
    check("Cookie", mcp, |n| format!("Cookie: lang=en; sid=key-{n}\r\n"), false);
    check("two cookies", mcp, |n| format!("Cookie: lang=en\r\nCookie: sid=key-{n}\r\n"), false);
}

#[test]
fn callers_are_separated_by_all_their_credentials() {
    // All differ in names, values, their number or their order.
    let ambiguous = |n: usize| match n % 5 {
        0 => format!("X-API-Key: a{n}\r\nX-API-Key: b\r\n"),
        1 => format!("X-API-Key: b\r\nX-API-Key: a{}\r\n", n - 1),
        2 => format!("X-API-Key: a{}, b\r\n", n - 2),
        3 => format!("Api-Key: a{}\r\nX-Auth-Token: b\r\n", n - 3),
        _ => format!("Authorization: a{}\r\nX-API-Key: b\r\n", n - 4),
    };
    check("several", mcp, ambiguous, false);
}

#[test]
fn the_claimed_subject_of_a_token_is_not_trusted() {
    // Signatures are not verified: all of these claim to be ada.
    let token = |n: usize| format!("eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJpIiwic3ViIjoiYWRhIn0.c2lnbmF0dXJl{n:04}");
    check("JWT", mcp, move |n| format!("Authorization: Bearer {}\r\n", token(n)), false);
}

#[test]
fn a_key_in_the_query_separates_callers() {
    check("query", |n| format!("/mcp?api_key=key-{n}"), |_| String::new(), false);
}

#[test]
fn without_a_credential_a_session_separates_callers() {
    check("sessions", mcp, |_| String::new(), true);
    check(
        "empty",
        mcp,
        |n| ["X-API-Key:\r\n", "Cookie: \r\n", "Authorization: Bearer \r\n"][n % 3].into(),
        true,
    );
}

#[test]
fn without_a_session_nothing_is_reused_and_a_cursor_is_a_secret_of_its_owner() {
    let scene = server();
    for lines in
        ["", "X-API-Key:\r\n", "Authorization: Bearer\r\n", "Authorization: Basic Og==\r\n", "Cookie: a=\r\n"]
    {
        let mut callers: Vec<Caller> =
            (0..CALLERS).map(|_| Caller::new(&scene, "/mcp", lines.into())).collect();
        let mut seen = HashSet::new();
        for caller in &mut callers {
            let reply = caller.call("search_bookings", r#"{"city":"Oslo"}"#);
            let first = marks(&reply);
            let again = marks(&caller.call("search_bookings", r#"{"city":"Oslo","page":2}"#));
            let fields = marks(&caller.call("search_bookings", r#"{"city":"Oslo","fields":"name"}"#));
            for marks in [&first, &again, &fields] {
                assert!(marks.len() == 1 && seen.insert(marks.clone()), "{lines}: {marks:?} is read twice");
            }
            assert_eq!(marks(&caller.read(0, &cursor_of(&reply))), first, "its owner reads on");
            let mut keyed = Caller::new(&scene, "/mcp", "X-API-Key: k\r\n".into());
            assert!(keyed.read(0, &cursor_of(&reply)).contains("cursor_invalid"));
        }
    }
}

#[test]
fn a_key_is_required_where_it_was_used() {
    let scene = server();
    let mut owner = Caller::new(&scene, "/mcp", "X-API-Key: k1\r\n".into());
    owner.begin();
    let reply = owner.call("search_bookings", r#"{"city":"Oslo"}"#);
    let (cursor, kept) = (cursor_of(&reply), marks(&reply));
    let session = owner.lines.split_once("\r\n").expect("two lines").1.to_owned();
    for (target, lines) in [
        ("/mcp", String::new()),
        ("/mcp", session.clone()),
        ("/mcp", format!("X-API-Key: k2\r\n{session}")),
        ("/mcp", format!("Authorization: k1\r\n{session}")),
        ("/mcp", format!("Authorization: Bearer k1\r\n{session}")),
        ("/mcp", format!("Cookie: X-API-Key=k1\r\n{session}")),
        ("/mcp", format!("X-API-Key: K1\r\n{session}")),
        ("/mcp", format!("X-API-Key: k1\r\nX-API-Key: k1\r\n{session}")),
        ("/mcp", format!("X-API-Key: k1\r\nCookie: a=b\r\n{session}")),
        ("/mcp?x=1", format!("X-API-Key: k1\r\n{session}")),
        ("/mcp?X-API-Key=k1", session.clone()),
    ] {
        let mut other = Caller::new(&scene, target, lines.clone());
        for way in 0..4 {
            let reply = other.read(way, &cursor);
            assert!(reply.contains("cursor_invalid"), "{target} {lines}: {reply:.300}");
        }
        let again = marks(&other.call("search_bookings", r#"{"city":"Oslo","page":2}"#));
        assert!(again.is_disjoint(&kept), "{target} {lines}");
    }
    // The key alone is the principal, in any session.
    let mut elsewhere = Caller::new(&scene, "/mcp", "X-API-Key: k1\r\n".into());
    assert_eq!(marks(&elsewhere.read(0, &cursor)), kept);
    elsewhere.begin();
    assert_eq!(marks(&elsewhere.read(1, &cursor)), kept);
    assert_eq!(marks(&elsewhere.call("search_bookings", r#"{"city":"Oslo","page":2}"#)), kept);
}

#[test]
fn a_session_id_assigned_several_times_separates_no_callers() {
    let scene = server_giving(|_| "everybody".to_owned());
    let mut seen = HashSet::new();
    let mut callers: Vec<Caller> = (0..3).map(|_| Caller::new(&scene, "/mcp", String::new())).collect();
    callers.iter_mut().for_each(Caller::begin);
    for caller in &mut callers {
        let end = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}\r\n", caller.lines);
        scene.ask(&end);
        caller.lines.clear();
        caller.begin();
        for arguments in [r#"{"city":"Oslo"}"#, r#"{"city":"Oslo","page":2}"#] {
            assert!(seen.insert(marks(&caller.call("search_bookings", arguments))));
        }
    }
}

#[test]
fn an_unknown_session_shares_nothing_without_a_cursor() {
    let scene = server();
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let mut caller = Caller::new(&scene, "/mcp", "Mcp-Session-Id: 1\r\n".into());
        for arguments in [r#"{"city":"Oslo"}"#, r#"{"city":"Oslo","page":2}"#] {
            assert!(seen.insert(marks(&caller.call("search_bookings", arguments))));
        }
    }
    let mut caller = Caller::new(&scene, "/mcp", "Mcp-Session-Id: 1\r\nMcp-Session-Id: 2\r\n".into());
    assert!(caller.call("search_bookings", "{}").contains("is repeated"));
}
