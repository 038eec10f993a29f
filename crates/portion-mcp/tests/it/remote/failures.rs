//! Tests of failed requests: each gets one error, which says what to fix.

use portion_policy::upstream::Transport;

use super::server::{Reply, Server};
use super::{Peer, call};

/// Checks the error of a call; `answer` writes the server's response, `expect` lists parts of the error.
async fn check(answer: impl Fn(&mut Reply) + Send + Sync + 'static, expect: &[&str]) {
    let server = Server::new(move |_, _, reply| answer(reply));
    let url = server.url("/mcp?key=hidden");
    let headers = ["Authorization: Bearer s3cret"];
    let mut peer = Peer::with(&url, Transport::Http, &headers).await.expect("a link");
    peer.say(&call("\"x\"")).await;
    let error = peer.hear().await;
    assert!(error.starts_with(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":""#), "{error}");
    for part in expect {
        assert!(error.contains(part), "{part:?} in {error}");
    }
    assert!(!error.contains("s3cret") && !error.contains("hidden"), "{error}");
    assert_eq!(peer.leave().await, []);
    assert_eq!(server.asked().len(), 1, "nothing is asked twice");
    assert_eq!(server.asked()[0].field("authorization"), Some("Bearer s3cret"));
}

#[tokio::test]
async fn error_statuses_say_what_to_fix() {
    check(
        |reply| {
            let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no token"}}"#;
            let head =
                "401 Unauthorized\r\nContent-Type: application/json\r\nWWW-Authenticate: Bearer realm=mcp";
            reply.whole(head, error);
        },
        &["401 Unauthorized", "no token", "requires Bearer realm=mcp", "--header 'Authorization: "],
    )
    .await;
    check(|reply| reply.whole("403 Forbidden", "not\nyou"), &["403 Forbidden (not you)", "--header"]).await;
    check(|reply| reply.whole("404 Not Found", ""), &["404 Not Found", "check the path of the URL"]).await;
    check(
        |reply| reply.whole("301 Moved\r\nLocation: https://other/mcp", ""),
        &["301", "it moved to https://other/mcp"],
    )
    .await;
    check(
        |reply| reply.whole("307 Temporary Redirect\r\nLocation: http://other/mcp", ""),
        &["307", "http://other/mcp"],
    )
    .await;
    check(|reply| reply.whole("503 Busy\r\nRetry-After: 9", ""), &["503", "try again after 9 s"]).await;
    check(|reply| reply.whole("500 Oops", "it broke"), &["500", "(it broke)", "server's log"]).await;
}

#[tokio::test]
async fn responses_that_are_not_mcp_are_reported() {
    check(
        |reply| reply.whole("200 OK\r\nContent-Type: text/html", "<p>"),
        &["text/html", "check that the URL"],
    )
    .await;
    check(|reply| reply.whole("200 OK", "{}"), &["a body without Content-Type"]).await;
    check(|reply| reply.whole("202 Accepted", ""), &["without a response"]).await;
    check(
        |reply| reply.whole("200 OK\r\nContent-Type: application/json\r\nContent-Encoding: zstd", "x"),
        &["compressed as `zstd`"],
    )
    .await;
}

#[tokio::test]
async fn data_that_is_not_a_message_is_forwarded_for_its_processor() {
    let answered_by = async |body: &'static str| {
        let server = Server::new(move |_, _, reply| reply.json(body));
        let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
        peer.say(&call("1")).await;
        assert_eq!(peer.hear().await, body);
        peer
    };
    for body in ["{}", "{\"jsonrpc\":", r#"{"jsonrpc":"2.0","id":2}"#] {
        let mut peer = answered_by(body).await;
        assert!(peer.hear().await.contains("without a response"), "{body}");
    }
    // Its processor answers the request.
    assert_eq!(answered_by(r#"{"jsonrpc":"2.0","id":1}"#).await.leave().await, []);
}

#[tokio::test]
async fn truncated_responses_are_reported() {
    let may_have_acted = "the server may have acted";
    check(
        |reply| {
            reply.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
            reply.end();
        },
        &["was truncated", may_have_acted],
    )
    .await;
    check(Reply::end, &["did not respond", "it may have acted"]).await;
    check(
        |reply| {
            reply.raw(format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X-A: 1\r\n".repeat(300)));
            reply.end();
        },
        &["its head has more than 100 header fields or 408 KiB", "it may have acted"],
    )
    .await;
}

#[tokio::test]
async fn a_switch_of_protocols_is_reported() {
    check(
        |reply| {
            reply.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n");
        },
        &["switched to another protocol (101)", "it may have acted"],
    )
    .await;
}

#[tokio::test]
async fn an_unreachable_server_is_reported_to_each_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let mut peer = Peer::to(&format!("http://{address}/mcp"), Transport::Auto).await;
    for id in ["1", "2"] {
        peer.say(&call(id)).await;
        let error = peer.hear().await;
        assert!(error.contains(&format!("\"id\":{id},")), "{error}");
        assert!(
            error.contains(&format!("{address} cannot be reached")) && error.contains("check the URL"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_redirect_within_the_server_is_followed() {
    let server = Server::new(|asked, _, reply| match asked.line.as_str() {
        "POST /mcp" => reply.whole("307 Temporary Redirect\r\nLocation: /mcp/", ""),
        "POST /mcp/" => reply.json(&super::result("1", "{}")),
        _ => reply.whole("308 Permanent Redirect\r\nLocation: /round", ""),
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    for _ in 0..2 {
        peer.say(&call("1")).await;
        assert_eq!(peer.hear().await, super::result("1", "{}"));
    }
    assert_eq!(server.lines(), ["POST /mcp", "POST /mcp/", "POST /mcp/"]);
    let mut peer = Peer::to(&server.url("/round"), Transport::Http).await;
    peer.say(&call("1")).await;
    assert!(peer.hear().await.contains("308"));
}
