//! Clients over HTTP: the door through which every request comes.
//!
//! What passes the door is whole, within its limits, from a place that may ask, and, where it is posted, JSON-RPC.
//! Everything else is refused here with an error that a program and a person can read, before a server sees it.
//! What is made of a request that passes is a [`Backend`]'s.
//!
//! - `guard`: `Host` and `Origin`
//! - `principal`: who asks
//! - `well_known`: paths of OAuth discovery
//! - `door`: from a connection to a backend
//! - `limits`: what clients may use up
//! - `seats`, `pace`: connections, and which of them are idle or slow
//! - `intake`: bodies, within a budget for all of them
//! - `running`: requests that are to finish before the end
//! - `wire`: the connection
//! - `refusal`, `batch`: errors and several answers as HTTP

mod active_requests;
mod activity;
pub(crate) mod batch;
mod connection_io;
mod connection_limiter;
pub mod http_error;
mod limits;
mod origin_guard;
mod principal;
mod request_body;
mod server;
mod well_known;

use std::pin::Pin;

use hyper::{HeaderMap, Method, Response};

use crate::http::body::Body;

pub use limits::HttpLimits;
pub use origin_guard::{OriginGuard, OriginRejected};
pub use principal::{DEFAULT_PRINCIPAL_HEADERS, Principal, PrincipalResolver};
pub use server::HttpServer;
pub use well_known::WellKnownDocument;

/// A request that passed the door.
#[derive(Debug)]
pub struct InboundRequest {
    /// What is to be done.
    pub method: Method,
    /// The path, as it was written.
    pub path: String,
    /// After the question mark, as it was written.
    pub query: Option<String>,
    /// As they came.
    pub headers: HeaderMap,
    /// All of it: JSON-RPC where it was posted.
    pub body: Vec<u8>,
    /// Who asks.
    pub principal: Principal,
}

/// A promised answer.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// What stands behind a path, or behind all paths below one.
pub trait Backend: Send + Sync {
    /// Answers a request of MCP. Whoever asked may leave before: then the future is dropped, and so is the body.
    fn handle(&self, asked: InboundRequest) -> ResponseFuture<'_>;

    /// Whether what is posted to it is JSON-RPC, and is refused before it where it is not.
    fn accepts_json_rpc(&self) -> bool {
        true
    }

    /// Answers a request for a document of OAuth discovery, which a client reads when it has to authenticate. `None`: this
    /// backend has none.
    fn well_known(&self, asked: InboundRequest, question: WellKnownDocument) -> Option<ResponseFuture<'_>>;

    /// Ends what it has begun, for we are leaving.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
