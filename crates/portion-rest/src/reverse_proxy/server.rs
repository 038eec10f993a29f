//! Serves connections of clients, over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;

use http::{Method, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use portion_gateway::overload::{OverloadLimit, OverloadMonitor};
use portion_net::forwarding::{echoes_request, has_unknown_transfer_coding};
use portion_net::serve::{self, MAX_HEAD_BYTES, ServeLimits, Serving, Versions, guarded, head_bytes};
use tokio::net::TcpListener;
use tower_service::Service;

use super::client::{
    busy_response, cut_off_response, draining_response, head_too_large_response, rejected_method_response,
    unknown_transfer_coding_response,
};
use crate::body::Body;
use crate::variant::HasBody;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Limits of connections.
    pub connections: ServeLimits,
    /// Largest number of requests in progress on all connections; further ones get status 503.
    pub max_requests: usize,
    /// Load of this process beyond which new requests get status 503; `None`: they do not.
    pub overload: Option<OverloadLimit>,
}

impl Default for ServerLimits {
    /// HTTP/1.1 and HTTP/2, 4,096 connections and requests, any load.
    fn default() -> Self {
        let connections = ServeLimits { versions: Versions::Http1And2, ..ServeLimits::default() };
        Self { connections, max_requests: 4096, overload: None }
    }
}

/// Serves until `shutdown` completes. Then it finishes open requests within the limit, and rejects new ones meanwhile. At the
/// end of the limit, requests without a response get an error.
pub async fn serve<S>(
    listener: TcpListener,
    service: S,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let (serving, overload) = (Serving::default(), limits.overload.map(OverloadMonitor::new));
    let _sampling = overload.as_ref().map(OverloadMonitor::start);
    let limited = LimitedService {
        inner: TowerToHyperService::new(service),
        serving: serving.clone(),
        max_requests: limits.max_requests,
        overload,
    };
    let service = service_fn(move |request| limited.clone().respond(request));
    serve::serve(listener, service, &serving, limits.connections, shutdown).await;
}

/// Counts requests, and rejects those above the limits of all connections.
#[derive(Clone)]
struct LimitedService<S> {
    inner: TowerToHyperService<S>,
    serving: Serving,
    max_requests: usize,
    overload: Option<OverloadMonitor>,
}

impl<S> LimitedService<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone,
{
    async fn respond(self, mut request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        if let Some(rejected) = self.rejection(&request) {
            return Ok(rejected);
        }
        if !request.body().is_end_stream() {
            request.extensions_mut().insert(HasBody);
        }
        let (active, method) = (self.serving.begin_request(), request.method().clone());
        let response = tokio::select! {
            biased;
            response = self.inner.call(request) => response?,
            () = self.serving.wait_stopping() => cut_off_response(&method),
        };
        Ok(response.map(|body| guarded(body, active).boxed_unsync()))
    }

    /// Returns the response to a request that is not served now, or never, whoever sends it.
    fn rejection(&self, request: &Request<Incoming>) -> Option<Response<Body>> {
        if head_bytes(request) > MAX_HEAD_BYTES {
            return Some(head_too_large_response());
        }
        if echoes_request(request.method()) {
            return Some(rejected_method_response(request.method()));
        }
        if has_unknown_transfer_coding(request.headers()) {
            return Some(unknown_transfer_coding_response());
        }
        if self.serving.is_draining() {
            return Some(draining_response());
        }
        let in_progress = self.serving.active_requests();
        // A CORS preflight needs no work.
        let is_overload = request.method() != Method::OPTIONS
            && self.overload.as_ref().is_some_and(|monitor| !monitor.admits_request(in_progress));
        if is_overload {
            return Some(busy_response("the gateway is overloaded"));
        }
        (in_progress >= self.max_requests).then(|| busy_response("too many requests are in progress"))
    }
}
