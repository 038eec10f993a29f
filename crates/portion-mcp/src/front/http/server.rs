//! Checks requests and passes them to backends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::CONTENT_ENCODING;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use portion_auth::{Authenticator, Identity};
use portion_gateway::overload::OverloadMonitor;
use portion_gateway::principal::PrincipalResolver;
use portion_net::serve::{self, ActiveRequest, CLOSE_TIMEOUT, Serving, guarded};
use portion_text::display::shortened;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::http_error::{HttpError, PostedRequests, RETRY_AFTER_SECONDS};
use super::request_checks::{
    BodyBudget, BodyReservation, HttpLimits, PostKind, begins_work, body_error_response, check_head,
    check_head_size, overloaded, parse_post, read_body,
};
use super::{
    Backend, CallerResolver, InboundRequest, OriginGuard, RequestBody, ResponseFuture, WellKnownDocument,
    origin_guard,
};
use crate::frame::strip_byte_order_mark;
use crate::http::body::Body;
use crate::mcp::envelope::{INVALID_REQUEST, SERVER_BUSY};
use crate::once::OneShotFlag;

/// Time for running requests to be answered by their backend after draining; then they get an error.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_millis(300);
/// Message of that error.
const CUT_OFF: &str = "the gateway is stopping and did not wait for the response; the call may have acted";
/// Header by which a program requests the whole result of a call.
const WHOLE_HEADER: &str = "x-portion-whole";

/// HTTP server of one listener: backends by path, access rules and limits.
pub struct HttpServer {
    guard: OriginGuard,
    callers: CallerResolver,
    limits: HttpLimits,
    /// Backends by path; a path that ends in `/` includes all paths below it.
    backends: Vec<(String, Arc<dyn Backend>)>,
    body_budget: BodyBudget,
    serving: Serving,
    overload: Option<OverloadMonitor>,
    /// True if pages of allowed origins may read responses.
    is_open_to_pages: bool,
}

/// An admitted request, with the resources that it holds until it is answered.
struct AdmittedRequest {
    request: InboundRequest,
    _body_reservation: BodyReservation,
    /// `None` if shutdown need not wait for the response.
    active_request: Option<ActiveRequest>,
}

impl HttpServer {
    /// Creates a server of these backends by path: `/mcp` matches that path only, `/api/` all paths with that prefix.
    /// The longest match counts.
    pub fn new(
        guard: OriginGuard,
        principal_resolver: PrincipalResolver,
        limits: HttpLimits,
        backends: Vec<(String, Arc<dyn Backend>)>,
    ) -> Self {
        Self {
            guard,
            callers: CallerResolver::new(principal_resolver),
            limits,
            backends,
            body_budget: BodyBudget::new(limits.max_total_body_bytes),
            serving: Serving::default(),
            overload: limits.overload.map(OverloadMonitor::new),
            is_open_to_pages: false,
        }
    }

    /// Sets the authenticator of callers; without one, everyone may call.
    #[must_use]
    pub fn with_authenticator(self, authenticator: Arc<Authenticator>) -> Self {
        Self { callers: CallerResolver { authenticator, ..self.callers }, ..self }
    }

    /// Lets pages of allowed origins read responses (CORS). Preflights of browsers are answered here.
    #[must_use]
    pub fn with_cors(self) -> Self {
        Self { is_open_to_pages: true, ..self }
    }

    /// Serves until `shutdown` is set. Then it rejects new requests, waits for running requests within the limit, and closes
    /// its backends.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, shutdown: Arc<OneShotFlag>) {
        let _sampling = self.overload.as_ref().map(OverloadMonitor::start);
        let server = Arc::clone(&self);
        tokio::spawn(async move { server.callers.authenticator.prepare().await });
        let server = Arc::clone(&self);
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.handle_request(request).await) }
        });
        let closed = async {
            self.serving.wait_stopping().await;
            let _ =
                timeout(CLOSE_TIMEOUT, join_all(self.backends.iter().map(|(_, backend)| backend.close())))
                    .await;
        };
        let listening =
            serve::serve(listener, service, &self.serving, self.limits.connections, shutdown.wait());
        tokio::join!(listening, closed);
    }

    async fn handle_request(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(refusal) = check_head_size(&request) {
            return refusal.into();
        }
        if let Err(stranger) = self.guard.check(request.uri(), request.headers()) {
            tracing::warn!(%stranger, "refused a request");
            let status = stranger.status();
            let error = HttpError::new(status, INVALID_REQUEST, stranger.to_string());
            let error = if status == StatusCode::BAD_REQUEST { error.closing() } else { error };
            return error.into();
        }
        let origin = origin_guard::page_origin(request.headers()).filter(|_| self.is_open_to_pages);
        let Some(origin) = origin else { return self.handle_allowed(request).await };
        let preflight = origin_guard::preflight_response(&request);
        let mut response = match preflight {
            Some(response) => response,
            None => self.handle_allowed(request).await,
        };
        origin_guard::allow_reading(response.headers_mut(), origin);
        response
    }

    /// Answers a request whose host and origin are allowed.
    async fn handle_allowed(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(backend) = self.backend_for(request.uri().path()) {
            let identity = match self.callers.authenticate(&request).await {
                Ok(identity) => identity,
                Err(denied) => {
                    let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
                    if !backend.admits_stranger(method, path, headers) {
                        return *denied;
                    }
                    return self
                        .respond(request, None, false, |request| backend.handle_stranger(request))
                        .await;
                }
            };
            let is_rpc = backend.accepts_json_rpc();
            return self.respond(request, identity, is_rpc, |request| Some(backend.handle(request))).await;
        }
        if self.callers.authenticator.verifies() {
            // The documents of the server are for its own credentials, which its clients do not need here.
            let paths = self.backends.iter().map(|(path, _)| path.as_str());
            let metadata = self.callers.resource_metadata(request.uri(), request.headers(), paths);
            return metadata.unwrap_or_else(|| self.not_found());
        }
        if let Some((backend, question)) = self.find_well_known(request.uri().path())
            && matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        {
            return self.respond(request, None, false, |request| backend.well_known(request, question)).await;
        }
        self.not_found()
    }

    fn not_found(&self) -> Response<Body> {
        let paths: Vec<&str> = self.backends.iter().map(|(path, _)| path.as_str()).collect();
        let message = format!("this path is not served; use {}", paths.join(", "));
        HttpError::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).into()
    }

    /// Admits a request and returns the backend's response, or an error if it has none by the end of the shutdown.
    async fn respond<'a>(
        &self,
        request: Request<Incoming>,
        identity: Option<Identity>,
        is_rpc: bool,
        respond: impl FnOnce(InboundRequest) -> Option<ResponseFuture<'a>>,
    ) -> Response<Body> {
        let admitted = match self.admit(request, identity, is_rpc).await {
            Ok(admitted) => admitted,
            Err(refusal) => return refusal.into(),
        };
        let AdmittedRequest { request, _body_reservation: _reservation, active_request } = admitted;
        let posted = PostedRequests::of(&request.body);
        let Some(response) = respond(request) else { return self.not_found() };
        let deadline = async {
            self.serving.wait_stopping().await;
            sleep(FINAL_RESPONSE_TIMEOUT).await;
        };
        let response = tokio::select! {
            biased;
            response = response => response,
            () = deadline => {
                let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, CUT_OFF);
                posted.fail(error.retry_after(RETRY_AFTER_SECONDS))
            }
        };
        response.map(|body| guarded(body, active_request).boxed_unsync())
    }

    /// Returns the backend of a path.
    fn backend_for(&self, path: &str) -> Option<&dyn Backend> {
        let matches = |prefix: &str| prefix == path || (prefix.ends_with('/') && path.starts_with(prefix));
        // The longest match is the nearest; an exact match is the longest of all.
        let backend =
            self.backends.iter().filter(|(prefix, _)| matches(prefix)).max_by_key(|(prefix, _)| prefix.len());
        backend.map(|(_, backend)| &**backend)
    }

    async fn admit(
        &self,
        request: Request<Incoming>,
        identity: Option<Identity>,
        is_rpc: bool,
    ) -> Result<AdmittedRequest, HttpError> {
        let (mut head, body) = request.into_parts();
        check_head(&head.headers, is_rpc && head.method == Method::POST)?;
        if let Some(coding) = head.headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            let coding = shortened(&coding);
            let message = format!("a body compressed as `{coding}` is not supported; send it uncompressed");
            return Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message));
        }
        let (mut body, reservation) = read_body(body, &self.limits, &self.body_budget)
            .await
            .map_err(|why| body_error_response(&why))?;
        if is_rpc {
            strip_byte_order_mark(&mut body);
        }
        let mut body = if is_rpc && head.method == Method::POST {
            RequestBody::Messages(parse_post(body)?)
        } else {
            RequestBody::Bytes(body)
        };
        let post_kind = PostKind::of(&body);
        // Our own header; it is not forwarded.
        let wants_whole = head.headers.remove(WHOLE_HEADER).is_some_and(|value| value.as_bytes() == b"true");
        if let RequestBody::Messages(batch) = body {
            body = RequestBody::Messages(if wants_whole { batch.with_whole_results() } else { batch });
        }
        // While draining, messages about running requests are admitted: cancellations, responses, and the end of the
        // session.
        let is_follow_up =
            post_kind.map_or(head.method == Method::DELETE, |post_kind| post_kind == PostKind::NoRequest);
        if self.serving.is_draining() && !is_follow_up {
            let message = "the gateway is shutting down; retry in a moment";
            return Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, message)
                .retry_after(RETRY_AFTER_SECONDS));
        }
        let in_progress = self.serving.active_requests();
        let is_rejected =
            |monitor: &OverloadMonitor| begins_work(&body) && !monitor.admits_request(in_progress);
        if self.overload.as_ref().is_some_and(is_rejected) {
            return Err(overloaded());
        }
        let active_request = (post_kind == Some(PostKind::Request)).then(|| self.serving.begin_request());
        let principal = self.callers.identify(&mut head, identity.as_ref());
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
        let request =
            InboundRequest { method: head.method, path, query, headers: head.headers, body, principal };
        Ok(AdmittedRequest { request, _body_reservation: reservation, active_request })
    }

    /// Returns the discovery document at a path, and its backend: the backend whose path it names, or the only backend.
    fn find_well_known(&self, path: &str) -> Option<(&dyn Backend, WellKnownDocument)> {
        let by_path = self.backends.iter().find_map(|(base, backend)| {
            let document = WellKnownDocument::for_server(path, base)?;
            Some((&**backend, document))
        });
        by_path.or_else(|| match self.backends.as_slice() {
            [(_, backend)] => Some((&**backend, WellKnownDocument::for_host(path)?)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;
    use crate::front::http::ResponseFuture;

    /// Answers with its own name.
    struct Named(&'static str);

    impl Backend for Named {
        fn handle(&self, _: InboundRequest) -> ResponseFuture<'_> {
            let mut response = Response::new(crate::http::body::empty());
            response.headers_mut().insert("x-name", HeaderValue::from_static(self.0));
            Box::pin(ready(response))
        }
    }

    fn server(paths: &[&'static str]) -> HttpServer {
        let to_backend =
            |path: &&'static str| ((*path).to_owned(), Arc::new(Named(path)) as Arc<dyn Backend>);
        let guard = OriginGuard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]);
        HttpServer::new(
            guard,
            PrincipalResolver::new([7; 32], Vec::new()),
            HttpLimits::default(),
            paths.iter().map(to_backend).collect(),
        )
    }

    #[tokio::test]
    async fn the_longest_path_counts() {
        let check = async |paths: &[&'static str], path: &str, expect: Option<&str>| {
            let server = server(paths);
            let found = match server.backend_for(path) {
                Some(backend) => {
                    let request = InboundRequest {
                        method: Method::GET,
                        path: path.to_owned(),
                        query: None,
                        headers: HeaderMap::new(),
                        body: RequestBody::Bytes(Vec::new()),
                        principal: PrincipalResolver::new([7; 32], Vec::new()).identify(
                            path,
                            None,
                            &HeaderMap::new(),
                        ),
                    };
                    Some(backend.handle(request).await.headers()["x-name"].to_str().map(str::to_owned))
                }
                None => None,
            };
            let found = found.transpose().expect("names are plain");
            assert_eq!(found.as_deref(), expect, "{path} of {paths:?}");
        };
        check(&["/mcp"], "/mcp", Some("/mcp")).await;
        check(&["/mcp"], "/mcp/", None).await;
        check(&["/mcp"], "/mcp/x", None).await;
        let admin = ["/health", "/", "/api/"];
        check(&admin, "/health", Some("/health")).await;
        check(&admin, "/healthy", Some("/")).await;
        check(&admin, "/", Some("/")).await;
        check(&admin, "/api", Some("/")).await;
        check(&admin, "/api/series", Some("/api/")).await;
    }
}
