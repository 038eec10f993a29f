//! The server and the proxy with real connections.

mod request_bodies;
mod switches;

use std::net::SocketAddr;
use std::time::Duration;

use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use portion_gateway::overload::OverloadLimit;
use portion_net::serve::ServeLimits;
use portion_policy::upstream::UpstreamTarget;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use super::{ReverseProxy, ServerLimits, path_rejection, serve};
use crate::body::full;
use crate::options::ResponseTimeout;

/// More than any step of these tests takes.
const LONG: Duration = Duration::from_secs(30);

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn proxy_to(upstream: SocketAddr) -> ReverseProxy {
    ReverseProxy::new(UpstreamTarget::new(&format!("http://{upstream}")).expect("a URL")).expect("a proxy")
}

/// Returns the limits of a server with others for connections.
fn limits(change: impl FnOnce(&mut ServeLimits)) -> ServerLimits {
    let mut limits = ServerLimits::default();
    change(&mut limits.connections);
    limits
}

/// Serves a proxy to this upstream, and returns its address.
async fn served(upstream: SocketAddr, limits: ServerLimits) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(serve(listener, proxy_to(upstream), limits, std::future::pending()));
    address
}

/// Reads up to the end of a head.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    String::from_utf8(head).expect("text")
}

/// Connects and sends a request. Returns the head of the response too.
async fn requested(address: SocketAddr, fields: &str) -> (TcpStream, String) {
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET / HTTP/1.1\r\nhost: api.example\r\n{fields}\r\n");
    client.write_all(request.as_bytes()).await.expect("sent");
    let head = timeout(LONG, read_head(&mut client)).await.expect("a response");
    (client, head)
}

const SWITCH: &str = "connection: upgrade\r\nupgrade: echo\r\n";

/// Starts a server that switches to a protocol in which it returns what it gets.
async fn echo_server() -> SocketAddr {
    switching_server(SWITCH).await
}

/// Starts a server that switches to another protocol with these header fields, whatever was asked, and then returns what
/// it gets.
async fn switching_server(fields: &'static str) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                read_head(&mut stream).await;
                let head = format!("HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n");
                stream.write_all(head.as_bytes()).await.expect("sent");
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn a_tunnel_counts_as_a_connection_until_it_ends() {
    let address = served(echo_server().await, limits(|limits| limits.max_connections = 1)).await;
    let (mut tunnel, head) = requested(address, SWITCH).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let mut echoed = [0; 4];
    for _ in 0..10 {
        tunnel.write_all(b"ping").await.expect("sent");
        timeout(LONG, tunnel.read_exact(&mut echoed)).await.expect("in time").expect("an echo");
        assert!(requested(address, SWITCH).await.1.starts_with("HTTP/1.1 503 "));
    }
    drop(tunnel);
    let next = async {
        while !requested(address, SWITCH).await.1.starts_with("HTTP/1.1 101 ") {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, next).await.expect("the permit is released");
}

#[tokio::test]
async fn requests_are_rejected_under_overload() {
    // Every task wakes a little late, so that this counts as an overload.
    let limits = ServerLimits {
        overload: Some(OverloadLimit { delay: Duration::ZERO, requests: 0 }),
        ..ServerLimits::default()
    };
    let address = served(echo_server().await, limits).await;
    let rejected = async {
        loop {
            let (_, head) = requested(address, SWITCH).await;
            if head.starts_with("HTTP/1.1 503 ") {
                return head;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let head = timeout(LONG, rejected).await.expect("the delay is noticed");
    assert!(head.to_ascii_lowercase().contains("retry-after: 1\r\n"), "{head}");
}

#[tokio::test]
async fn a_request_without_a_response_at_the_end_of_the_drain_timeout_gets_an_error() {
    for (method, advice, may_retry) in
        [("GET", "send the request again", true), ("POST", "may have acted", false)]
    {
        let (upstream, upstream_address) = listener().await;
        let (listener, address) = listener().await;
        let limits = limits(|limits| limits.drain_timeout = Duration::from_millis(50));
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let serving = tokio::spawn(serve(listener, proxy_to(upstream_address), limits, shutdown));
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let request = format!("{method} / HTTP/1.1\r\nhost: api.example\r\n\r\n");
        client.write_all(request.as_bytes()).await.expect("sent");
        let (mut stream, _) = upstream.accept().await.expect("a connection");
        read_head(&mut stream).await;
        stop.send(()).expect("the server waits for it");
        let mut response = String::new();
        timeout(LONG, client.read_to_string(&mut response)).await.expect("in time").expect("text");
        assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
        assert!(response.contains("\"busy\"") && response.contains("the gateway is stopping"), "{response}");
        assert!(response.contains(advice), "{response}");
        assert_eq!(response.to_ascii_lowercase().contains("retry-after: 1\r\n"), may_retry, "{response}");
        timeout(LONG, serving).await.expect("in time").expect("no panic");
    }
}

#[tokio::test]
async fn a_response_that_is_still_read_at_shutdown_is_not_cut() {
    let size = 32 << 20;
    let (listener, address) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let service = tower::service_fn(move |_| async move { Ok(Response::new(full("a".repeat(size)))) });
    let serving = tokio::spawn(serve(listener, service, ServerLimits::default(), shutdown));
    let (mut client, head) = requested(address, "").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stop.send(()).expect("the server waits for it");
    let (mut part, mut received) = (vec![0; 128 << 10], 0);
    while received < size {
        let count = timeout(LONG, client.read(&mut part)).await.expect("in time").expect("a part");
        assert!(count > 0, "cut after {received} bytes");
        received += count;
        // Slower than the time for connections to end.
        sleep(Duration::from_millis(10)).await;
    }
    drop(client);
    timeout(LONG, serving).await.expect("in time").expect("no panic");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let (upstream, upstream_address) = listener().await;
    let limits = limits(|limits| limits.write_timeout = Duration::from_millis(50));
    let address = served(upstream_address, limits).await;
    let client = tokio::spawn(requested(address, ""));
    let (mut stream, _) = upstream.accept().await.expect("a connection");
    read_head(&mut stream).await;
    let endless = async {
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
        while sent.is_ok() {
            sent = stream.write_all(&[b'a'; 8 << 10]).await;
        }
    };
    timeout(LONG, endless).await.expect("the proxy ends the response");
    let (mut client, head) = client.await.expect("no panic");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let ended = async { while client.read(&mut [0; 8 << 10]).await.is_ok_and(|count| count > 0) {} };
    timeout(LONG, ended).await.expect("the connection is closed");
}

#[tokio::test]
async fn the_host_of_http2_is_told_to_the_upstream() {
    let (upstream, address) = listener().await;
    for (uri, host, expect) in [
        ("http://shop.example:81/a", None, "shop.example:81"),
        ("http://user@shop.example/a", None, "shop.example"),
        ("http://shop.example/a", Some("evil.example"), "shop.example"),
        ("/a", Some("api.example"), "api.example"),
    ] {
        let mut request = Request::builder().uri(uri).body(full("")).expect("a request");
        request.headers_mut().extend(host.map(|host| (HOST, HeaderValue::from_static(host))));
        let response = tokio::spawn(proxy_to(address).call(request));
        let (mut stream, _) = upstream.accept().await.expect("a connection");
        let head = read_head(&mut stream).await.to_ascii_lowercase();
        assert!(head.contains(&format!("x-forwarded-host: {expect}\r\n")), "{uri}: {head}");
        assert!(head.contains(&format!("host: {address}\r\n")), "{uri}: {head}");
        response.abort();
    }
}

#[tokio::test]
async fn an_upstream_that_speaks_only_http2_without_tls_is_reached() {
    let (upstream, address) = listener().await;
    tokio::spawn(async move {
        let (stream, _) = upstream.accept().await.expect("a connection");
        let service = hyper::service::service_fn(|request: Request<hyper::body::Incoming>| async move {
            let body = format!("{:?} {} {}", request.version(), request.method(), request.uri());
            Ok::<_, std::convert::Infallible>(Response::new(full(body)))
        });
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        connection.serve_connection(TokioIo::new(stream), service).await.expect("HTTP/2");
    });
    let target = UpstreamTarget::new(&format!("http://{address}/v1")).expect("a URL");
    let mut proxy = ReverseProxy::over_h2c(target).expect("a proxy");
    for method in ["GET", "POST"] {
        let request = Request::builder().method(method).uri("/a?b=1").body(full("body")).expect("a request");
        let response = timeout(LONG, proxy.call(request)).await.expect("in time").expect("a response");
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(body, format!("HTTP/2.0 {method} http://{address}/v1/a?b=1"));
    }
}

#[tokio::test]
async fn a_stream_of_http2_that_is_not_read_is_reset() {
    let (upstream, upstream_address) = listener().await;
    let limits = limits(|limits| limits.write_timeout = Duration::from_millis(50));
    let address = served(upstream_address, limits).await;
    let mut client = TcpStream::connect(address).await.expect("a connection");
    // Streams have a window of 0. The request is a GET of `/`.
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    let request = [0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'a'];
    let sent = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &request].concat();
    client.write_all(&sent).await.expect("sent");
    let (mut stream, _) = upstream.accept().await.expect("a connection");
    read_head(&mut stream).await;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await.expect("sent");
    let reset = async {
        loop {
            let mut head = [0; 9];
            client.read_exact(&mut head).await.expect("the connection stays open");
            let [_, high, low, kind, ..] = head;
            let mut content = vec![0; usize::from(u16::from_be_bytes([high, low]))];
            client.read_exact(&mut content).await.expect("a frame");
            assert_ne!(kind, 0, "there is no window for data");
            if kind == 3 {
                return head[8];
            }
        }
    };
    assert_eq!(timeout(LONG, reset).await.expect("in time"), 1);
}

#[tokio::test]
async fn crumbs_of_a_cookie_are_joined() {
    let (upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    let client = tokio::spawn(requested(address, "cookie: a=1\r\ncookie: b=2\r\n"));
    let (mut stream, _) = upstream.accept().await.expect("a connection");
    let head = read_head(&mut stream).await.to_ascii_lowercase();
    assert!(head.contains("cookie: a=1; b=2\r\n"), "{head}");
    assert_eq!(head.matches("cookie:").count(), 1, "{head}");
    client.abort();
}

#[tokio::test]
async fn a_body_where_there_is_none_is_no_response_to_the_next_request() {
    let (upstream, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = upstream.accept().await {
            tokio::spawn(async move {
                loop {
                    read_head(&mut stream).await;
                    let response = b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello";
                    stream.write_all(response).await.expect("sent");
                }
            });
        }
    });
    let mut proxy = proxy_to(address);
    for at in 0..5 {
        let request = Request::get("/a").body(full("")).expect("a request");
        let response = timeout(LONG, proxy.call(request)).await.expect("in time").expect("a response");
        assert_eq!(response.status(), 204, "request {at}");
    }
}

#[tokio::test]
async fn a_head_over_a_limit_is_named() {
    let (upstream, address) = listener().await;
    for fields in ["x-a: 1\r\n".repeat(300), format!("x-a: {}\r\n", "a".repeat(700 << 10))] {
        let request = Request::get("/a").body(full("")).expect("a request");
        let accepted = tokio::spawn(proxy_to(address).call(request));
        let (mut stream, _) = upstream.accept().await.expect("a connection");
        read_head(&mut stream).await;
        let sent = format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{fields}\r\n");
        // It is not read to its end.
        let _ = timeout(LONG, stream.write_all(sent.as_bytes())).await.expect("in time");
        let response =
            timeout(LONG, accepted).await.expect("in time").expect("no panic").expect("a response");
        assert_eq!(response.status(), 502);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("upstream_invalid") && text.contains("100 header fields or 408 KiB"), "{text}");
        assert!(!text.contains("h2c"), "{text}");
    }
}

#[tokio::test]
async fn a_head_that_is_not_read_gets_a_status_without_a_body() {
    let (_upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    for (fields, status) in [
        ("x-a: 1\r\n".repeat(100), 431),
        ("content-length: 1\r\ncontent-length: 2\r\n".to_owned(), 400),
        ("x-a: 1\r\n 2\r\n".to_owned(), 400),
    ] {
        let (_, head) = requested(address, &fields).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(head.to_ascii_lowercase().contains("content-length: 0\r\n"), "{head}");
    }
}

#[tokio::test]
async fn a_method_that_is_not_forwarded_is_rejected() {
    let (_upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    for (line, closes) in [
        ("TRACE / HTTP/1.1", false),
        ("track / HTTP/1.1", false),
        ("CONNECT localhost:80 HTTP/1.1", true),
        ("CONNECT api.example:443 HTTP/1.1", true),
    ] {
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let request = format!("{line}\r\nhost: api.example\r\n\r\n");
        client.write_all(request.as_bytes()).await.expect("sent");
        let head = timeout(LONG, read_head(&mut client)).await.expect("a response").to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 405 ") && head.contains("\r\nallow: get, "), "{line}: {head}");
        assert_eq!(head.contains("\r\nconnection: close\r\n"), closes, "{line}: {head}");
    }
}

#[test]
fn a_target_that_may_lead_elsewhere_is_rejected() {
    for (path, is_rejected) in
        [("/a/../b?cursor=x", true), ("/%2e%2E/b", true), ("*", true), ("/a..b", false)]
    {
        let rejected = path_rejection(&path.parse().expect("a URI"));
        assert_eq!(rejected.map(|response| response.status().as_u16()), is_rejected.then_some(400), "{path}");
    }
}

#[tokio::test]
async fn a_silent_upstream_is_an_error() {
    let (upstream, address) = listener().await;
    for (method, advice) in [("GET", "send the request again"), ("POST", "may have acted")] {
        let mut request = Request::builder().method(method).uri("/a").body(full("")).expect("a request");
        request.extensions_mut().insert(ResponseTimeout(Duration::from_millis(50)));
        let accepted = tokio::spawn(proxy_to(address).call(request));
        let (mut stream, _) = upstream.accept().await.expect("a connection");
        read_head(&mut stream).await;
        let response =
            timeout(LONG, accepted).await.expect("in time").expect("no panic").expect("a response");
        assert_eq!(response.status(), 504);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("upstream_timeout") && text.contains(advice), "{text}");
    }
}
