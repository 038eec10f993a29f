//! Tests of responses over streamable HTTP.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use portion_mcp::frame::Frame;
use portion_mcp::upstream::link::LinkEvent;
use portion_policy::upstream::Transport;

use super::server::{Server, session};
use super::{LIMIT, Peer, call, modern, result};

#[tokio::test]
async fn responses_keep_their_bytes_except_line_ends() {
    let pretty =
        "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1.0e0, \"result\": {\"n\": 1.50, \"s\": \"a\\nb\"}\n}\n";
    let server = Server::new(move |_, _, reply| reply.json(pretty));
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&call("1.0e0")).await;
    assert_eq!(
        peer.hear().await,
        "{    \"jsonrpc\": \"2.0\",   \"id\": 1.0e0, \"result\": {\"n\": 1.50, \"s\": \"a\\nb\"} }"
    );
}

#[tokio::test]
async fn every_event_is_a_message() {
    let server = Server::new(|_, _, reply| {
        reply.stream();
        reply.raw(": hello\n\nid: 1\ndata: \n\nevent: ping\ndata: x\n\n");
        reply.event(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":1.0}}"#);
        reply.raw(format!("data: {}\n\n", result("1", "{\"x\":\"é\"}").replace(',', ",\ndata:  ")));
        reply.event(r#"{"jsonrpc":"2.0","method":"notifications/after"}"#);
        reply.end();
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&call("1")).await;
    assert!(peer.hear().await.ends_with(r#""params":{"n":1.0}}"#));
    assert_eq!(peer.hear().await, r#"{"jsonrpc":"2.0",  "id":1,  "result":{"x":"é"}}"#);
    assert!(peer.hear().await.contains("notifications/after"));
}

#[tokio::test]
async fn concurrent_requests_each_get_their_response() {
    // The first request is answered when the second has arrived.
    let (say, hear) = std::sync::mpsc::channel();
    let (say, hear) = (std::sync::Mutex::new(say), std::sync::Mutex::new(hear));
    let server = Server::new(move |asked, _, reply| {
        if asked.body.contains("\"id\":1,") {
            hear.lock().expect("alone").recv().expect("the second comes");
            reply.json(&result("1", "1"));
        } else {
            say.lock().expect("alone").send(()).expect("the first waits");
            reply.json(&result("\"two\"", "2"));
        }
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&call("1")).await;
    peer.say(&call("\"two\"")).await;
    let mut responses = [peer.hear().await, peer.hear().await];
    responses.sort();
    assert_eq!(responses, [result("\"two\"", "2"), result("1", "1")]);
}

#[tokio::test]
async fn a_batch_gets_the_response_of_the_server() {
    let server =
        Server::new(|_, _, reply| reply.json(&format!("[{},{}]", result("1", "1"), result("2", "2"))));
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&format!("[{},{}]", call("1"), call("2"))).await;
    assert_eq!(peer.hear().await, format!("[{},{}]", result("1", "1"), result("2", "2")));
    assert_eq!(peer.leave().await, []);
}

#[tokio::test]
async fn an_error_status_with_a_message_is_a_response_to_the_request() {
    let server = Server::new(|_, _, reply| {
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":[1.0]}}"#;
        reply.whole("400 Bad Request\r\nContent-Type: application/json", error);
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Auto).await;
    peer.say(&modern(7, "server/discover", "")).await;
    let expect = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"no","data":[1.0]}}"#;
    assert_eq!(peer.hear().await, expect);
    // The client does not try to open a stream.
    assert_eq!(server.lines(), ["POST /mcp"]);
}

#[tokio::test]
async fn only_an_error_without_an_id_is_taken_for_the_response() {
    let forged = [
        result("9999", "\"forged\""),
        result("null", "\"forged\""),
        r#"{"jsonrpc":"2.0","id":"zz","error":{"code":1,"message":"forged"}}"#.to_owned(),
        format!("[{}]", result("9999", "\"forged\"")),
    ];
    for forged in forged {
        let sent = forged.clone();
        let server = Server::new(move |_, _, reply| {
            reply.stream();
            reply.event(&sent);
            reply.event(&result("3", "\"mine\""));
            reply.end();
        });
        let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
        peer.say(&call("3")).await;
        // It is passed on under its own id, by which the message processor drops it.
        assert_eq!(peer.hear().await, forged);
        assert_eq!(peer.hear().await, result("3", "\"mine\""));
    }
    let server = Server::new(|_, _, reply| reply.json(&result("9999", "\"forged\"")));
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&call("3")).await;
    assert_eq!(peer.hear().await, result("9999", "\"forged\""));
    let error = peer.hear().await;
    assert!(error.starts_with(r#"{"jsonrpc":"2.0","id":3,"error":"#), "{error}");
}

#[tokio::test]
async fn too_large_responses_are_dropped_in_every_form() {
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let server = Server::new(move |asked, _, reply| {
        let large = result("1", &format!("\"{}\"", "x".repeat(LIMIT)));
        match asked.line.as_str() {
            "POST /json" => reply.json(&large),
            "POST /stream" => {
                reply.stream();
                reply.event(&large);
                reply.closed();
            }
            "POST /gzip" => {
                reply.whole("200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", &bomb);
            }
            other => panic!("{other}"),
        }
    });
    for path in ["/json", "/stream", "/gzip"] {
        let mut peer = Peer::to(&server.url(path), Transport::Http).await;
        let calls = format!("[{},{}]", call("1"), call("\"b\""));
        for (posted, ids) in [(call("1"), &["1"][..]), (calls, &["1", "\"b\""][..])] {
            peer.say(&posted).await;
            let Some(LinkEvent::Frame(Frame::TooLarge(dropped))) = peer.next().await else {
                panic!("{path}: it is too large")
            };
            assert!(ids.iter().all(|id| dropped.has_response_to(id)), "{path}: {dropped:?}");
            assert!(dropped.messages.len() == ids.len() && dropped.bytes > LIMIT as u64, "{path}");
        }
        assert_eq!(peer.leave().await, [], "{path}: one answer");
    }
}

#[tokio::test]
async fn compressed_responses_are_read_while_they_arrive() {
    let (start, rest) = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"early\"}\n\n").expect("memory");
        encoder.flush().expect("memory");
        let start = encoder.get_ref().clone();
        encoder.write_all(format!("data: {}\n\n", result("1", "{}")).as_bytes()).expect("memory");
        let all = encoder.finish().expect("memory");
        (start.clone(), all[start.len()..].to_vec())
    };
    let (go_on, may) = std::sync::mpsc::channel();
    let may = std::sync::Mutex::new(may);
    let server = Server::new(move |_, _, reply| {
        reply.raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n");
        reply.raw(&start);
        may.lock().expect("alone").recv().expect("the test goes on");
        reply.raw(&rest);
        reply.end();
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&call("1")).await;
    assert!(peer.hear().await.contains("early"));
    go_on.send(()).expect("it waits");
    assert_eq!(peer.hear().await, result("1", "{}"));
}

#[tokio::test]
async fn since_2026_07_28_header_fields_repeat_the_body() {
    let server = Server::new(|asked, _, reply| {
        if asked.is("tools/list") {
            let schema = r#"{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"}}}"#;
            reply.json(&result("1", &format!(r#"{{"tools":[{{"name":"t é","inputSchema":{schema}}}]}}"#)));
        } else {
            reply.json(&result("2", "{}"));
        }
    });
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&modern(1, "tools/list", "")).await;
    peer.hear().await;
    peer.say(&modern(2, "tools/call", r#""name":"t é","arguments":{"city":"Köln"},"#)).await;
    peer.hear().await;
    let call = &server.asked()[1];
    for (name, expect) in [
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", Some("tools/call")),
        ("mcp-name", Some("=?base64?dCDDqQ==?=")),
        ("mcp-param-city", Some("=?base64?S8O2bG4=?=")),
        ("mcp-session-id", None),
        ("content-type", Some("application/json")),
        ("accept", Some("application/json, text/event-stream")),
    ] {
        assert_eq!(call.field(name), expect, "{name}");
    }
}

#[tokio::test]
async fn a_cancellation_is_posted_or_closes_the_stream_by_revision() {
    let (say, hear) = std::sync::mpsc::channel();
    let say = std::sync::Mutex::new(say);
    let server = Server::new(move |asked, _, reply| {
        if session(asked, reply, "s") {
        } else if asked.is("tools/call") {
            reply.stream();
            reply.event(r#"{"jsonrpc":"2.0","method":"under/way"}"#);
            reply.closed();
            say.lock().expect("alone").send(()).expect("the test waits");
        } else {
            reply.whole("202 Accepted", "");
        }
    });
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let mut peer = Peer::to(&server.url("/mcp"), Transport::Http).await;
    peer.say(&modern(7, "tools/call", r#""name":"t","#)).await;
    peer.hear().await;
    peer.say(cancel).await;
    tokio::task::spawn_blocking(move || hear.recv().expect("it is closed")).await.expect("no panic");
    assert_eq!(peer.leave().await, []);
    assert_eq!(server.lines(), ["POST /mcp"]);

    let mut peer = Peer::begun(&server.url("/mcp")).await;
    peer.say(&call("7")).await;
    assert!(peer.hear().await.contains("under/way"));
    peer.say(cancel).await;
    assert_eq!(peer.leave().await, []);
    assert!(server.asked().iter().any(|asked| asked.body == cancel), "{:?}", server.lines());
}

#[tokio::test]
async fn the_delay_doubles_for_streams_that_end_at_once() {
    let (answered, listens) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let listened = Arc::clone(&listens);
    let server = Server::new(move |asked, _, reply| {
        if asked.line.starts_with("GET") && asked.field("last-event-id") == Some("1") {
            reply.stream();
            reply.raw("retry: 0\n\n");
            if answered.fetch_add(1, Ordering::Relaxed) == 3 {
                reply.event(&result("7", "{}"));
            }
            reply.end();
        } else if asked.line.starts_with("GET") {
            listened.fetch_add(1, Ordering::Relaxed);
            reply.stream();
            reply.raw("retry: 0\n\n");
            reply.event(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
            reply.end();
        } else if session(asked, reply, "s") {
        } else if asked.is("tools/call") {
            reply.stream();
            reply.raw("id: 1\nretry: 0\ndata: \n\n");
            reply.end();
        } else {
            reply.whole("202 Accepted", "");
        }
    });
    let begun = Instant::now();
    let mut peer = Peer::begun(&server.url("/mcp")).await;
    let called = Instant::now();
    peer.say(&call("7")).await;
    while peer.hear().await != result("7", "{}") {}
    // Four streams resume it, after 100, 200, 400 and 800 ms.
    assert!(called.elapsed() >= Duration::from_millis(1500), "{:?}", called.elapsed());
    let max = begun.elapsed().as_millis() / 100 + 1;
    let opened = listens.load(Ordering::Relaxed) as u128;
    assert!(opened <= max, "{opened} streams in {:?}", begun.elapsed());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}
