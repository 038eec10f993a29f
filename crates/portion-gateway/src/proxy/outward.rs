//! Requests to the server, and the heads of its answers.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderValue, LOCATION};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::http::body::{self, Body};
use crate::http::{encoding, fields};
use crate::upstream::http::{Client, Refused, Target, Unreachable, resolve, same_origin};

/// How long a connection may take to be refused, where nobody listens.
const REFUSED: Duration = Duration::from_millis(100);
/// How long a process takes that has closed one connection and is about to close the others.
const ENDING: Duration = Duration::from_millis(100);

/// Fields by which some servers take another path or method for that of the request: the operator's credentials are for
/// one path.
const OVERRIDES: [&str; 5] =
    ["x-original-url", "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override"];

/// Where requests go.
pub(super) struct Outward {
    target: ArcSwap<Target>,
    client: Client,
}

/// What of a client's request goes on beside its method and its body.
#[derive(Clone)]
pub(super) struct Carried {
    pub(super) headers: HeaderMap,
    pub(super) query: Option<String>,
}

/// Why a request has no answer that can be passed on.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The server is somewhere else.
    #[error(transparent)]
    Redirected(Box<Refused>),
}

impl Failure {
    /// Whether the server may have acted.
    pub(super) fn was_reached(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.was_reached())
    }
}

impl Outward {
    /// Requests to this server.
    pub(super) fn new(target: Target, client: Client) -> Self {
        Self { target: ArcSwap::from_pointee(target), client }
    }

    /// The server, where it is now.
    pub(super) fn target(&self) -> Arc<Target> {
        self.target.load_full()
    }

    /// Sends a request with the fields that the client's had, but for those of its connection, and those of the operator.
    ///
    /// A redirect is followed once, and only where it keeps the method and leads to the same path with or without a slash
    /// at its end: the operator's credentials go to no other place, whatever a client makes the server say.
    ///
    /// # Errors
    /// [`Failure`] where no answer came, or a redirect.
    pub(super) async fn send(
        &self,
        method: &Method,
        carried: &Carried,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Failure> {
        let (body, target) = (body.into(), self.target());
        let mut headers = passing(&carried.headers);
        target.adorn(&mut headers);
        let url = target.with_query(carried.query.as_deref());
        let answer = self.ask(method, &url, &headers, body.clone()).await?;
        let Some(next) = slashed(&url, &answer) else { return direct(&url, answer) };
        self.target.store(Arc::new(target.at_path(next.path())));
        let answer = self.ask(method, &next, &headers, body).await?;
        direct(&next, answer)
    }

    /// Asks for a document that anybody may read: none of the operator's fields go there.
    ///
    /// # Errors
    /// [`Failure`] where no answer came, or a redirect.
    pub(super) async fn document(
        &self,
        method: &Method,
        headers: &HeaderMap,
        url: &Uri,
    ) -> Result<Response<Incoming>, Failure> {
        let answer = self.ask(method, url, &passing(headers), Bytes::new()).await?;
        direct(url, answer)
    }

    async fn ask(
        &self,
        method: &Method,
        url: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Unreachable> {
        let mut request = Request::new(if body.is_empty() { body::empty() } else { body::full(body) });
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers.clone();
        self.client.send(request).await
    }

    /// Whether nobody listens where the server was: connections are refused. One that is about to end may take
    /// another.
    pub(super) async fn is_deserted(&self) -> bool {
        let target = self.target();
        let url = target.url();
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let refused = async || matches!(timeout(REFUSED, TcpStream::connect((host, port))).await, Ok(Err(_)));
        refused().await || {
            sleep(ENDING).await;
            refused().await
        }
    }
}

/// The fields of a client's request that go on.
fn passing(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    fields::end_hop(&mut headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
    for name in OVERRIDES {
        headers.remove(name);
    }
    encoding::ask_for_readable(&mut headers);
    headers
}

/// Where a redirect leads that only adds a slash to the path, or takes it away.
fn slashed(url: &Uri, answer: &Response<Incoming>) -> Option<Uri> {
    let keeps_method =
        matches!(answer.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = answer.headers().get(LOCATION).filter(|_| keeps_method)?.to_str().ok()?;
    let path = |uri: &Uri| uri.path().strip_suffix('/').unwrap_or(uri.path()).to_owned();
    resolve(url, location)
        .filter(|next| same_origin(next, url) && path(next) == path(url) && next.query() == url.query())
}

/// An answer, unless it is a redirect.
fn direct(url: &Uri, answer: Response<Incoming>) -> Result<Response<Incoming>, Failure> {
    if answer.status().is_redirection() {
        return Err(Failure::Redirected(Box::new(Refused::new(url, answer.status(), answer.headers(), ""))));
    }
    Ok(answer)
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
