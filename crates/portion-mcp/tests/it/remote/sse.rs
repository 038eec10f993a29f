//! Tests of servers of 2024-11-05, and of their detection.

use std::sync::{Arc, Mutex};

use portion_mcp::frame::Frame;
use portion_mcp::upstream::http::HttpClient;
use portion_mcp::upstream::link::remote::RemoteConnector;
use portion_mcp::upstream::link::{Connector as _, LinkEvent};
use portion_policy::upstream::Transport;
use portion_policy::upstream::UpstreamTarget;

use super::server::{Reply, Server};
use super::{HELLO, LIMIT, Peer, call, result};

/// Returns a server whose stream at `/sse` begins with `first`; posts to `/post?s=1` are answered on the stream.
fn old(first: &'static str, refusal: &'static str) -> Server {
    let stream = Arc::new(Mutex::new(None::<Reply>));
    Server::new(move |asked, _, reply| match asked.line.as_str() {
        "GET /sse" | "GET /here" => {
            reply.stream();
            reply.raw(first);
            let (mut ours, theirs) = reply.halves();
            *stream.lock().expect("no panic") = Some(theirs);
            ours.closed();
        }
        "POST /post?s=1" => {
            reply.whole("202 Accepted\r\nContent-Type: text/plain", "Accepted");
            let mut stream = stream.lock().expect("no panic");
            let stream = stream.as_mut().expect("it was opened");
            if asked.is("initialize") {
                stream.event(&result("0", "{\"protocolVersion\":\"2024-11-05\"}"));
            } else if asked.body.contains("large") {
                stream.event(&result("\"large\"", &format!("\"{}\"", "x".repeat(LIMIT))));
            } else if asked.body.contains("end") {
                stream.end();
            } else {
                stream.event(&result("1", "{\"n\":1.0}"));
            }
        }
        _ => reply.whole(refusal, ""),
    })
}

const PLACE: &str = "event: endpoint\ndata: /post?s=1\n\n";
const REFUSAL: &str = "405 Method Not Allowed";

#[tokio::test]
async fn a_server_with_a_stream_is_detected() {
    for (transport, path, expect) in [
        (Transport::Sse, "/sse", &["GET /sse", "POST /post?s=1", "POST /post?s=1"][..]),
        (Transport::Auto, "/sse", &["GET /sse", "POST /post?s=1", "POST /post?s=1"]),
        (Transport::Auto, "/here", &["POST /here", "GET /here", "POST /post?s=1", "POST /post?s=1"]),
    ] {
        let server = old(PLACE, REFUSAL);
        let mut peer = Peer::to(&server.url(path), transport).await;
        peer.say(HELLO).await;
        assert_eq!(peer.hear().await, result("0", "{\"protocolVersion\":\"2024-11-05\"}"));
        peer.say(&call("1")).await;
        assert_eq!(peer.hear().await, result("1", "{\"n\":1.0}"));
        assert_eq!(server.lines(), expect);
        assert_eq!(peer.leave().await, []);
    }
}

#[tokio::test]
async fn a_url_that_ends_in_sse_may_be_streamable_http() {
    let server = Server::new(|asked, _, reply| match asked.line.as_str() {
        "POST /sse" => reply.json(&result("0", "{}")),
        _ => reply.whole(REFUSAL, ""),
    });
    let mut peer = Peer::to(&server.url("/sse"), Transport::Auto).await;
    peer.say(HELLO).await;
    assert_eq!(peer.hear().await, result("0", "{}"));
    peer.say(&call("1")).await;
    peer.hear().await;
    assert_eq!(server.lines(), ["GET /sse", "POST /sse", "POST /sse"]);
}

#[tokio::test]
async fn the_end_of_the_stream_and_rejected_posts_are_reported() {
    let server = old("event: endpoint\ndata: post?s=1\n\n", REFUSAL);
    let mut peer = Peer::to(&server.url("/sse"), Transport::Sse).await;
    peer.say(&call("\"large\"")).await;
    let Some(LinkEvent::Frame(Frame::TooLarge(dropped))) = peer.next().await else {
        panic!("it is too large")
    };
    assert!(dropped.has_response_to("\"large\""), "{dropped:?}");
    peer.say(&call("\"end\"")).await;
    let Some(LinkEvent::Closed(why)) = peer.next().await else { panic!("it is gone") };
    let why = why.to_string();
    assert!(why.ends_with("/sse has closed its event stream"), "{why}");
    assert_eq!(peer.next().await, None);

    let server = old("event: endpoint\ndata: /elsewhere\n\n", "404 Not Found");
    let mut peer = Peer::to(&server.url("/sse"), Transport::Sse).await;
    peer.say(&call("1")).await;
    let error = peer.hear().await;
    assert!(error.contains("\"id\":1,\"error\"") && error.contains("404 Not Found"), "{error}");
    assert_eq!(peer.leave().await, []);
}

#[tokio::test]
async fn a_stream_without_an_endpoint_of_its_server_is_rejected() {
    for (first, expect) in [
        ("event: endpoint\ndata: http://evil.example/post\n\n", "endpoint on another server"),
        ("event: endpoint\ndata: //127.0.0.1:1/post\n\n", "endpoint on another server"),
        ("data: {}\n\n", "without an endpoint event"),
    ] {
        let server = old(first, REFUSAL);
        let target = UpstreamTarget::new(&server.url("/sse")).expect("a URL");
        let connector = RemoteConnector {
            target,
            client: HttpClient::new(false).expect("no TLS"),
            message_limit: LIMIT,
            transport: Transport::Sse,
            authorizer: None,
        };
        let error = connector.connect().await.expect_err("no link").to_string();
        assert!(error.contains(expect), "{error}");
    }
}

#[tokio::test]
async fn an_authentication_error_is_not_taken_for_another_transport() {
    let server = Server::new(|asked, _, reply| {
        let of_stream = asked.line.starts_with("GET");
        reply.whole(if of_stream { "401 Unauthorized" } else { "405 Method Not Allowed" }, "");
    });
    for path in ["/sse", "/mcp"] {
        let mut peer = Peer::to(&server.url(path), Transport::Auto).await;
        peer.say(HELLO).await;
        let error = peer.hear().await;
        assert!(error.contains("401") && error.contains("--header"), "{error}");
    }
}
