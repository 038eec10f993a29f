//! HTTP in front of a server that is one conversation: a process on its pipes, or whatever else is a [`Link`].
//!
//! Revisions up to 2025-11-25 have sessions: each is a link of its own (`session`). From 2026-07-28 on there are none:
//! all posts share one link (`stateless`). Which it is, each request says itself; nothing is negotiated here.
//!
//! - `era`: with sessions or without
//! - `reply`: the answer to a post, as JSON or as a stream of events
//!
//! [`Link`]: crate::upstream::link::Link

mod era;
mod reply;
mod session;
mod stateless;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::front::http::refusal::Refusal;
use crate::front::http::{Answering, Asked, Backend, WellKnown};
use crate::http::body::{self, Body};
use crate::mcp::code::INVALID_REQUEST;
use crate::mcp::{Heard, Lanes};
use crate::upstream::link::Dial;
use era::Era;
use session::Sessions;
use stateless::Shared;

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions at the same time.
    pub sessions: usize,
    /// How long a session may be idle, and the link that those without sessions share.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 1000, idle: Duration::from_mins(30) }
    }
}

/// A server behind a path of ours, with which one can only have a conversation.
pub struct Bridge {
    sessions: Arc<Sessions>,
    shared: Arc<Shared>,
}

impl Bridge {
    /// A bridge to the server that `dial` reaches. Nobody is dialled before somebody asks.
    pub fn new(dial: Arc<dyn Dial>, lanes: Lanes, limits: Limits) -> Self {
        let sessions = Arc::new(Sessions::new(Arc::clone(&dial), lanes.clone(), limits));
        Self { sessions, shared: Arc::new(Shared::new(dial, lanes, limits.idle)) }
    }

    async fn post(&self, asked: Asked) -> Result<Response<Body>, Refusal> {
        let text = String::from_utf8(asked.body).map_err(|error| bad(error.to_string()))?;
        let heard = Heard::read(&text).map_err(|error| bad(error.to_string()))?;
        match era::of_post(&asked.headers, &heard)? {
            Era::Sessions => self.sessions.post(&asked.principal, &asked.headers, &text, &heard).await,
            Era::Stateless => self.shared.post(&asked.principal, &asked.headers, &text, &heard).await,
        }
    }

    fn other(&self, asked: Asked) -> Result<Response<Body>, Refusal> {
        match (asked.method, era::of_header(&asked.headers)?) {
            (Method::GET, Era::Sessions) => self.sessions.listen(&asked.principal, &asked.headers),
            (Method::DELETE, Era::Sessions) => self.sessions.end(&asked.principal, &asked.headers),
            (_, Era::Sessions) => Ok(not_allowed("GET, POST, DELETE")),
            (_, Era::Stateless) => Ok(not_allowed("POST")),
        }
    }
}

impl Backend for Bridge {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        Box::pin(async {
            let answer =
                if asked.method == Method::POST { self.post(asked).await } else { self.other(asked) };
            answer.unwrap_or_else(Into::into)
        })
    }

    fn well_known(&self, _: Asked, _: WellKnown) -> Option<Answering<'_>> {
        None
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            tokio::join!(self.sessions.close(), self.shared.close());
        })
    }
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let message = format!("this method is not served here; served: {allowed}");
    let mut response: Response<Body> =
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
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
fn field<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
