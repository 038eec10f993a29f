//! HTTP server for clients.
//!
//! A request that reaches a [`Backend`] is complete, within the limits, from an allowed host and origin, by a
//! caller that may call, and, if it was posted, JSON-RPC. All other requests are rejected here with an error for programs and people, before a server sees
//! them.
//!
//! - `origin_guard`: checks `Host` and `Origin`; preflights of browsers, and responses that pages may read
//! - `caller`: authenticates and identifies callers; paths of OAuth discovery
//! - `server`: from a request to a backend
//! - `request_checks`: limits of a listener, and request bodies within them
//! - `http_error`: errors and joined responses
//!
//! ```no_run
//! # use portion_mcp::mcp::McpProcessorFactory;
//! # async fn run(factory: McpProcessorFactory) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
//! use portion_mcp::bridge::{Bridge, BridgeLimits};
//! use portion_mcp::front::http::{HttpLimits, HttpServer, OriginGuard};
//! use portion_mcp::once::OneShotFlag;
//! use portion_mcp::upstream::link::ChildConnector;
//! use portion_mcp::upstream::stdio::Program;
//!
//! let program = Program::new("my-server", ["--stdio"]);
//! let connector = ChildConnector { program, message_limit: 64 << 20 };
//! let bridge = Bridge::new(Arc::new(connector), factory, BridgeLimits::default());
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8765").await?;
//! let guard = OriginGuard::new(listener.local_addr()?, Vec::new(), Vec::new());
//! let principals = PrincipalResolver::new([7; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec());
//! let backends = vec![("/mcp".to_owned(), Arc::new(bridge) as Arc<_>)];
//! let server = HttpServer::new(guard, principals, HttpLimits::default(), backends);
//! Arc::new(server).serve(listener, Arc::new(OneShotFlag::default())).await;
//! # Ok(())
//! # }
//! ```

mod caller;
pub mod http_error;
mod origin_guard;
mod request_checks;
mod server;

use std::pin::Pin;

use hyper::{HeaderMap, Method, Response};
use portion_gateway::principal::Principal;

use crate::http::body::Body;
use crate::mcp::OwnedBatch;

pub use caller::WellKnownDocument;
pub use origin_guard::{OriginGuard, OriginRejected};
pub use request_checks::HttpLimits;
pub use server::HttpServer;

/// A request that passed all checks.
#[derive(Debug)]
pub struct InboundRequest {
    /// HTTP method.
    pub method: Method,
    /// Path, as received.
    pub path: String,
    /// Query without the question mark, as received.
    pub query: Option<String>,
    /// Header fields, as received.
    pub headers: HeaderMap,
    /// Whole body.
    pub body: RequestBody,
    /// Caller.
    pub principal: Principal,
}

/// Body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// Messages that were posted to a backend that [accepts them](Backend::accepts_json_rpc). They are parsed here, and
    /// nowhere again.
    Messages(OwnedBatch),
    /// Any other body, as received.
    Bytes(Vec<u8>),
}

impl RequestBody {
    /// Returns the bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Messages(batch) => batch.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Future of a response.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// Handler of a path, or of all paths below it.
pub trait Backend: Send + Sync {
    /// Answers an MCP request. If the client disconnects, the future or the response body is dropped.
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_>;

    /// Returns true if posts must be JSON-RPC; other posts are rejected before they reach the backend.
    fn accepts_json_rpc(&self) -> bool {
        true
    }

    /// Returns true if a request without a valid credential is for [`Self::handle_stranger`]; others are denied unread.
    fn admits_stranger(&self, _method: &Method, _path: &str, _headers: &HeaderMap) -> bool {
        false
    }

    /// Answers a request without a valid credential.
    fn handle_stranger(&self, _request: InboundRequest) -> Option<ResponseFuture<'_>> {
        None
    }

    /// Answers a request for an OAuth discovery document, which a client reads when it has to authenticate. Returns
    /// `None` if this backend has none.
    fn well_known(&self, _request: InboundRequest, _: WellKnownDocument) -> Option<ResponseFuture<'_>> {
        None
    }

    /// Ends sessions and servers of the backend at shutdown.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}
