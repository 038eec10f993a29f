//! Serves HTTP clients in front of a server with a single message stream: a child process, or any other [`Link`].
//!
//! Revisions up to 2025-11-25 have sessions, each with a link of its own (`session`). Since 2026-07-28 there are none:
//! all posts share one link (`stateless`). Each request declares its revision; nothing is negotiated here.
//!
//! - `session_mode`: with or without sessions; limits and ends, which both share
//! - `post_response`: the response to a post, as JSON or as a stream of events
//!
//! [`Link`]: crate::upstream::link::Link

mod post_response;
mod session;
mod session_mode;
mod stateless;

use std::pin::Pin;
use std::sync::{Arc, Once};

use hyper::{HeaderMap, Method};
use portion_gateway::principal::Principal;

use crate::front::http::http_error::{
    HttpResult, accepted, bad_gateway, bad_request, header_value, method_not_allowed,
};
use crate::front::http::{Backend, InboundRequest, RequestBody, ResponseFuture};
use crate::mcp::McpProcessorFactory;
use crate::upstream::link::Connector;
use session::BridgeSessions;
pub use session_mode::BridgeLimits;
use session_mode::SessionMode;
use stateless::StatelessClients;

/// The server of a bridge, and how it is served.
#[derive(Clone)]
struct BridgedServer {
    connector: Arc<dyn Connector>,
    processor_factory: McpProcessorFactory,
    limits: BridgeLimits,
}

/// Sender of a request, with its header fields.
#[derive(Clone, Copy)]
struct Sender<'a> {
    principal: &'a Principal,
    headers: &'a HeaderMap,
}

/// Backend in front of a server with a single message stream.
pub struct Bridge {
    sessions: Arc<BridgeSessions>,
    stateless: Arc<StatelessClients>,
    /// Run when the first client sends a query.
    query_warning: Once,
}

impl Bridge {
    /// Creates a bridge to the server of `connector`. It connects at the first request.
    pub fn new(
        connector: Arc<dyn Connector>,
        processor_factory: McpProcessorFactory,
        limits: BridgeLimits,
    ) -> Self {
        let server = BridgedServer { connector, processor_factory, limits };
        Self {
            sessions: Arc::new(BridgeSessions::new(server.clone())),
            stateless: Arc::new(StatelessClients::new(server)),
            query_warning: Once::new(),
        }
    }

    /// Warns once that queries have no effect: the messages of a client are sent without its URL.
    async fn handle_post(&self, request: InboundRequest) -> HttpResult {
        // `HttpServer` rejects all other posts.
        let RequestBody::Messages(batch) = request.body else {
            return Err(bad_request("the body is not a message"));
        };
        let sender = Sender { principal: &request.principal, headers: &request.headers };
        match session_mode::from_post(sender.headers, &batch.view())? {
            SessionMode::Stateful => self.sessions.handle_post(sender, batch).await,
            SessionMode::Stateless => self.stateless.handle_post(sender, batch).await,
        }
    }

    fn handle_other(&self, request: InboundRequest) -> HttpResult {
        let sender = Sender { principal: &request.principal, headers: &request.headers };
        match (request.method, session_mode::from_headers(sender.headers)?) {
            (Method::GET, SessionMode::Stateful) => self.sessions.open_stream(sender),
            (Method::DELETE, SessionMode::Stateful) => self.sessions.end_session(sender),
            (_, SessionMode::Stateful) => Ok(method_not_allowed("GET, POST, DELETE")),
            (_, SessionMode::Stateless) => Ok(method_not_allowed("POST")),
        }
    }
}

impl Backend for Bridge {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(async {
            if request.query.is_some() {
                self.query_warning.call_once(|| {
                    tracing::warn!(
                        "a client's URL has a query, which is not sent to this server; set it in the server's own URL"
                    );
                });
            }
            let response = if request.method == Method::POST {
                Box::pin(self.handle_post(request)).await
            } else {
                self.handle_other(request)
            };
            response.unwrap_or_else(Into::into)
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            tokio::join!(self.sessions.close(), self.stateless.close());
        })
    }
}
