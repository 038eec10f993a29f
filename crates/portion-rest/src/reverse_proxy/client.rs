//! Forwards requests to the upstream.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    RETRY_AFTER, TE, TRANSFER_ENCODING,
};
use http::uri::Scheme;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body as HttpBody;
use portion_core::error_code::ErrorCode;
use portion_gateway::call::Fault;
use portion_net::client::{self, HttpVersions, TlsError, UnreadableHead, is_certificate_error};
use portion_net::forwarding::{echoes_request, remove_hop_by_hop, remove_override_headers};
use portion_net::request_body::{BodyFailure, BodyProgress, SlowBody, TimedBody};
use portion_net::serve::ClientConnection;
use portion_policy::upstream::UpstreamTarget;
use tower_service::Service;

use super::forwarded;
use super::location::{self, InvalidPath};
use super::upgrade::{self, UnaskedProtocol};
use crate::body::{Body, BoxError, full, streamed};
use crate::options::ResponseTimeout;
use crate::own_address::own_origin;
use crate::response::{fault_response, timeout_fault};

/// Methods that are forwarded, for clients that send another one.
const FORWARDED_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Longest wait for the next bytes of a body.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Advice for a request that was not forwarded.
const REPEAT: &str = "send the request again in a moment";
/// Advice for a request whose outcome is not known.
const MAY_HAVE_ACTED: &str = "the request may have acted; look for its outcome before you repeat it";

/// A service that forwards each request to one upstream.
#[derive(Clone)]
pub struct ReverseProxy {
    target: Arc<UpstreamTarget>,
    client: client::Client<Body>,
}

impl ReverseProxy {
    /// Creates a proxy to an upstream. Paths of requests are appended to that of its URL.
    ///
    /// # Errors
    /// Returns [`TlsError`] if TLS is needed and cannot be set up.
    pub fn new(target: UpstreamTarget) -> Result<Self, TlsError> {
        let client = client::pooled(target.url().scheme() == Some(&Scheme::HTTPS), HttpVersions::Negotiated)?;
        Ok(Self { target: Arc::new(target), client })
    }

    /// Creates a proxy to an upstream that speaks HTTP/2 without TLS (h2c, with prior knowledge: RFC 9113, 3.3).
    ///
    /// # Errors
    /// Returns [`TlsError`] if the client cannot be set up.
    pub fn over_h2c(target: UpstreamTarget) -> Result<Self, TlsError> {
        let client = client::pooled(false, HttpVersions::Http2)?;
        Ok(Self { target: Arc::new(target), client })
    }

    async fn forward<B>(self, mut request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        if echoes_request(request.method()) {
            return rejected_method_response(request.method());
        }
        let uri = match location::upstream_uri(&self.target, request.uri()) {
            Ok(uri) => uri,
            Err(error) => return invalid_path_response(error),
        };
        // A client of HTTP/1.0 understands no status 101.
        let protocol = upgrade::protocol(request.headers()).filter(|_| request.version() != Version::HTTP_10);
        let client_side = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let (mut head, body) = request.into_parts();
        let origin = own_origin(&head);
        // The host in the URI, which HTTP/2 has, counts and was checked. `Host` beside it is ignored.
        let host_field = head.headers.remove(HOST);
        let host = host_of(&head.uri).or(host_field);
        let requested = uri.clone();
        head.uri = uri;
        // The client chooses the version by what the upstream supports.
        head.version = Version::default();
        let client = head.extensions.remove::<ClientConnection>();
        let address = client.as_ref().map(ClientConnection::peer);
        self.prepare_headers(&mut head.headers, address, host);
        if let Some(protocol) = &protocol {
            upgrade::set_protocol(&mut head.headers, protocol.clone());
        }
        let body = TimedBody::new(body, STALL_TIMEOUT);
        let progress = body.progress();
        announce(&body, &mut head.headers);
        let (method, limit) = (head.method.clone(), head.extensions.remove::<ResponseTimeout>());
        let response = client::send(&self.client, Request::from_parts(head, streamed(body)));
        let mut response = match respond_within(limit, &progress, response).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return match progress.failure() {
                    Some(BodyFailure::Slow) => slow_body_response(),
                    Some(BodyFailure::Invalid) => invalid_body_response(),
                    None => self.unreachable_response(&error),
                };
            }
            Err(ResponseTimeout(after)) => return fault_response(&timeout_fault(after, &method)),
        };
        let switched = match upgrade::switched_protocol(&response, protocol.as_ref()) {
            Ok(switched) => switched,
            Err(error) => return self.unasked_response(error),
        };
        let upstream_side = switched.is_some().then(|| hyper::upgrade::on(&mut response));
        remove_hop_by_hop(response.headers_mut());
        location::rewrite_addresses(response.headers_mut(), &self.target, &requested, &origin);
        if let (Some(client_side), Some(upstream_side), Some(protocol)) =
            (client_side, upstream_side, switched)
        {
            upgrade::set_protocol(response.headers_mut(), protocol);
            upgrade::join(
                client_side,
                upstream_side,
                client.and_then(|client| client.begin_request(Version::HTTP_11)),
            );
        }
        response.map(streamed)
    }

    /// Removes what belongs to the client's connection, and adds what the upstream needs.
    fn prepare_headers(&self, headers: &mut HeaderMap, client: Option<IpAddr>, host: Option<HeaderValue>) {
        // Trailers are forwarded, so that a client's wish for them may be.
        let wants_trailers =
            headers.get(TE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"trailers"));
        remove_hop_by_hop(headers);
        remove_override_headers(headers);
        if wants_trailers {
            headers.insert(TE, HeaderValue::from_static("trailers"));
        }
        forwarded::set_fields(headers, client, host);
        self.target.apply_headers(headers);
    }

    /// Returns the error for a request without a response. It names no address of the upstream.
    fn unreachable_response(&self, error: &client::Error) -> Response<Body> {
        let causes: Vec<String> = client::causes(error).map(ToString::to_string).collect();
        let upstream = self.authority();
        tracing::warn!(upstream, error = causes.join(": "), "the upstream gave no response");
        if let Some(reason) = UnreadableHead::of(error) {
            return unreadable_response(reason);
        }
        let (message, advice) = if is_certificate_error(error) {
            (
                "the certificate of the upstream is not valid",
                "its operator must renew it, or that of the gateway must trust its authority (SSL_CERT_FILE); nothing was sent",
            )
        } else if error.is_connect() {
            ("the upstream cannot be reached", "try again in a moment; nothing was sent")
        } else {
            ("the upstream gave no response", MAY_HAVE_ACTED)
        };
        error_response(ErrorCode::UpstreamUnreachable, message, advice)
    }

    /// Returns the error for a response that switches to a protocol that was not asked for. The connection to the
    /// upstream ends with that response.
    fn unasked_response(&self, error: UnaskedProtocol) -> Response<Body> {
        let upstream = self.authority();
        tracing::warn!(upstream, %error, "the response of the upstream is invalid");
        let message = format!("the response of the upstream is invalid: {error}");
        error_response(ErrorCode::UpstreamInvalid, &message, MAY_HAVE_ACTED)
    }

    /// Returns host and port of the upstream, for the log. The query may contain a secret.
    fn authority(&self) -> String {
        self.target.url().authority().map(ToString::to_string).unwrap_or_default()
    }
}

impl<B> Service<Request<B>> for ReverseProxy
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let proxy = self.clone();
        Box::pin(async move { Ok(proxy.forward(request).await) })
    }
}

/// Announces a body of unknown length. Without the field, hyper sends no such body with GET and HEAD over HTTP/1.1. Over
/// HTTP/2, or if the body turns out to be empty before the head is sent, hyper removes the field.
fn announce(body: &impl HttpBody, headers: &mut HeaderMap) {
    let has_length = body.size_hint().exact().is_some() || headers.contains_key(CONTENT_LENGTH);
    if !has_length && !body.is_end_stream() {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Waits for the head of a response. The time begins when the last bytes of the request were sent.
async fn respond_within<T>(
    limit: Option<ResponseTimeout>,
    progress: &BodyProgress,
    response: impl Future<Output = T>,
) -> Result<T, ResponseTimeout> {
    let Some(ResponseTimeout(limit)) = limit else { return Ok(response.await) };
    let mut response = std::pin::pin!(response);
    loop {
        let deadline = progress.last_sent() + limit;
        match tokio::time::timeout_at(deadline, &mut response).await {
            Ok(response) => return Ok(response),
            Err(_) if progress.last_sent() + limit > deadline => {}
            Err(_) => return Err(ResponseTimeout(limit)),
        }
    }
}

/// Returns the host and port of a URI.
fn host_of(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.authority()?.as_str().rsplit('@').next()?;
    HeaderValue::from_str(host).ok()
}

/// Returns the response to a request from a host or an origin that is not allowed. Without a valid host (400), the
/// connection is closed.
pub fn rejected_response(status: StatusCode, reason: &str) -> Response<Body> {
    let advice = "send the request to the address that portion http printed";
    let mut response = error_response(ErrorCode::OriginRejected, reason, advice);
    *response.status_mut() = status;
    if status == StatusCode::BAD_REQUEST { closing(response) } else { response }
}

/// Returns the response to a request whose path may lead out of that of the upstream, or that has no path; `None` for
/// another request. Callers check it before anything else answers the request.
pub fn path_rejection(request: &Uri) -> Option<Response<Body>> {
    location::check_path(request.path()).err().map(invalid_path_response)
}

/// Returns the response to a caller that may not call, or cannot be verified at the moment.
pub fn denied_response(status: StatusCode, reason: &str) -> Response<Body> {
    let (code, advice) = match status {
        StatusCode::FORBIDDEN => (ErrorCode::ScopeInsufficient, "use a token with that scope"),
        StatusCode::SERVICE_UNAVAILABLE => (ErrorCode::Busy, REPEAT),
        _ => (ErrorCode::Unauthorized, "send a valid token as Authorization: Bearer TOKEN"),
    };
    error_response(code, reason, advice)
}

/// Returns a response with a JSON document of this program.
pub fn document_response(json: String) -> Response<Body> {
    let mut response = Response::new(full(json));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the response to a request that is rejected for this reason, before it reached the upstream.
pub(super) fn busy_response(reason: &str) -> Response<Body> {
    let mut response = error_response(ErrorCode::Busy, reason, REPEAT);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Returns the response to a request that arrives while the server shuts down.
pub(super) fn draining_response() -> Response<Body> {
    closing(busy_response("the gateway is shutting down"))
}

/// Returns the response to a request that is still running when the server stops.
pub(super) fn cut_off_response(method: &Method) -> Response<Body> {
    let message = "the gateway is stopping and did not wait for the response";
    closing(if method.is_safe() {
        busy_response(message)
    } else {
        error_response(ErrorCode::Busy, message, MAY_HAVE_ACTED)
    })
}

/// Returns the response to a request whose head is too large: a status without a body, as hyper sends it for a head that
/// exceeds its buffer.
pub(super) fn head_too_large_response() -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    closing(response)
}

/// Returns the response to a request without a path, or with such a path.
fn invalid_path_response(reason: InvalidPath) -> Response<Body> {
    error_response(ErrorCode::PathInvalid, &reason.to_string(), "send another path")
}

/// Returns the error for a response whose head cannot be read.
fn unreadable_response(reason: UnreadableHead) -> Response<Body> {
    let message = format!("the response of the upstream cannot be read: {reason}");
    let (code, advice) = match reason {
        UnreadableHead::TooLarge => (
            ErrorCode::UpstreamInvalid,
            "let the upstream send fewer or shorter header fields; the request may have acted",
        ),
        UnreadableHead::Invalid => (
            ErrorCode::UpstreamUnreachable,
            "if the upstream speaks HTTP/2 without TLS, start portion http with --upstream h2c://HOST:PORT",
        ),
    };
    error_response(code, &message, advice)
}

/// Returns the response to a request for a tunnel, or to one that the upstream would answer with the request itself.
pub(super) fn rejected_method_response(method: &Method) -> Response<Body> {
    let is_tunnel = *method == Method::CONNECT;
    let message = if is_tunnel {
        "CONNECT is not forwarded: this is no proxy to other hosts".to_owned()
    } else {
        format!("{method} is not forwarded, because its response may contain credentials")
    };
    let mut response = error_response(ErrorCode::MethodRejected, &message, "send another method");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(FORWARDED_METHODS));
    // What follows on the connection may be meant for the other end of a tunnel.
    if is_tunnel { closing(response) } else { response }
}

/// Returns the response to a request whose body has a transfer coding other than `chunked`. Its body is not read.
pub(super) fn unknown_transfer_coding_response() -> Response<Body> {
    let message = "the body of the request has a transfer coding other than chunked";
    let advice = "send it in chunks alone; Content-Encoding names a compression for the API";
    closing(error_response(ErrorCode::TransferCodingUnknown, message, advice))
}

/// Returns the response to a request whose body arrived too slowly.
fn slow_body_response() -> Response<Body> {
    let advice = "send the body without pauses; the request may have acted in part";
    closing(error_response(ErrorCode::BodyTooSlow, &SlowBody.to_string(), advice))
}

/// Returns the response to a request whose body broke off or is not valid HTTP.
fn invalid_body_response() -> Response<Body> {
    let (message, advice) =
        ("the body of the request is invalid", "send it whole; the request may have acted in part");
    closing(error_response(ErrorCode::BodyInvalid, message, advice))
}

/// Returns a response after which the connection is closed.
fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns an error in the form of the gateway's own.
fn error_response(code: ErrorCode, message: &str, advice: &str) -> Response<Body> {
    fault_response(&Fault::new(code, message.to_owned(), advice.to_owned()))
}
