//! Serves connections of clients: a listener within limits, and its shutdown.
//!
//! | limit | a client that |
//! | --- | --- |
//! | `max_connections` | takes one more than that evicts the one that is idle longest; if all are busy, it gets status 503 |
//! | `stall_timeout` | sends no complete head, on a new connection or once it has begun one, is disconnected |
//! | `idle_timeout` | sends no further request is disconnected |
//! | `write_timeout` | reads nothing of a response is disconnected; over HTTP/2, the stream is reset |
//!
//! A shutdown has two steps. While the listener drains, connections and requests are accepted, and services reject what begins
//! work. It stops once no request is active, or after `drain_timeout`: then services answer what is left, and connections end. A
//! client that still reads a response has the rest of that time.
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! use std::convert::Infallible;
//!
//! use http::{Request, Response};
//! use hyper::body::Incoming;
//! use hyper::service::service_fn;
//! use portion_net::serve::{ServeLimits, Serving, serve};
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let service = service_fn(async |_: Request<Incoming>| Ok::<_, Infallible>(Response::new(String::from("hello"))));
//! serve(listener, service, &Serving::default(), ServeLimits::default(), std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod connections;
mod stall;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, COOKIE, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use self::connections::{ClientConnection, RequestGuard};
use self::connections::{Connection, Connections};
pub use self::stall::guarded;
use self::stall::{StreamExecutor, TimedIo, paced};

/// Largest head of a request that listeners accept, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// Limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ServeLimits {
    /// Versions of HTTP.
    pub versions: Versions,
    /// Concurrent connections, and at most half of the file descriptors: a connection may need another one upstream.
    pub max_connections: usize,
    /// Timeout for the head of a request: on a new connection, and once a part of it has arrived. Over HTTP/2, for the first one.
    pub stall_timeout: Duration,
    /// Longest time of a connection without a request after the first one.
    pub idle_timeout: Duration,
    /// Longest time that a client may read nothing of what is written to it.
    pub write_timeout: Duration,
    /// Time for active requests to finish at shutdown.
    pub drain_timeout: Duration,
    /// File descriptors in reserve, so that a connection can be accepted when the process has no others left.
    pub reserved_descriptors: usize,
}

/// Versions of HTTP that a listener accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// Only HTTP/1.1.
    Http1,
    /// HTTP/1.1, and HTTP/2 with prior knowledge.
    Http1And2,
}

/// Interval between pings on an HTTP/2 connection, and the time to answer one.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// Time for connections to end once the listener stops, beside those that still make progress.
pub const CLOSE_TIMEOUT: Duration = Duration::from_millis(1950);
/// Pause after the listener failed to accept a connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(20);

const ALL_BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

impl Default for ServeLimits {
    /// HTTP/1.1, 4,096 connections, 10 s for a head, 90 s without a request, 60 s for a write, 30 s to drain.
    fn default() -> Self {
        Self {
            versions: Versions::Http1,
            max_connections: 4096,
            stall_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            write_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(30),
            reserved_descriptors: 4,
        }
    }
}

/// State of a listener, shared with its service.
#[derive(Clone, Debug)]
pub struct Serving {
    phase: watch::Sender<Phase>,
    active_requests: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    Stopping,
}

/// A request that the listener waits for when it drains; it ends when this is dropped.
#[derive(Debug)]
pub struct ActiveRequest(watch::Sender<usize>);

impl Default for Serving {
    fn default() -> Self {
        Self { phase: watch::Sender::new(Phase::Serving), active_requests: watch::Sender::new(0) }
    }
}

impl Serving {
    /// Adds an active request.
    pub fn begin_request(&self) -> ActiveRequest {
        self.active_requests.send_modify(|count| *count += 1);
        ActiveRequest(self.active_requests.clone())
    }

    /// Returns the number of active requests.
    pub fn active_requests(&self) -> usize {
        *self.active_requests.borrow()
    }

    /// Returns true if requests that begin work must be rejected.
    pub fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Waits until the listener no longer waits for active requests.
    pub async fn wait_stopping(&self) {
        // There is no error: this holds a sender.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Stopping).await;
    }

    /// Waits for the shutdown, and then for active requests. Returns the end of the time for them.
    async fn drain(&self, shutdown: impl Future<Output = ()>, limit: Duration) -> Instant {
        shutdown.await;
        let deadline = Instant::now() + limit;
        self.phase.send_replace(Phase::Draining);
        let running = self.active_requests();
        if running > 0 {
            tracing::info!(running, "draining: new requests are refused, running requests finish");
        }
        let mut count = self.active_requests.subscribe();
        if timeout_at(deadline, count.wait_for(|count| *count == 0)).await.is_err() {
            let (running, seconds) = (self.active_requests(), limit.as_secs());
            tracing::warn!(running, "requests that did not finish within {seconds} s are dropped");
        }
        self.phase.send_replace(Phase::Stopping);
        deadline
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Serves until `shutdown` completes and connections have ended. Requests have a [`ClientConnection`] as extension.
///
/// ```
/// use http::Request;
/// use portion_net::serve::head_bytes;
///
/// let request = Request::get("/a?b=c").header("host", "localhost").body(())?;
/// assert_eq!(head_bytes(&request), "GET /a?b=c HTTP/1.1\r\nhost: localhost\r\n\r\n".len());
/// # Ok::<(), http::Error>(())
/// ```
pub async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    serving: &Serving,
    limits: ServeLimits,
    shutdown: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let connections = Connections::new(limits.max_connections, limits.reserved_descriptors);
    let mut tasks = JoinSet::new();
    let mut drained = pin!(serving.drain(shutdown, limits.drain_timeout));
    let deadline = loop {
        let accepted = tokio::select! {
            deadline = &mut drained => break deadline,
            Some(_) = tasks.join_next() => {
                connections.refill_reserve();
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Some(connection) = connections.try_add(peer.ip()) {
                    let (service, serving) = (service.clone(), serving.clone());
                    tasks.spawn(serve_connection(stream, connection, service, serving, limits));
                } else {
                    tracing::warn!("a connection was refused: all others are busy");
                    tasks.spawn(refuse(stream));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                // Idle connections end for the next one; this one takes a reserved descriptor.
                if is_out_of_descriptors(&error) {
                    connections.evict_idle();
                    if connections.release_reserve() {
                        continue;
                    }
                }
                sleep(ACCEPT_RETRY_INTERVAL).await;
                connections.refill_reserve();
            }
        }
    };
    let mut ended = pin!(async { while tasks.join_next().await.is_some() {} });
    loop {
        let writes = connections.write_count();
        let is_over = timeout(CLOSE_TIMEOUT, ended.as_mut()).await.is_ok();
        if is_over || connections.write_count() == writes || Instant::now() >= deadline {
            break;
        }
    }
}

/// Returns the length of the head of a request in bytes, as HTTP/1.1 writes it without optional white space.
pub fn head_bytes<B>(request: &Request<B>) -> usize {
    let uri = request.uri();
    let scheme = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + scheme + authority + path + "  HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}

/// Serves the requests of a connection until it ends. A client that breaks off is no error.
async fn serve_connection<S, B>(
    stream: TcpStream,
    connection: Arc<Connection>,
    service: S,
    serving: Serving,
    limits: ServeLimits,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let _ = stream.set_nodelay(true);
    let io = TimedIo::new(TokioIo::new(stream), limits.write_timeout, Arc::clone(&connection));
    let (client, state) = (ClientConnection::new(&connection), serving.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let guard = client.begin_request(request.version());
        join_cookies(request.headers_mut());
        request.extensions_mut().insert(client.clone());
        let is_http1 = request.version() <= Version::HTTP_11;
        let (response, serving) = (service.call(request), state.clone());
        async move {
            let mut response = response.await?;
            let ends =
                is_http1 && serving.is_draining() && response.status() != StatusCode::SWITCHING_PROTOCOLS;
            if ends {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| guarded(paced(body), guard)))
        }
    });
    let builder = builder(limits);
    let mut served = pin!(builder.serve_connection_with_upgrades(io, service));
    let (mut stopping, mut is_stopping) = (pin!(serving.wait_stopping()), false);
    loop {
        // On a connection that ends, no further request may begin.
        let head = if is_stopping { Duration::ZERO } else { limits.stall_timeout };
        tokio::select! {
            biased;
            _ = served.as_mut() => return,
            () = connection.wait_idle(head, limits.idle_timeout) => return,
            () = connection.wait_evicted() => return,
            () = stopping.as_mut(), if !is_stopping => {
                is_stopping = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

fn builder(limits: ServeLimits) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(StreamExecutor { stall_timeout: limits.write_timeout });
    // Field names keep their case for servers that need it. Times are limited here.
    builder.http1().max_buf_size(MAX_HEAD_BYTES).preserve_header_case(true).header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING)
        .max_header_list_size(MAX_HEAD_BYTES as u32);
    if limits.versions == Versions::Http1 { builder.http1_only() } else { builder }
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

async fn refuse(mut stream: TcpStream) {
    let _ = stream.write_all(ALL_BUSY).await;
    let _ = stream.shutdown().await;
}

/// Returns true if there are too many open files, in the system (ENFILE) or in this process (EMFILE).
fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}
