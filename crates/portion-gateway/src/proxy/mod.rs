//! HTTP in front of HTTP: a reverse proxy that reads only what it may have to change.
//!
//! Each request of a client is one request to the server, with its header fields, and gets that one's answer. An answer
//! that may have to be reshaped is read, whether it is a body of JSON or an event of a stream; everything else passes
//! as it comes.
//!
//! - `outward`: requests to the server
//! - `exchange`: a post and its answer
//! - `stream`: a stream of events on its way to the client
//! - `sessions`: what is remembered between posts
//! - `opening`: the first moments of a session

mod exchange;
mod session_cache;
mod session_opening;
mod stream;
mod upstream_client;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::front::http::http_error::HttpError;
use crate::front::http::{Backend, InboundRequest, ResponseFuture, WellKnownDocument};
use crate::http::body::{self, Body};
use crate::mcp::McpProcessorFactory;
use crate::mcp::error_code::{INTERNAL_ERROR, INVALID_REQUEST};
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::{HttpClient, UpstreamTarget};
use session_cache::SessionCache;
use upstream_client::{ForwardedParts, UpstreamClient};

/// A server that speaks streamable HTTP, behind a path of ours.
pub struct Proxy {
    shared: Arc<ProxyShared>,
}

/// What a request, and what outlives it, shares with the others.
struct ProxyShared {
    upstream: UpstreamClient,
    processor_factory: McpProcessorFactory,
    sessions: SessionCache,
    /// Set once we are leaving.
    shutdown_started: OneShotFlag,
}

impl Proxy {
    /// A proxy for the server at `target`.
    pub fn new(target: UpstreamTarget, client: HttpClient, lanes: McpProcessorFactory) -> Self {
        let outward = UpstreamClient::new(target, client);
        Self {
            shared: Arc::new(ProxyShared {
                upstream: outward,
                processor_factory: lanes,
                sessions: SessionCache::default(),
                shutdown_started: OneShotFlag::default(),
            }),
        }
    }

    /// Everything but a post: the stream of a session, its end, and what a later revision may know.
    async fn forward_other(&self, asked: InboundRequest) -> Response<Body> {
        let ProxyShared { upstream: outward, sessions, processor_factory: lanes, .. } = &*self.shared;
        let InboundRequest { method, headers, query, body, principal, .. } = asked;
        let session = (method == Method::GET).then(|| sessions.get_or_insert(&principal, lanes));
        let opening = session.as_ref().map(|session| session.opening.begin_stream_request());
        let carried = ForwardedParts { headers, query };
        let answer = match outward.send(&method, &carried, body).await {
            Ok(answer) => answer,
            Err(error) => {
                return HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, error.to_string()).into();
            }
        };
        drop(opening);
        if method == Method::DELETE || answer.status() == StatusCode::NOT_FOUND {
            sessions.remove(&principal);
        }
        match session {
            Some(session) if upstream_client::is_event_stream(&answer) => {
                stream::relay_listening_stream(Arc::clone(&self.shared), session, carried, answer)
            }
            _ => upstream_client::pass_through(answer),
        }
    }
}

impl Backend for Proxy {
    fn handle(&self, asked: InboundRequest) -> ResponseFuture<'_> {
        if asked.method == Method::POST {
            return Box::pin(exchange::forward_post(Arc::clone(&self.shared), asked));
        }
        if echoes_request(&asked.method) {
            return Box::pin(std::future::ready(method_not_allowed()));
        }
        Box::pin(self.forward_other(asked))
    }

    fn well_known(&self, asked: InboundRequest, question: WellKnownDocument) -> Option<ResponseFuture<'_>> {
        let target = self.shared.upstream.target();
        let query = asked.query.map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", question.path(target.url().path())).parse().ok()?;
        let url = target.url_at(path);
        Some(Box::pin(async move {
            match self.shared.upstream.fetch_document(&asked.method, &asked.headers, &url).await {
                Ok(answer) => upstream_client::pass_through(answer),
                Err(error) => {
                    HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, error.to_string()).into()
                }
            }
        }))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // The sessions are the clients' and the server's own; only whoever listens need not wait for the end.
        self.shared.shutdown_started.set();
        Box::pin(async {})
    }
}

/// Whether a server answers the method with the request as it came to it, and so with the operator's credentials.
fn echoes_request(method: &Method) -> bool {
    ["TRACE", "TRACK", "CONNECT"].iter().any(|name| method.as_str().eq_ignore_ascii_case(name))
}

fn method_not_allowed() -> Response<Body> {
    let message = "this method is not passed on; use POST, GET or DELETE";
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    response
}

/// A body of JSON, with the head that came.
fn response_with_body(head: hyper::http::response::Parts, bytes: impl Into<Bytes>) -> Response<Body> {
    Response::from_parts(head, body::full(bytes))
}
