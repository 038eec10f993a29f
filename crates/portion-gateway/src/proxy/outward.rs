//! Requests to the server, and the heads of its answers.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::http::body::{self, Body};
use crate::http::{encoding, fields};
use crate::upstream::http::{Client, Target};

/// How long a connection may take to be refused, where nobody listens.
const REFUSED: Duration = Duration::from_millis(100);
/// How long a process takes that has closed one connection and is about to close the others.
const ENDING: Duration = Duration::from_millis(100);

/// Where requests go.
pub(super) struct Outward {
    pub(super) target: Target,
    pub(super) client: Client,
}

impl Outward {
    /// A request with the fields that the client's had, but for those that are a connection's.
    pub(super) fn request(&self, method: Method, headers: &HeaderMap, body: Vec<u8>) -> Request<Body> {
        let mut request = Request::new(if body.is_empty() { body::empty() } else { body::full(body) });
        *request.method_mut() = method;
        *request.uri_mut() = self.target.url().clone();
        let mut headers = headers.clone();
        fields::end_hop(&mut headers);
        for name in [HOST, CONTENT_LENGTH, EXPECT] {
            headers.remove(name);
        }
        encoding::ask_for_readable(&mut headers);
        self.target.adorn(&mut headers);
        *request.headers_mut() = headers;
        request
    }

    /// Whether nobody listens where the server was: connections are refused. One that is about to end may take
    /// another.
    pub(super) async fn is_deserted(&self) -> bool {
        let url = self.target.url();
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let refused = async || matches!(timeout(REFUSED, TcpStream::connect((host, port))).await, Ok(Err(_)));
        refused().await || {
            sleep(ENDING).await;
            refused().await
        }
    }
}

/// The answer as it came.
pub(super) fn passed(answer: Response<Incoming>) -> Response<Body> {
    let (mut head, incoming) = answer.into_parts();
    fields::end_hop(&mut head.headers);
    Response::from_parts(head, body::passed(incoming))
}

/// The head and the readable body of an answer that may be changed.
///
/// # Errors
/// Where it is compressed in a way that cannot be read.
pub(super) fn readable(answer: Response<Incoming>) -> Result<(Parts, Body), encoding::Unknown> {
    let (mut head, incoming) = answer.into_parts();
    let body = encoding::plain(&mut head.headers, incoming)?;
    fields::end_hop(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Ok((head, body))
}

/// Whether it is a stream of events.
pub(super) fn is_stream<B>(answer: &Response<B>) -> bool {
    is_of(answer, "text/event-stream")
}

/// Whether it is JSON.
pub(super) fn is_json<B>(answer: &Response<B>) -> bool {
    is_of(answer, "application/json")
}

fn is_of<B>(answer: &Response<B>, kind: &str) -> bool {
    let stated = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let stated = stated.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    stated.eq_ignore_ascii_case(kind.as_bytes())
}
