//! Serves HTTP clients in front of a server with a single message stream: a child process, or any other [`Link`].
//!
//! Revisions up to 2025-11-25 have sessions, each with a link of its own (`session`). Since 2026-07-28 there are none:
//! all posts share one link (`stateless`). Each request declares its revision; nothing is negotiated here.
//!
//! - `session_mode`: with or without sessions
//! - `post_response`: the response to a post, as JSON or as a stream of events
//!
//! [`Link`]: crate::upstream::link::Link

mod post_response;
mod session;
mod session_mode;
mod stateless;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::front::http::http_error::HttpError;
use crate::front::http::{Backend, InboundRequest, ResponseFuture, WellKnownDocument};
use crate::http::body::{self, Body};
use crate::mcp::error_code::INVALID_REQUEST;
use crate::mcp::{McpProcessorFactory, ParsedBatch};
use crate::upstream::link::Connector;
use session::SessionManager;
use session_mode::SessionMode;
use stateless::StatelessClients;

/// Limits of a bridge.
#[derive(Clone, Copy, Debug)]
pub struct BridgeLimits {
    /// Concurrent sessions.
    pub max_sessions: usize,
    /// Longest idle time of a session, and of the shared link of clients without sessions.
    pub idle_timeout: Duration,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self { max_sessions: 1000, idle_timeout: Duration::from_mins(30) }
    }
}

/// Backend in front of a server with a single message stream.
pub struct Bridge {
    sessions: Arc<SessionManager>,
    stateless: Arc<StatelessClients>,
}

impl Bridge {
    /// Creates a bridge to the server of `connector`. It connects at the first request.
    pub fn new(
        connector: Arc<dyn Connector>,
        processor_factory: McpProcessorFactory,
        limits: BridgeLimits,
    ) -> Self {
        let sessions =
            Arc::new(SessionManager::new(Arc::clone(&connector), processor_factory.clone(), limits));
        Self {
            sessions,
            stateless: Arc::new(StatelessClients::new(connector, processor_factory, limits.idle_timeout)),
        }
    }

    async fn handle_post(&self, request: InboundRequest) -> Result<Response<Body>, HttpError> {
        let text = String::from_utf8(request.body).map_err(|error| bad_request(error.to_string()))?;
        let batch = ParsedBatch::parse(&text).map_err(|error| bad_request(error.to_string()))?;
        match session_mode::from_post(&request.headers, &batch)? {
            SessionMode::Stateful => {
                self.sessions.handle_post(&request.principal, &request.headers, &text, &batch).await
            }
            SessionMode::Stateless => {
                self.stateless.handle_post(&request.principal, &request.headers, &text, &batch).await
            }
        }
    }

    fn handle_other(&self, request: InboundRequest) -> Result<Response<Body>, HttpError> {
        match (request.method, session_mode::from_headers(&request.headers)?) {
            (Method::GET, SessionMode::Stateful) => {
                self.sessions.open_stream(&request.principal, &request.headers)
            }
            (Method::DELETE, SessionMode::Stateful) => {
                self.sessions.end_session(&request.principal, &request.headers)
            }
            (_, SessionMode::Stateful) => Ok(method_not_allowed("GET, POST, DELETE")),
            (_, SessionMode::Stateless) => Ok(method_not_allowed("POST")),
        }
    }
}

impl Backend for Bridge {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(async {
            let response = if request.method == Method::POST {
                self.handle_post(request).await
            } else {
                self.handle_other(request)
            };
            response.unwrap_or_else(Into::into)
        })
    }

    fn well_known(&self, _: InboundRequest, _: WellKnownDocument) -> Option<ResponseFuture<'_>> {
        None
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            tokio::join!(self.sessions.close(), self.stateless.close());
        })
    }
}

fn bad_request(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
}

fn method_not_allowed(allowed: &'static str) -> Response<Body> {
    let message = format!("this method is not allowed; use {allowed}");
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Returns an empty 202 response.
fn accepted() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Returns the text of a header field that may occur once.
fn header_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
