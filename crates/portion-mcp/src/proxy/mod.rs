//! Reverse proxy in front of servers that speak streamable HTTP.
//!
//! Each client request is forwarded as one request with its header fields. Responses that may have to be reshaped are
//! read, as JSON bodies or as events of a stream; all others are forwarded byte for byte.
//!
//! - `upstream_client`: requests to the server
//! - `exchange`: a post and its response
//! - `public_resource`: this listener in the metadata and challenges of a server that requires a login
//! - `stream`: a stream of events from the server to the client
//! - `session`: a session and its state; `session_cache`: state kept between posts
//! - `session_opening`: delays the first request until the listening stream is open

mod exchange;
mod public_resource;
mod session;
mod session_cache;
mod session_opening;
mod stream;
mod upstream_call;
mod upstream_client;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Response, StatusCode};
use portion_policy::upstream::UpstreamTarget;

use crate::front::http::http_error::HttpError;
use crate::front::http::{Backend, InboundRequest, ResponseFuture, WellKnownDocument};
use crate::http::body::{self, Body};
use crate::mcp::McpProcessorFactory;
use crate::mcp::error_code::{INTERNAL_ERROR, INVALID_REQUEST};
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::HttpClient;
pub use public_resource::PublicResource;
use session_cache::SessionCache;
use upstream_client::{ForwardedParts, UpstreamClient};

/// Header by which a client resumes a stream.
const LAST_EVENT_ID_HEADER: &str = "last-event-id";

/// Backend in front of a server that speaks streamable HTTP.
pub struct Proxy {
    shared: Arc<ProxyShared>,
}

/// State shared by all requests and background tasks.
struct ProxyShared {
    upstream: UpstreamClient,
    processor_factory: McpProcessorFactory,
    sessions: SessionCache,
    /// Set when shutdown has begun.
    shutdown_started: OneShotFlag,
}

impl Proxy {
    /// Creates a proxy in front of the server at `target`. `public` is this listener as a protected resource; without it,
    /// the metadata of the server are forwarded as they are.
    pub fn new(
        target: UpstreamTarget,
        client: HttpClient,
        processor_factory: McpProcessorFactory,
        public: Option<PublicResource>,
    ) -> Self {
        let upstream = UpstreamClient::new(target, client, public);
        Self {
            shared: Arc::new(ProxyShared {
                upstream,
                processor_factory,
                sessions: SessionCache::default(),
                shutdown_started: OneShotFlag::default(),
            }),
        }
    }

    /// Forwards requests other than posts: the stream of a session, its end, and methods of later revisions.
    async fn forward_other(&self, request: InboundRequest) -> Response<Body> {
        let ProxyShared { upstream, sessions, processor_factory, .. } = &*self.shared;
        let InboundRequest { method, mut headers, query, body, principal, .. } = request;
        if !sessions.is_own(&principal) {
            return session_not_found();
        }
        if principal.is_verified() && principal.session_id().is_none() {
            // Without a session, the server could not tell whose stream is resumed.
            headers.remove(LAST_EVENT_ID_HEADER);
        }
        let session = (method == Method::GET).then(|| sessions.get_or_insert(&principal, processor_factory));
        let stream_request = session.as_ref().map(|session| session.opening.begin_stream_request());
        let forwarded = ForwardedParts { headers, query };
        let response = match upstream.send(&method, &forwarded, body.into_bytes()).await {
            Ok(response) => response,
            Err(error) => {
                return HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, error.to_string()).into();
            }
        };
        drop(stream_request);
        if method == Method::DELETE || response.status() == StatusCode::NOT_FOUND {
            sessions.remove(&principal);
        }
        match session {
            Some(session) if upstream_client::is_event_stream(&response) => {
                stream::relay_listening_stream(Arc::clone(&self.shared), session, forwarded, response)
            }
            _ => upstream_client::pass_through(response),
        }
    }
}

impl Backend for Proxy {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        if request.method == Method::POST {
            return Box::pin(exchange::forward_post(Arc::clone(&self.shared), request));
        }
        if echoes_request(&request.method) {
            return Box::pin(std::future::ready(method_not_allowed()));
        }
        Box::pin(self.forward_other(request))
    }

    fn well_known(&self, request: InboundRequest, document: WellKnownDocument) -> Option<ResponseFuture<'_>> {
        let target = self.shared.upstream.target();
        let query = request.query.map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", document.path(target.url().path())).parse().ok()?;
        let url = target.url_at(path);
        Some(Box::pin(async move {
            match self.shared.upstream.fetch_document(&request.method, &request.headers, &url).await {
                Ok(response) if document.is_resource_metadata() => {
                    self.shared.upstream.public_document(response).await
                }
                Ok(response) => upstream_client::pass_through(response),
                Err(error) => {
                    HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, error.to_string()).into()
                }
            }
        }))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // Sessions belong to the clients and the server and go on; only listening streams are closed.
        self.shared.shutdown_started.set();
        Box::pin(async {})
    }
}

/// Returns true for methods that make a server echo the request, and thus the operator's credentials.
fn echoes_request(method: &Method) -> bool {
    ["TRACE", "TRACK", "CONNECT"].iter().any(|name| method.as_str().eq_ignore_ascii_case(name))
}

/// Returns the response to a request in a session that does not exist, or belongs to another caller.
fn session_not_found() -> Response<Body> {
    let message =
        "this session does not exist, has ended, or belongs to another caller; send initialize again";
    HttpError::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).into()
}

fn method_not_allowed() -> Response<Body> {
    let message = "this method is not allowed; use POST, GET or DELETE";
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    response
}

/// Returns a response with the received head and another body.
fn response_with_body(head: hyper::http::response::Parts, bytes: impl Into<Bytes>) -> Response<Body> {
    Response::from_parts(head, body::full(bytes))
}
