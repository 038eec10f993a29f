//! From a connection to a backend.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::principal::{Principals, names_two_sessions};
use super::refusal::Refusal;
use super::wire::{Owed, Wire};
use super::{Asked, Backend, Guard, WellKnown};
use crate::http::body::{self, Body, Unread};
use crate::latch::Latch;
use crate::mcp::code::{INVALID_REQUEST, PARSE_ERROR};
use crate::mcp::{Heard, NotRpc};

/// How long what is under way may take once we are leaving.
const LEAVING: Duration = Duration::from_secs(5);

/// What a client may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; further ones wait.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of a request's head.
    pub head: usize,
    /// How long a head may take to arrive, or a connection be idle.
    pub idle: Duration,
    /// How long a body may take to arrive.
    pub sending: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            body: 256 << 20,
            head: 64 << 10,
            idle: Duration::from_secs(90),
            sending: Duration::from_mins(2),
        }
    }
}

/// The paths that are served, and who may ask.
pub struct Door {
    guard: Guard,
    principals: Principals,
    limits: Limits,
    /// A path, and what stands behind it; one that ends in `/` is for all paths below it, too.
    backends: Vec<(String, Arc<dyn Backend>)>,
}

impl Door {
    /// A door to these backends, by their paths: `/mcp` is that path alone, `/api/` all paths that begin so. A path's
    /// own backend comes before those it is below, the nearest of which counts.
    pub fn new(
        guard: Guard,
        principals: Principals,
        limits: Limits,
        backends: Vec<(String, Arc<dyn Backend>)>,
    ) -> Self {
        Self { guard, principals, limits, backends }
    }

    /// Serves until `leave` is set, then lets what is under way come to its end for a while.
    ///
    /// # Errors
    /// Where the listener fails for good.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, leave: Arc<Latch>) -> io::Result<()> {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let left = loop {
            let Ok(seat) = Arc::clone(&room).acquire_owned().await else { break Ok(()) };
            let stream = tokio::select! {
                () = leave.wait() => break Ok(()),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) if is_passing(&error) => {
                        tracing::warn!(%error, "a connection was not taken");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                    Err(error) => break Err(error),
                },
            };
            let (door, leave) = (Arc::clone(&self), Arc::clone(&leave));
            tokio::spawn(async move {
                door.connection(stream, &leave).await;
                drop(seat);
            });
        };
        for (_, backend) in &self.backends {
            backend.close().await;
        }
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        let _ = timeout(LEAVING, room.acquire_many(all)).await;
        left
    }

    async fn connection(&self, stream: TcpStream, leave: &Latch) {
        let _ = stream.set_nodelay(true);
        let owed = Owed::default();
        let service = service_fn(|request| {
            owed.take();
            async { Ok::<_, Infallible>(self.request(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .max_buf_size(self.limits.head.max(8 << 10))
            .serve_connection(Wire::new(TokioIo::new(stream), &owed), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = leave.wait() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn request(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(stranger) = self.guard.check(request.uri(), request.headers()) {
            tracing::warn!(%stranger, "turned a request away");
            return Refusal::new(StatusCode::FORBIDDEN, INVALID_REQUEST, stranger.to_string()).into();
        }
        if let Some(backend) = self.behind(request.uri().path()) {
            return match self.asked(request, backend.speaks_rpc()).await {
                Ok(asked) => backend.answer(asked).await,
                Err(refusal) => refusal.into(),
            };
        }
        if let Some((backend, question)) = self.well_known(request.uri().path())
            && matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        {
            let asked = match self.asked(request, false).await {
                Ok(asked) => asked,
                Err(refusal) => return refusal.into(),
            };
            if let Some(answering) = backend.well_known(asked, question) {
                return answering.await;
            }
        }
        let paths: Vec<&str> = self.backends.iter().map(|(at, _)| at.as_str()).collect();
        let message = format!("nothing is served at this path; served: {}", paths.join(", "));
        Refusal::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).into()
    }

    /// What stands behind a path.
    fn behind(&self, path: &str) -> Option<&dyn Backend> {
        let stands = |at: &str| at == path || (at.ends_with('/') && path.starts_with(at));
        // The path itself is longer than all that it is below.
        let behind = self.backends.iter().filter(|(at, _)| stands(at)).max_by_key(|(at, _)| at.len());
        behind.map(|(_, backend)| &**backend)
    }

    async fn asked(&self, request: Request<Incoming>, is_rpc: bool) -> Result<Asked, Refusal> {
        let (head, body) = request.into_parts();
        check_head(&head.headers, is_rpc && head.method == Method::POST)?;
        if let Some(coding) = head.headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            let message = format!("a body compressed as `{coding}` is not taken here; send it plain");
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message));
        }
        let body = match timeout(self.limits.sending, body::whole(body, self.limits.body)).await {
            Ok(Ok(body)) => body,
            Ok(Err(Unread::TooLarge(limit))) => {
                let message = format!(
                    "the body has more than {limit} bytes; send less, or have upstreamMessageLimit raised"
                );
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, message));
            }
            Ok(Err(broken @ Unread::Broken(_))) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, broken.to_string()));
            }
            Err(_) => {
                let message = format!("the body did not arrive within {} s", self.limits.sending.as_secs());
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST, message));
            }
        };
        if is_rpc && head.method == Method::POST {
            check_rpc(&body)?;
        }
        let principal = self.principals.of(head.uri.path(), head.uri.query(), &head.headers);
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
        Ok(Asked { method: head.method, path, query, headers: head.headers, body, principal })
    }

    /// The document of discovery at a path, and the backend that it is about: the one whose path it names, or the only
    /// one.
    fn well_known(&self, path: &str) -> Option<(&dyn Backend, WellKnown)> {
        let named = self.backends.iter().find_map(|(at, backend)| {
            let known = WellKnown::of_server(path, at)?;
            Some((&**backend, known))
        });
        named.or_else(|| match self.backends.as_slice() {
            [(_, backend)] => Some((&**backend, WellKnown::of_host(path)?)),
            _ => None,
        })
    }
}

/// Whether the next connection may be taken all the same: this one is gone, or there is no room just now.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    // 23 and 24: too many open files, in the system or here.
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

/// Refuses what browsers send of pages without asking, and what two readers may read differently.
fn check_head(headers: &HeaderMap, is_message: bool) -> Result<(), Refusal> {
    if names_two_sessions(headers) {
        let message = "the header field Mcp-Session-Id stands more than once";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message));
    }
    let is_json = |value: &HeaderValue| {
        let kind = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    };
    if is_message && !headers.get_all(CONTENT_TYPE).iter().all(is_json) {
        let message = "messages are posted as application/json; send Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message));
    }
    Ok(())
}

/// What was posted is a message, or a batch of such; the server need not see anything else.
fn check_rpc(body: &[u8]) -> Result<(), Refusal> {
    let bad = |code, why: &str| {
        let message = format!("the body is no JSON-RPC 2.0 message: {why}");
        Refusal::new(StatusCode::BAD_REQUEST, code, message)
    };
    let text = std::str::from_utf8(body).map_err(|_| bad(PARSE_ERROR, "it is not UTF-8"))?;
    match Heard::read(text) {
        Ok(_) => Ok(()),
        Err(NotRpc::Json(error)) => Err(bad(PARSE_ERROR, &error.to_string())),
        Err(error @ NotRpc::Rpc(_)) => Err(bad(INVALID_REQUEST, &error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::Pin;

    use super::*;
    use crate::front::http::Answering;

    /// Says which one it is.
    struct Named(&'static str);

    impl Backend for Named {
        fn answer(&self, _: Asked) -> Answering<'_> {
            let mut response = Response::new(body::empty());
            response.headers_mut().insert("x-name", HeaderValue::from_static(self.0));
            Box::pin(ready(response))
        }

        fn well_known(&self, _: Asked, _: WellKnown) -> Option<Answering<'_>> {
            None
        }

        fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(ready(()))
        }
    }

    fn door(paths: &[&'static str]) -> Door {
        let behind = |path: &&'static str| ((*path).to_owned(), Arc::new(Named(path)) as Arc<dyn Backend>);
        let guard = Guard::new(([127, 0, 0, 1], 1).into(), vec![], vec![]);
        Door::new(
            guard,
            Principals::new([7; 32], Vec::new()),
            Limits::default(),
            paths.iter().map(behind).collect(),
        )
    }

    #[tokio::test]
    async fn the_nearest_path_counts() {
        let check = async |paths: &[&'static str], path: &str, expect: Option<&str>| {
            let door = door(paths);
            let found = match door.behind(path) {
                Some(backend) => {
                    let asked = Asked {
                        method: Method::GET,
                        path: path.to_owned(),
                        query: None,
                        headers: HeaderMap::new(),
                        body: Vec::new(),
                        principal: door.principals.of(path, None, &HeaderMap::new()),
                    };
                    Some(backend.answer(asked).await.headers()["x-name"].to_str().map(str::to_owned))
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
