//! Tests that principals read only their own data and use only their own sessions.

use serde_json::Value;

use super::scene::{Answer, Scene, modern, request};

/// Returns an unsigned JSON Web Token of this subject.
fn token(subject: &str, signature: &str) -> String {
    let claims = match subject {
        "ada" => "eyJpc3MiOiJpIiwic3ViIjoiYWRhIn0",
        _ => "eyJpc3MiOiJpIiwic3ViIjoiYm9iIn0",
    };
    format!("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.{claims}.{signature}\r\n")
}

fn call(scene: &Scene, lines: &str, name: &str, arguments: &str) -> String {
    let params = format!(r#""name":"{name}","arguments":{arguments}"#);
    scene.post(lines, &request("7", "tools/call", &params)).body
}

fn call_modern(scene: &Scene, lines: &str, name: &str, arguments: &str) -> String {
    let (head, body) = modern("7", "tools/call", &format!(r#""name":"{name}","arguments":{arguments}"#));
    scene.post(&format!("{head}Mcp-Name: {name}\r\n{lines}"), &body).body
}

/// Returns the mark of the call whose result a reply shows.
fn mark(reply: &str) -> Option<&str> {
    reply.split_once("guest-of-").and_then(|(_, rest)| rest.split_once('-')).map(|(mark, _)| mark)
}

fn cursor(reply: &str) -> String {
    let answer: Value = serde_json::from_str(reply).unwrap_or_else(|error| panic!("{error}: {reply:.300}"));
    let next = &answer["result"]["_meta"]["io.portion/notice"]["nextCursor"];
    format!(r#"{{"cursor":{next}}}"#)
}

#[test]
fn callers_without_sessions_share_a_process_but_no_data() {
    let scene = Scene::new();
    let key = |n: usize| {
        ["", "X-API-Key: 1\r\n", "X-API-Key: 2\r\n", "Cookie: sid=1\r\n", "Authorization: 1\r\n"][n]
    };
    let replies: Vec<String> = (0..5).map(|n| call_modern(&scene, key(n), "list_guests", "{}")).collect();
    for (n, own) in replies.iter().enumerate() {
        for (m, other) in replies.iter().enumerate() {
            let reply = call_modern(&scene, key(n), "portion_read", &cursor(other));
            if n == m {
                assert_eq!(mark(&reply), mark(own), "{reply:.300}");
            } else {
                assert!(reply.contains("cursor_invalid"), "{n} reads of {m}: {reply:.300}");
            }
        }
        let again = call_modern(&scene, key(n), "list_guests", r#"{"page":2}"#);
        let position = replies.iter().position(|reply| mark(reply) == mark(&again));
        // Callers without a credential cannot be distinguished.
        assert_eq!(position, (n > 0).then_some(n), "{again:.300}");
    }
}

#[test]
fn a_made_up_session_id_is_ignored_without_sessions() {
    let scene = Scene::new();
    let lines = "Mcp-Session-Id: 1\r\n";
    let first = call_modern(&scene, lines, "list_guests", "{}");
    let again = call_modern(&scene, lines, "list_guests", r#"{"page":2}"#);
    assert!(mark(&first).is_some() && mark(&again).is_some() && mark(&first) != mark(&again));
}

#[test]
fn sessions_without_a_credential_share_nothing() {
    let scene = Scene::new();
    let (a, b) = (scene.begin(), scene.begin());
    let kept = call(&scene, &a, "list_guests", "{}");
    assert_eq!(mark(&call(&scene, &a, "portion_read", &cursor(&kept))), mark(&kept));
    assert_eq!(mark(&call(&scene, &a, "list_guests", r#"{"page":2}"#)), mark(&kept));
    assert!(call(&scene, &b, "portion_read", &cursor(&kept)).contains("cursor_invalid"));
    assert_ne!(mark(&call(&scene, &b, "list_guests", r#"{"page":2}"#)), mark(&kept));
    let keyed = format!("{a}X-API-Key: 1\r\n");
    assert!(call(&scene, &keyed, "list_guests", "{}").contains("other credentials"));
}

#[test]
fn a_session_requires_the_credentials_that_began_it() {
    let scene = Scene::new();
    let begin = |lines: &str| {
        let answer = scene.post(lines, &request("1", "initialize", r#""protocolVersion":"2025-06-18""#));
        let id =
            answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned);
        format!("Mcp-Session-Id: {}\r\n", id.unwrap_or_else(|| panic!("no session: {answer:?}")))
    };
    let check = |began: &str, goes_on: &str, expect: u16| -> Answer {
        let session = begin(began);
        let answer = scene.post(&format!("{session}{goes_on}"), &request("2", "x/pid", ""));
        assert_eq!(answer.status, expect, "{began} {goes_on}: {answer:?}");
        answer
    };
    check("X-API-Key: 1\r\n", "X-API-Key: 1\r\n", 200);
    check(&token("ada", "x"), &token("ada", "refreshed"), 200);
    let unknown = "Mcp-Session-Id: 00000000000000000000000000000000\r\n";
    let unknown = scene.post(unknown, &request("2", "x/pid", ""));
    for (began, goes_on) in [
        ("X-API-Key: 1\r\n", "X-API-Key: 2\r\n"),
        ("X-API-Key: 1\r\n", ""),
        ("", "X-API-Key: 1\r\n"),
        ("Cookie: sid=1\r\n", "Cookie: sid=2\r\n"),
        (&token("ada", "x"), &token("bob", "x")),
        (&token("ada", "x"), ""),
        (&token("ada", "x"), "Authorization: Bearer ada\r\n"),
        ("Authorization: Bearer 1\r\n", "Authorization: Bearer 2\r\n"),
    ] {
        let refused = check(began, goes_on, 404);
        assert_eq!(refused.body, unknown.body, "as if there were no such session");
    }
}

#[test]
fn a_refreshed_token_keeps_its_session_and_grants_no_other() {
    let scene = Scene::new();
    let (old, new) = (token("ada", "x"), token("ada", "refreshed"));
    let initialize = request("1", "initialize", r#""protocolVersion":"2025-06-18""#);
    let begun = scene.post(&old, &initialize);
    let id = begun.head.lines().find(|line| line.starts_with("mcp-session-id: ")).expect("an id");
    let kept = call(&scene, &format!("{old}{id}\r\n"), "list_guests", "{}");
    let read = call(&scene, &format!("{new}{id}\r\n"), "portion_read", &cursor(&kept));
    assert_eq!(mark(&read), mark(&kept), "{read:.300}");
    // The subject can be forged: without the session id it grants no access.
    let other = scene.post(&new, &initialize);
    let other = other.head.lines().find(|line| line.starts_with("mcp-session-id: ")).expect("an id");
    let lines = format!("{new}{other}\r\n");
    assert!(call(&scene, &lines, "portion_read", &cursor(&kept)).contains("cursor_invalid"));
    assert_ne!(mark(&call(&scene, &lines, "list_guests", r#"{"page":2}"#)), mark(&kept));
}

#[test]
fn an_unsupported_revision_is_rejected() {
    let scene = Scene::new();
    let session = scene.begin();
    let check = |version: &str, expect: u16| {
        let lines = format!("{session}MCP-Protocol-Version: {version}\r\n");
        let answer = scene.post(&lines, &request("2", "x/pid", ""));
        assert_eq!(answer.status, expect, "{version}: {answer:?}");
        if expect == 400 {
            for method in ["GET", "DELETE"] {
                let status = scene.ask(method, &lines, "").status;
                assert!(matches!(status, 400 | 405), "{method} {version}: {status}");
            }
        }
    };
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        check(version, 200);
    }
    for version in ["2000-01-01", "2025-06-19", "2099-01-01", "latest", "DRAFT", "2025-6-18", ""] {
        check(version, 400);
    }
}
