//! HTTP in front of a server that is one conversation: a process on its pipes, or whatever else is a [`Link`].
//!
//! Revisions up to 2025-11-25 have sessions: each is a link of its own (`session`). From 2026-07-28 on there are none:
//! all posts share one link (`stateless`). Which it is, each request says itself; nothing is negotiated here.
//!
//! - `era`: with sessions or without
//! - `reply`: the answer to a post, as JSON or as a stream of events
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

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
pub struct BridgeLimits {
    /// Sessions at the same time.
    pub max_sessions: usize,
    /// How long a session may be idle, and the link that those without sessions share.
    pub idle_timeout: Duration,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self { max_sessions: 1000, idle_timeout: Duration::from_mins(30) }
    }
}

/// A server behind a path of ours, with which one can only have a conversation.
pub struct Bridge {
    sessions: Arc<SessionManager>,
    stateless: Arc<StatelessClients>,
}

impl Bridge {
    /// A bridge to the server that `dial` reaches. Nobody is dialled before somebody asks.
    pub fn new(dial: Arc<dyn Connector>, lanes: McpProcessorFactory, limits: BridgeLimits) -> Self {
        let sessions = Arc::new(SessionManager::new(Arc::clone(&dial), lanes.clone(), limits));
        Self { sessions, stateless: Arc::new(StatelessClients::new(dial, lanes, limits.idle_timeout)) }
    }

    async fn handle_post(&self, asked: InboundRequest) -> Result<Response<Body>, HttpError> {
        let text = String::from_utf8(asked.body).map_err(|error| bad_request(error.to_string()))?;
        let heard = ParsedBatch::parse(&text).map_err(|error| bad_request(error.to_string()))?;
        match session_mode::from_post(&asked.headers, &heard)? {
            SessionMode::Stateful => {
                self.sessions.handle_post(&asked.principal, &asked.headers, &text, &heard).await
            }
            SessionMode::Stateless => {
                self.stateless.handle_post(&asked.principal, &asked.headers, &text, &heard).await
            }
        }
    }

    fn handle_other(&self, asked: InboundRequest) -> Result<Response<Body>, HttpError> {
        match (asked.method, session_mode::from_headers(&asked.headers)?) {
            (Method::GET, SessionMode::Stateful) => {
                self.sessions.open_stream(&asked.principal, &asked.headers)
            }
            (Method::DELETE, SessionMode::Stateful) => {
                self.sessions.end_session(&asked.principal, &asked.headers)
            }
            (_, SessionMode::Stateful) => Ok(method_not_allowed("GET, POST, DELETE")),
            (_, SessionMode::Stateless) => Ok(method_not_allowed("POST")),
        }
    }
}

impl Backend for Bridge {
    fn handle(&self, asked: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(async {
            let answer = if asked.method == Method::POST {
                self.handle_post(asked).await
            } else {
                self.handle_other(asked)
            };
            answer.unwrap_or_else(Into::into)
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
    let message = format!("this method is not served here; served: {allowed}");
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// What was only to be taken has been.
fn accepted() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The text of a header field that may stand once.
fn header_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
