//! Reverse proxy in front of servers that speak streamable HTTP.
//!
//! Each client request is forwarded as one request with its header fields. Responses that may have to be reshaped are
//! read, as JSON bodies or as events of a stream; all others are forwarded byte for byte.
//!
//! - `upstream_client`: requests to the server; this listener in the metadata and challenges of a server that requires a login
//! - `exchange`: a post and its response; `shared`: state of all requests, and requests of the gateway itself
//! - `stream`: a stream of events from the server to the client
//! - `session`: a session, and the state kept between its posts

mod exchange;
mod session;
mod shared;
mod stream;
mod upstream_client;

use std::pin::Pin;
use std::sync::Arc;

use hyper::{Method, Response, StatusCode};
use portion_net::forwarding::echoes_request;
use portion_policy::upstream::UpstreamTarget;

use crate::front::http::http_error::{bad_gateway, method_not_allowed};
use crate::front::http::{Backend, InboundRequest, ResponseFuture, WellKnownDocument};
use crate::http::body::Body;
use crate::mcp::McpProcessorFactory;
use crate::once::OneShotFlag;
use crate::upstream::http::HttpClient;
use session::SessionCache;
use shared::{ProxyShared, session_not_found};
pub use upstream_client::PublicResource;
use upstream_client::{ForwardedParts, UpstreamClient};

/// Header by which a client resumes a stream.
const LAST_EVENT_ID_HEADER: &str = "last-event-id";

/// Backend in front of a server that speaks streamable HTTP.
pub struct Proxy {
    shared: Arc<ProxyShared>,
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
        if principal.is_verified && principal.session_id().is_none() {
            // Without a session, the server could not tell whose stream is resumed.
            headers.remove(LAST_EVENT_ID_HEADER);
        }
        let session = (method == Method::GET).then(|| sessions.get_or_insert(&principal, processor_factory));
        let stream_request = session.as_ref().map(|session| session.opening.begin_stream_request());
        let forwarded = ForwardedParts { headers, query };
        let response = match upstream.send(&method, &forwarded, body.into_bytes()).await {
            Ok(response) => response,
            Err(error) => return bad_gateway(&error).into(),
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
            return Box::pin(std::future::ready(method_not_allowed("GET, POST, DELETE")));
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
                Err(error) => bad_gateway(&error).into(),
            }
        }))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // Sessions belong to the clients and the server and go on; only streams and unfinished requests end.
        self.shared.shutdown_started.set();
        Box::pin(async {})
    }
}
