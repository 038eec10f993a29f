//! Tests of sessions, the listening stream, and resumed streams.

use std::sync::atomic::{AtomicUsize, Ordering};

use portion_policy::upstream::Transport;

use super::server::{Server, session};
use super::{BEGUN, HELLO, Peer, call, result};

#[tokio::test]
async fn a_session_is_carried_and_ended() {
    let server = Server::new(|asked, _, reply| {
        if !session(asked, reply, "abc") {
            reply.json(&result("1", "{}"));
        }
    });
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    peer.say(&call("1")).await;
    peer.hear().await;
    assert_eq!(peer.leave().await, []);
    assert_eq!(server.lines(), ["POST /mcp", "POST /mcp", "GET /mcp", "POST /mcp", "DELETE /mcp"]);
    let [first, rest @ ..] = &server.asked()[..] else { panic!("there were some") };
    assert_eq!([first.field("mcp-session-id"), first.field("mcp-protocol-version")], [None, None]);
    for asked in rest {
        assert_eq!(asked.field("mcp-session-id"), Some("abc"));
        assert_eq!(asked.field("mcp-protocol-version"), Some("2025-06-18"));
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_session_has_begun() {
    let server = Server::new(|asked, before, reply| {
        if asked.is("initialize") {
            assert_eq!(before, 0);
        }
        if !session(asked, reply, "abc") {
            reply.json(&result("1", "{}"));
        }
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(HELLO).await;
    peer.say(&call("1")).await;
    peer.hear().await;
    peer.hear().await;
    assert_eq!(server.asked()[1].field("mcp-session-id"), Some("abc"));
}

#[tokio::test]
async fn the_listening_stream_is_opened_first_and_again_when_it_ends() {
    let server = Server::new(|asked, _, reply| {
        if asked.line == "GET /mcp" {
            reply.stream();
            let again = asked.field("last-event-id").unwrap_or("none");
            reply.raw(format!(
                "retry: 0\nid: 5\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"after/{again}\"}}\n\n"
            ));
            if again == "5" {
                reply.closed();
            }
            reply.end();
        } else if !session(asked, reply, "abc") {
            reply.json(&result("1", "{}"));
        }
    });
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    peer.say(&call("1")).await;
    let mut messages = vec![peer.hear().await, peer.hear().await, peer.hear().await];
    messages.sort();
    assert_eq!(
        messages,
        [
            result("1", "{}").as_str(),
            r#"{"jsonrpc":"2.0","method":"after/5"}"#,
            r#"{"jsonrpc":"2.0","method":"after/none"}"#,
        ]
    );
    assert_eq!(server.lines()[..4], ["POST /mcp", "POST /mcp", "GET /mcp", "POST /mcp"]);
    peer.leave().await;
}

#[tokio::test]
async fn a_truncated_stream_with_event_ids_is_resumed() {
    let server = Server::new(|asked, _, reply| {
        if asked.field("last-event-id").is_some() {
            reply.stream();
            reply.event(&result("1", "\"late\""));
            reply.end();
        } else if !session(asked, reply, "abc") {
            reply.stream();
            reply.raw(
                "id: 41\nretry: 0\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"early\"}\n\nid: 42\ndata:\n\n",
            );
            reply.raw("id: 43\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"half");
            reply.end();
        }
    });
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    peer.say(&call("1")).await;
    assert!(peer.hear().await.contains("early"));
    assert_eq!(peer.hear().await, result("1", "\"late\""));
    let resumed: Vec<_> =
        server.asked().into_iter().filter(|asked| asked.field("last-event-id").is_some()).collect();
    assert_eq!(resumed.len(), 1);
    assert_eq!((resumed[0].line.as_str(), resumed[0].field("last-event-id")), ("GET /mcp", Some("42")));
    assert_eq!(server.asked().iter().filter(|asked| asked.is("tools/call")).count(), 1);
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_one_error() {
    for name in ["", "id: 7\nretry: 0\ndata:\n\n"] {
        let server = Server::new(move |asked, _, reply| {
            if !session(asked, reply, "abc") {
                reply.stream();
                reply.raw(name);
                reply.end();
            }
        });
        let mut peer = Peer::begun(&server.url("/mcp")).await;
        peer.say(&call("\"x\"")).await;
        let error = peer.hear().await;
        assert!(error.starts_with(r#"{"jsonrpc":"2.0","id":"x","error":"#), "{error}");
        assert_eq!(peer.leave().await, []);
        assert_eq!(server.asked().iter().filter(|asked| asked.is("tools/call")).count(), 1);
    }
}

/// Checks the renewal of a session; `refusal` is the response to messages of an ended session.
async fn check_renewal(refusal: (&'static str, &'static str)) {
    let sessions = AtomicUsize::new(0);
    let server = Server::new(move |asked, _, reply| {
        if asked.is("initialize") {
            sessions.fetch_add(1, Ordering::SeqCst);
        }
        let id = format!("s{}", sessions.load(Ordering::SeqCst));
        if session(asked, reply, &id) {
        } else if asked.field("mcp-session-id") == Some("s1") {
            reply.whole(&format!("{}\r\nContent-Type: application/json", refusal.0), refusal.1);
        } else {
            reply.json(&result("1", "{}"));
        }
    });
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    peer.say(&call("1")).await;
    assert_eq!(peer.hear().await, result("1", "{}"));
    assert_eq!(peer.leave().await, []);
    let bodies: Vec<String> =
        server.asked().into_iter().map(|asked| asked.body).filter(|body| !body.is_empty()).collect();
    assert_eq!(bodies, [HELLO, BEGUN, &call("1"), HELLO, BEGUN, &call("1")]);
}

#[tokio::test]
async fn a_session_that_the_server_has_ended_is_renewed_without_the_client() {
    let python =
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#;
    check_renewal(("404 Not Found", python)).await;
    check_renewal(("404 Not Found", "")).await;
    let typescript = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#;
    check_renewal(("400 Bad Request", typescript)).await;
}

#[tokio::test]
async fn a_session_that_cannot_be_renewed_is_one_error() {
    let server = Server::new(|asked, before, reply| {
        if before > 2 {
            reply.whole("404 Not Found", "gone for good");
        } else {
            session(asked, reply, "s");
        }
    });
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    server.has_heard(3).await;
    peer.say(&call("1")).await;
    let error = peer.hear().await;
    assert!(error.contains("\"id\":1") && error.contains("restart the client"), "{error}");
    assert_eq!(peer.leave().await, []);
}
