//! Serves connections of clients, over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{COOKIE, HeaderMap, HeaderValue};
use http::{Method, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use portion_gateway::overload::{OverloadLimit, OverloadMonitor};
use portion_net::forwarding::{echoes_request, has_unknown_transfer_coding};
use portion_net::io::GuardedBody;
use portion_net::io::TimedIo;
use portion_net::request_head::{MAX_HEAD_BYTES, head_bytes};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tower_service::Service;

use super::activity::ConnectionActivity;
use super::client::{
    busy_response, cut_off_response, draining_response, head_too_large_response, rejected_method_response,
    unknown_transfer_coding_response,
};
use super::forwarded::ClientAddress;
use super::stream_stall::{self, StreamExecutor};
use super::upgrade::{self, ConnectionPermit};
use crate::body::Body;
use crate::variant::HasBody;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Largest number of connections; further ones get status 503.
    pub max_connections: usize,
    /// Largest number of requests in progress on all connections; further ones get status 503.
    pub max_requests: usize,
    /// Load of this process beyond which new requests get status 503; `None`: they do not.
    pub overload: Option<OverloadLimit>,
    /// Longest time that a client may take to send the head of a request, and that a connection of HTTP/1.1 may be idle.
    pub head_timeout: Duration,
    /// Longest time that a client may read nothing of what is written to it.
    pub write_timeout: Duration,
    /// Longest time that open requests may take once the server shuts down.
    pub drain_timeout: Duration,
}

/// Interval between pings on an HTTP/2 connection, and the time to answer one.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// Longest time without a request on a connection of HTTP/2.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Time for the last responses to be written after the drain timeout.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after an error of the listener, such as a lack of file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

const OVERLOADED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

impl Default for ServerLimits {
    /// 4,096 connections and requests, any delay, 10 s for a head, 60 s for a write, 30 s to drain.
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_requests: 4096,
            overload: None,
            head_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// Treatment of requests by a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It serves them.
    Serving,
    /// It finishes open ones, and rejects new ones.
    Draining,
    /// It waits for none, and answers open ones with an error.
    Stopping,
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
    let (permits, connections) = (Arc::new(Semaphore::new(limits.max_connections)), GracefulShutdown::new());
    let requests = Arc::new(Semaphore::new(limits.max_requests));
    let (phase, phases) = watch::channel(Phase::Serving);
    let overload = limits.overload.map(OverloadMonitor::new);
    let _sampling = overload.as_ref().map(OverloadMonitor::start);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            tokio::spawn(reject(stream));
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (activity, permit) = (ConnectionActivity::new(), ConnectionPermit::new(permit));
        let limited = LimitedService {
            inner: service.clone(),
            activity: activity.clone(),
            requests: Arc::clone(&requests),
            max_requests: limits.max_requests,
            phase: phases.clone(),
            overload: overload.clone(),
            address: ClientAddress(peer.ip()),
            permit: permit.clone(),
        };
        let stream = TimedIo::new(TokioIo::new(stream), limits.write_timeout);
        let connection = builder(limits)
            .serve_connection_with_upgrades(stream, TowerToHyperService::new(limited))
            .into_owned();
        let watched = connections.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off is no error here. The detection of the HTTP version has no timeout of its own.
            tokio::select! {
                _ = watched => {}
                () = activity.wait_idle(limits.head_timeout, IDLE_TIMEOUT) => {}
            }
            drop(permit);
        });
    }
    phase.send_replace(Phase::Draining);
    let drained = async {
        let mut closed = pin!(connections.shutdown());
        if timeout(limits.drain_timeout, closed.as_mut()).await.is_err() {
            tracing::warn!("requests were still open at the end of the drain timeout");
            phase.send_replace(Phase::Stopping);
            let _ = timeout(CLOSE_TIMEOUT, closed).await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = reject_while_draining(listener, limits, permits) => {}
    }
}

/// Answers the request of each new connection with status 503, for as long as this is polled.
async fn reject_while_draining(listener: TcpListener, limits: ServerLimits, permits: Arc<Semaphore>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_BACKOFF).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            tokio::spawn(reject(stream));
            continue;
        };
        tokio::spawn(async move {
            let service = service_fn(|_| ready(Ok::<_, Infallible>(draining_response())));
            let stream = TimedIo::new(TokioIo::new(stream), limits.write_timeout);
            let builder = builder(limits);
            let connection = builder.serve_connection(stream, service);
            // A client that breaks off is no error here.
            let _ = timeout(limits.head_timeout, connection).await;
            drop(permit);
        });
    }
}

/// Counts the requests of a connection, adds the address of the client, and rejects those above the limits of all
/// connections.
#[derive(Clone)]
struct LimitedService<S> {
    inner: S,
    activity: ConnectionActivity,
    requests: Arc<Semaphore>,
    max_requests: usize,
    phase: watch::Receiver<Phase>,
    overload: Option<OverloadMonitor>,
    address: ClientAddress,
    permit: ConnectionPermit,
}

impl<S> Service<Request<Incoming>> for LimitedService<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(rejected) = rejection(&request) {
            return Box::pin(ready(Ok(rejected)));
        }
        if *self.phase.borrow() != Phase::Serving {
            return Box::pin(ready(Ok(draining_response())));
        }
        let in_progress = self.max_requests.saturating_sub(self.requests.available_permits());
        // A CORS preflight needs no work.
        if request.method() != Method::OPTIONS
            && self.overload.as_ref().is_some_and(|monitor| !monitor.admits_request(in_progress))
        {
            return Box::pin(ready(Ok(busy_response("the gateway is overloaded"))));
        }
        let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() else {
            return Box::pin(ready(Ok(busy_response("too many requests are in progress"))));
        };
        join_cookies(request.headers_mut());
        request.extensions_mut().insert(self.address);
        if !request.body().is_end_stream() {
            request.extensions_mut().insert(HasBody);
        }
        if upgrade::protocol(request.headers()).is_some() {
            request.extensions_mut().insert(self.permit.clone());
        }
        let (active, stopped) = (self.activity.begin(permit), wait_until_stopping(self.phase.clone()));
        let method = request.method().clone();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = tokio::select! {
                biased;
                response = response => response,
                () = stopped => Ok(cut_off_response(&method)),
            };
            response.map(|response| {
                response.map(|body| GuardedBody::new(stream_stall::paced(body), active).boxed_unsync())
            })
        })
    }
}

/// Returns the response to a request that is never served, whoever sends it.
fn rejection<B>(request: &Request<B>) -> Option<Response<Body>> {
    if head_bytes(request) > MAX_HEAD_BYTES {
        return Some(head_too_large_response());
    }
    if echoes_request(request.method()) {
        return Some(rejected_method_response(request.method()));
    }
    has_unknown_transfer_coding(request.headers()).then(unknown_transfer_coding_response)
}

/// Waits until the server no longer waits for requests.
async fn wait_until_stopping(mut phase: watch::Receiver<Phase>) {
    // A server that has ended waits for none either.
    let _ = phase.wait_for(|phase| *phase == Phase::Stopping).await;
}

fn builder(limits: ServerLimits) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(StreamExecutor { stall_timeout: limits.write_timeout });
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        // Field names keep their case for servers that need it.
        .preserve_header_case(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING)
        .max_header_list_size(MAX_HEAD_BYTES as u32);
    builder
}

/// Joins the fields of a cookie, into which HTTP/2 may split it. HTTP/1.1 knows only one (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(mut joined) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        joined.set_sensitive(true);
        headers.insert(COOKIE, joined);
    }
}

async fn reject(mut stream: TcpStream) {
    let _ = stream.write_all(OVERLOADED).await;
    let _ = stream.shutdown().await;
}
