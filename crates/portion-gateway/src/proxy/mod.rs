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
mod opening;
mod outward;
mod sessions;
mod stream;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::front::http::refusal::Refusal;
use crate::front::http::{Answering, Asked, Backend, WellKnown};
use crate::http::body::{self, Body};
use crate::latch::Latch;
use crate::mcp::Lanes;
use crate::mcp::code::{INTERNAL, INVALID_REQUEST};
use crate::upstream::http::{Client, Target};
use outward::{Carried, Outward};
use sessions::Sessions;

/// A server that speaks streamable HTTP, behind a path of ours.
pub struct Proxy {
    inner: Arc<Inner>,
}

/// What a request, and what outlives it, shares with the others.
struct Inner {
    outward: Outward,
    lanes: Lanes,
    sessions: Sessions,
    /// Set once we are leaving.
    leaving: Latch,
}

impl Proxy {
    /// A proxy for the server at `target`.
    pub fn new(target: Target, client: Client, lanes: Lanes) -> Self {
        let outward = Outward::new(target, client);
        Self {
            inner: Arc::new(Inner {
                outward,
                lanes,
                sessions: Sessions::default(),
                leaving: Latch::default(),
            }),
        }
    }

    /// Everything but a post: the stream of a session, its end, and what a later revision may know.
    async fn other(&self, asked: Asked) -> Response<Body> {
        let Inner { outward, sessions, lanes, .. } = &*self.inner;
        let Asked { method, headers, query, body, principal, .. } = asked;
        let session = (method == Method::GET).then(|| sessions.session(&principal, lanes));
        let opening = session.as_ref().map(|session| session.opening.coming());
        let carried = Carried { headers, query };
        let answer = match outward.send(&method, &carried, body).await {
            Ok(answer) => answer,
            Err(error) => return Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, error.to_string()).into(),
        };
        drop(opening);
        if method == Method::DELETE || answer.status() == StatusCode::NOT_FOUND {
            sessions.end(&principal);
        }
        match session {
            Some(session) if outward::is_stream(&answer) => {
                stream::listening(Arc::clone(&self.inner), session, carried, answer)
            }
            _ => outward::passed(answer),
        }
    }
}

impl Backend for Proxy {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        if asked.method == Method::POST {
            return Box::pin(exchange::post(Arc::clone(&self.inner), asked));
        }
        if shows_request(&asked.method) {
            return Box::pin(std::future::ready(not_allowed()));
        }
        Box::pin(self.other(asked))
    }

    fn well_known(&self, asked: Asked, question: WellKnown) -> Option<Answering<'_>> {
        let target = self.inner.outward.target();
        let query = asked.query.map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", question.path(target.url().path())).parse().ok()?;
        let url = target.elsewhere(path);
        Some(Box::pin(async move {
            match self.inner.outward.document(&asked.method, &asked.headers, &url).await {
                Ok(answer) => outward::passed(answer),
                Err(error) => Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, error.to_string()).into(),
            }
        }))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // The sessions are the clients' and the server's own; only whoever listens need not wait for the end.
        self.inner.leaving.set();
        Box::pin(async {})
    }
}

/// Whether a server answers the method with the request as it came to it, and so with the operator's credentials.
fn shows_request(method: &Method) -> bool {
    ["TRACE", "TRACK", "CONNECT"].iter().any(|name| method.as_str().eq_ignore_ascii_case(name))
}

fn not_allowed() -> Response<Body> {
    let message = "this method is not passed on; use POST, GET or DELETE";
    let mut response: Response<Body> =
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    response
}

/// A body of JSON, with the head that came.
fn with_body(head: hyper::http::response::Parts, bytes: impl Into<Bytes>) -> Response<Body> {
    Response::from_parts(head, body::full(bytes))
}
