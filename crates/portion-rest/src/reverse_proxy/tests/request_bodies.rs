//! Bodies of requests, as the upstream gets them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Request, Response};
use http_body::Body as HttpBody;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use portion_policy::upstream::UpstreamTarget;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower_service::Service as _;

use super::{LONG, listener, read_head, served};
use crate::body::{Body, BoxError, PollFrame, full};
use crate::reverse_proxy::{ReverseProxy, ServerLimits};

const CHUNKED: &str = "transfer-encoding: chunked\r\n";

/// Reads a request of the proxy. Returns its head, in small letters, and its body in chunks, which is empty without
/// chunks.
async fn forwarded(upstream: &TcpListener) -> (String, String) {
    let (mut stream, _) = upstream.accept().await.expect("a connection");
    let head = read_head(&mut stream).await.to_ascii_lowercase();
    let mut body = Vec::new();
    while head.contains(CHUNKED) && !body.ends_with(b"0\r\n\r\n") {
        body.push(stream.read_u8().await.expect("a chunk"));
    }
    (head, String::from_utf8(body).expect("text"))
}

#[tokio::test]
async fn a_body_in_chunks_is_sent_in_chunks() {
    let (upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS"] {
        for (fields, sent) in [(CHUNKED, "3\r\nabc\r\n0\r\n\r\n"), (CHUNKED, "0\r\n\r\n"), ("", "")] {
            let request = format!("{method} / HTTP/1.1\r\nhost: api.example\r\n{fields}\r\n{sent}");
            let mut client = TcpStream::connect(address).await.expect("a connection");
            client.write_all(request.as_bytes()).await.expect("sent");
            let (head, body) = timeout(LONG, forwarded(&upstream)).await.expect("in time");
            assert_eq!(body, sent, "{head}");
            assert_eq!(head.matches("transfer-encoding:").count(), usize::from(!fields.is_empty()), "{head}");
        }
    }
}

#[tokio::test]
async fn a_body_with_another_transfer_coding_is_rejected() {
    let (_upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    for fields in
        ["transfer-encoding: gzip, chunked\r\n", "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n"]
    {
        let request = format!("POST / HTTP/1.1\r\nhost: api.example\r\n{fields}\r\n3\r\nabc\r\n0\r\n\r\n");
        let mut client = TcpStream::connect(address).await.expect("a connection");
        client.write_all(request.as_bytes()).await.expect("sent");
        let mut response = String::new();
        timeout(LONG, client.read_to_string(&mut response)).await.expect("in time").expect("text");
        assert!(response.starts_with("HTTP/1.1 501 "), "{response}");
        assert!(response.contains("transfer_coding_unknown"), "{response}");
        assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{response}");
    }
}

#[tokio::test]
async fn a_body_of_http2_is_sent_in_chunks() {
    let (upstream, upstream_address) = listener().await;
    let address = served(upstream_address, ServerLimits::default()).await;
    // The request is a GET of `/`, with a body and without.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let head = |flags| [0, 0, 6, 1, flags, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'a'];
    let data = [0, 0, 3, 0, 1, 0, 0, 0, 1, b'a', b'b', b'c'];
    for (frames, expect) in
        [([&head(4)[..], &data].concat(), "3\r\nabc\r\n0\r\n\r\n"), (head(5).to_vec(), "")]
    {
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let sent = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &frames[..]].concat();
        client.write_all(&sent).await.expect("sent");
        let (head, body) = timeout(LONG, forwarded(&upstream)).await.expect("in time");
        assert_eq!(body, expect, "{head}");
        assert_eq!(head.contains(CHUNKED), !expect.is_empty(), "{head}");
    }
}

/// A body that does not tell its length.
struct Unmeasured(Body);

impl HttpBody for Unmeasured {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> PollFrame {
        Pin::new(&mut self.0).poll_frame(cx)
    }
}

#[tokio::test]
async fn a_body_of_unknown_length_is_sent_over_http2() {
    let (upstream, address) = listener().await;
    tokio::spawn(async move {
        let (stream, _) = upstream.accept().await.expect("a connection");
        let service = hyper::service::service_fn(|request: Request<Incoming>| async move {
            let (head, body) = request.into_parts();
            assert!(!head.headers.contains_key(TRANSFER_ENCODING));
            assert!(!head.headers.contains_key(CONTENT_LENGTH));
            let body = body.collect().await.expect("a body").to_bytes();
            Ok::<_, Infallible>(Response::new(full(body)))
        });
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        connection.serve_connection(TokioIo::new(stream), service).await.expect("HTTP/2");
    });
    let target = UpstreamTarget::new(&format!("http://{address}")).expect("a URL");
    let mut proxy = ReverseProxy::over_h2c(target).expect("a proxy");
    for text in ["body", ""] {
        let request = Request::get("/a").body(Unmeasured(full(text))).expect("a request");
        let response = timeout(LONG, proxy.call(request)).await.expect("in time").expect("a response");
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(body, text);
    }
}
