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
use crate::http::{encoding, hop_by_hop};
use crate::upstream::http::{ErrorStatus, HttpClient, NoResponse, UpstreamTarget, resolve, same_origin};

/// How long a connection may take to be refused, where nobody listens.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a process takes that has closed one connection and is about to close the others.
const RECHECK_DELAY: Duration = Duration::from_millis(100);

/// Fields by which some servers take another path or method for that of the request: the operator's credentials are for
/// one path.
const OVERRIDE_HEADERS: [&str; 5] =
    ["x-original-url", "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override"];

/// Where requests go.
pub(super) struct UpstreamClient {
    target: ArcSwap<UpstreamTarget>,
    client: HttpClient,
}

/// What of a client's request goes on beside its method and its body.
#[derive(Clone)]
pub(super) struct ForwardedParts {
    pub(super) headers: HeaderMap,
    pub(super) query: Option<String>,
}

/// Why a request has no answer that can be passed on.
#[derive(Debug, Error)]
pub(super) enum ForwardError {
    #[error(transparent)]
    Unreachable(#[from] NoResponse),
    /// The server is somewhere else.
    #[error(transparent)]
    Redirected(Box<ErrorStatus>),
}

impl ForwardError {
    /// Whether the server may have acted.
    pub(super) fn was_reached(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.was_reached())
    }
}

impl UpstreamClient {
    /// Requests to this server.
    pub(super) fn new(target: UpstreamTarget, client: HttpClient) -> Self {
        Self { target: ArcSwap::from_pointee(target), client }
    }

    /// The server, where it is now.
    pub(super) fn target(&self) -> Arc<UpstreamTarget> {
        self.target.load_full()
    }

    /// Sends a request with the fields that the client's had, but for those of its connection, and those of the operator.
    ///
    /// A redirect is followed once, and only where it keeps the method and leads to the same path with or without a slash
    /// at its end: the operator's credentials go to no other place, whatever a client makes the server say.
    ///
    /// # Errors
    /// [`ForwardError`] where no answer came, or a redirect.
    pub(super) async fn send(
        &self,
        method: &Method,
        carried: &ForwardedParts,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, ForwardError> {
        let (body, target) = (body.into(), self.target());
        let mut headers = forwarded_headers(&carried.headers);
        target.apply_headers(&mut headers);
        let url = target.url_with_query(carried.query.as_deref());
        let answer = self.send_once(method, &url, &headers, body.clone()).await?;
        let Some(next) = slash_redirect(&url, &answer) else { return reject_redirect(&url, answer) };
        self.target.store(Arc::new(target.with_path(next.path())));
        let answer = self.send_once(method, &next, &headers, body).await?;
        reject_redirect(&next, answer)
    }

    /// Asks for a document that anybody may read: none of the operator's fields go there.
    ///
    /// # Errors
    /// [`ForwardError`] where no answer came, or a redirect.
    pub(super) async fn fetch_document(
        &self,
        method: &Method,
        headers: &HeaderMap,
        url: &Uri,
    ) -> Result<Response<Incoming>, ForwardError> {
        let answer = self.send_once(method, url, &forwarded_headers(headers), Bytes::new()).await?;
        reject_redirect(url, answer)
    }

    async fn send_once(
        &self,
        method: &Method,
        url: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, NoResponse> {
        let mut request = Request::new(if body.is_empty() { body::empty() } else { body::full(body) });
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers.clone();
        self.client.send(request).await
    }

    /// Whether nobody listens where the server was: connections are refused. One that is about to end may take
    /// another.
    pub(super) async fn refuses_connections(&self) -> bool {
        let target = self.target();
        let url = target.url();
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let refused =
            async || matches!(timeout(REFUSAL_TIMEOUT, TcpStream::connect((host, port))).await, Ok(Err(_)));
        refused().await || {
            sleep(RECHECK_DELAY).await;
            refused().await
        }
    }
}

/// The fields of a client's request that go on.
fn forwarded_headers(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    hop_by_hop::remove_hop_by_hop(&mut headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
    for name in OVERRIDE_HEADERS {
        headers.remove(name);
    }
    encoding::restrict_accept_encoding(&mut headers);
    headers
}

/// Where a redirect leads that only adds a slash to the path, or takes it away.
fn slash_redirect(url: &Uri, answer: &Response<Incoming>) -> Option<Uri> {
    let keeps_method =
        matches!(answer.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = answer.headers().get(LOCATION).filter(|_| keeps_method)?.to_str().ok()?;
    let path = |uri: &Uri| uri.path().strip_suffix('/').unwrap_or(uri.path()).to_owned();
    resolve(url, location)
        .filter(|next| same_origin(next, url) && path(next) == path(url) && next.query() == url.query())
}

/// An answer, unless it is a redirect.
fn reject_redirect(url: &Uri, answer: Response<Incoming>) -> Result<Response<Incoming>, ForwardError> {
    if answer.status().is_redirection() {
        return Err(ForwardError::Redirected(Box::new(ErrorStatus::new(
            url,
            answer.status(),
            answer.headers(),
            "",
        ))));
    }
    Ok(answer)
}

/// The answer as it came.
pub(super) fn pass_through(answer: Response<Incoming>) -> Response<Body> {
    let (mut head, incoming) = answer.into_parts();
    hop_by_hop::remove_hop_by_hop(&mut head.headers);
    Response::from_parts(head, body::pass_through(incoming))
}

/// The head and the readable body of an answer that may be changed.
///
/// # Errors
/// Where it is compressed in a way that cannot be read.
pub(super) fn decode_response(
    answer: Response<Incoming>,
) -> Result<(Parts, Body), encoding::UnsupportedEncoding> {
    let (mut head, incoming) = answer.into_parts();
    let body = encoding::decode_body(&mut head.headers, incoming)?;
    hop_by_hop::remove_hop_by_hop(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Ok((head, body))
}

/// Whether it is a stream of events.
pub(super) fn is_event_stream<B>(answer: &Response<B>) -> bool {
    has_media_type(answer, "text/event-stream")
}

/// Whether it is JSON.
pub(super) fn is_json<B>(answer: &Response<B>) -> bool {
    has_media_type(answer, "application/json")
}

fn has_media_type<B>(answer: &Response<B>, kind: &str) -> bool {
    let stated = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let stated = stated.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    stated.eq_ignore_ascii_case(kind.as_bytes())
}
