//! From a connection to a backend.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::intake::{self, Budget, Share, Unread};
use super::limits::Limits;
use super::principal::{Principals, names_two_sessions};
use super::refusal::{Refusal, error};
use super::running::{Run, Running};
use super::seats::{Seat, Seats};
use super::wire::{Owed, Wire};
use super::{Answering, Asked, Backend, Guard, WellKnown};
use crate::frame::without_byte_order_mark;
use crate::http::body::{self, Body};
use crate::latch::Latch;
use crate::mcp::code::{BUSY, INVALID_REQUEST, PARSE_ERROR};
use crate::mcp::{Heard, NotRpc, asking_for_whole};

/// How long backends and connections may take to end, once nothing runs any more or may.
const LEAVING: Duration = Duration::from_millis(1950);
/// How long what still runs then has for an answer of its backend, before it gets one of ours.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Seconds after which a client that was sent away should try again.
const RETRY: u16 = 1;
/// How long a listener rests that cannot take a connection.
const REST: Duration = Duration::from_millis(20);
/// By which a program asks for the result of a call whole.
const WHOLE: &str = "x-portion-whole";

/// The paths that are served, and who may ask.
pub struct Door {
    guard: Guard,
    principals: Principals,
    limits: Limits,
    /// A path, and what stands behind it; one that ends in `/` is for all paths below it, too.
    backends: Vec<(String, Arc<dyn Backend>)>,
    budget: Budget,
    running: Running,
    /// Set once requests are only finished, and once connections are closed.
    draining: Latch,
    closing: Latch,
}

/// A request that was let in, with what it holds until it is answered.
struct Admitted {
    asked: Asked,
    _share: Share,
    /// `None`: the end of the listener need not wait for its answer.
    run: Option<Run>,
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
        let budget = Budget::new(limits.bodies);
        let (running, draining, closing) = (Running::default(), Latch::default(), Latch::default());
        Self { guard, principals, limits, backends, budget, running, draining, closing }
    }

    /// Serves until `leave` is set. Then it refuses new requests, gives those that run [`Limits::drain`] to finish, and ends
    /// its backends.
    ///
    /// # Errors
    /// Where the listener fails for good.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, leave: Arc<Latch>) -> io::Result<()> {
        let seats = Seats::new(self.limits.seats(), self.limits.reserve);
        let mut drained = pin!(self.drained(&leave));
        let left = loop {
            let accepted = tokio::select! {
                () = drained.as_mut() => break Ok(()),
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => match seats.take() {
                    Some(seat) => {
                        let door = Arc::clone(&self);
                        tokio::spawn(async move { door.connection(stream, seat).await });
                    }
                    None => turn_away(&stream),
                },
                Err(error) if is_exhausted(&error) => {
                    // Room is made for the next one, and this one takes what was kept back for it.
                    tracing::warn!(%error, "no descriptors are left: connections that are idle are closed");
                    seats.evict_some();
                    if !seats.spend() {
                        sleep(REST).await;
                        seats.refill();
                    }
                }
                Err(error) if is_passing(&error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    sleep(REST).await;
                }
                Err(error) => break Err(error),
            }
        };
        self.draining.set();
        self.closing.set();
        let ended = async {
            tokio::join!(join_all(self.backends.iter().map(|(_, backend)| backend.close())), seats.empty());
        };
        let _ = timeout(LEAVING, ended).await;
        left
    }

    /// Waits until the listener is to end and nothing runs any more, or may.
    async fn drained(&self, leave: &Latch) {
        leave.wait().await;
        self.draining.set();
        let running = self.running.count();
        if running > 0 {
            tracing::info!(running, "new requests are refused, those that run are finished");
        }
        if timeout(self.limits.drain, self.running.none()).await.is_err() {
            let (running, seconds) = (self.running.count(), self.limits.drain.as_secs());
            tracing::warn!(running, "requests that did not finish within {seconds} s are given up");
        }
    }

    async fn connection(&self, stream: TcpStream, seat: Seat) {
        if let Err(why) = self.converse(stream, &seat).await {
            tracing::debug!(why, "a connection ended");
        }
        // The socket is closed by now.
        seat.refill();
    }

    /// Serves the requests of a connection until it ends.
    async fn converse(&self, stream: TcpStream, seat: &Seat) -> Result<(), String> {
        let _ = stream.set_nodelay(true);
        let (owed, pace) = (Owed::default(), seat.pace.clone());
        let service = service_fn(|request| {
            owed.take();
            let answer = pace.asked();
            async {
                let mut response = self.request(request).await;
                if self.draining.is_set() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response.map(|body| body::holding(body, answer)))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .max_buf_size(self.limits.head.max(8 << 10))
            .serve_connection(Wire::new(TokioIo::new(stream), &owed, &pace), service);
        let mut connection = pin!(connection);
        let (mut overdue, mut closing) = (pin!(pace.overdue(&self.limits)), pin!(self.closing.wait()));
        let mut is_closing = false;
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => break ended.map_err(|error| error.to_string()),
                () = overdue.as_mut() => break Err("the client was idle, or slow".to_owned()),
                () = pace.evicted() => break Err("it made room for another".to_owned()),
                () = closing.as_mut(), if !is_closing => {
                    is_closing = true;
                    pace.end();
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    async fn request(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(stranger) = self.guard.check(request.uri(), request.headers()) {
            tracing::warn!(%stranger, "turned a request away");
            return Refusal::new(StatusCode::FORBIDDEN, INVALID_REQUEST, stranger.to_string()).into();
        }
        if let Some(backend) = self.behind(request.uri().path()) {
            return match self.admit(request, backend.speaks_rpc()).await {
                Ok(admitted) => self.answered(admitted, |asked| Some(backend.answer(asked))).await,
                Err(refusal) => refusal.into(),
            };
        }
        if let Some((backend, question)) = self.well_known(request.uri().path())
            && matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        {
            return match self.admit(request, false).await {
                Ok(admitted) => self.answered(admitted, |asked| backend.well_known(asked, question)).await,
                Err(refusal) => refusal.into(),
            };
        }
        self.nothing_here()
    }

    fn nothing_here(&self) -> Response<Body> {
        let paths: Vec<&str> = self.backends.iter().map(|(at, _)| at.as_str()).collect();
        let message = format!("nothing is served at this path; served: {}", paths.join(", "));
        Refusal::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).into()
    }

    /// The backend's answer, or ours where it has none by the time that everything ends.
    async fn answered<'a>(
        &self,
        admitted: Admitted,
        answer: impl FnOnce(Asked) -> Option<Answering<'a>>,
    ) -> Response<Body> {
        let Admitted { asked, _share, run } = admitted;
        let Some(answering) = answer(asked) else { return self.nothing_here() };
        let given_up = async {
            self.closing.wait().await;
            sleep(LAST_WORDS).await;
        };
        let response = tokio::select! {
            biased;
            response = answering => response,
            () = given_up => {
                let message = "the gateway ended before the server answered; the call may have acted";
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, BUSY, message).retry_after(RETRY).into()
            }
        };
        response.map(|body| body::holding(body, run))
    }

    /// What stands behind a path.
    fn behind(&self, path: &str) -> Option<&dyn Backend> {
        let stands = |at: &str| at == path || (at.ends_with('/') && path.starts_with(at));
        // The path itself is longer than all that it is below.
        let behind = self.backends.iter().filter(|(at, _)| stands(at)).max_by_key(|(at, _)| at.len());
        behind.map(|(_, backend)| &**backend)
    }

    async fn admit(&self, request: Request<Incoming>, is_rpc: bool) -> Result<Admitted, Refusal> {
        let (mut head, body) = request.into_parts();
        check_head(&head.headers, is_rpc && head.method == Method::POST)?;
        if let Some(coding) = head.headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            let message = format!("a body compressed as `{coding}` is not taken here; send it plain");
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message));
        }
        let (mut body, share) =
            intake::whole(body, &self.limits, &self.budget).await.map_err(|why| unread(&why))?;
        if is_rpc {
            without_byte_order_mark(&mut body);
        }
        let is_message = is_rpc && head.method == Method::POST;
        let posted = is_message.then(|| check_rpc(&body)).transpose()?;
        // A header of ours, which no server is to see.
        let asks_for_whole = head.headers.remove(WHOLE).is_some_and(|value| value.as_bytes() == b"true");
        if asks_for_whole && posted.is_some() {
            let asking = std::str::from_utf8(&body).ok().and_then(asking_for_whole);
            body = asking.map_or(body, String::into_bytes);
        }
        // What belongs to requests that run may come: their cancellation, an answer that they wait for, the session's end.
        let belongs = posted.map_or(head.method == Method::DELETE, |posted| posted == Posted::NoRequest);
        if self.draining.is_set() && !belongs {
            let message = "the gateway is about to end and takes no new requests; try again in a moment";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, BUSY, message).retry_after(RETRY));
        }
        let run = (posted == Some(Posted::Request)).then(|| self.running.begin());
        let principal = self.principals.of(head.uri.path(), head.uri.query(), &head.headers);
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
        let asked = Asked { method: head.method, path, query, headers: head.headers, body, principal };
        Ok(Admitted { asked, _share: share, run })
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

/// Whether the next connection may be taken all the same: this one is gone.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

/// Whether there are too many open files, in the system or here.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// Says that every connection is busy, as far as that can be said without waiting.
fn turn_away(stream: &TcpStream) {
    tracing::warn!("a connection was turned away: all others are busy");
    let message = "all connections are busy; try again in a moment";
    let body = error("null", BUSY, message);
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let length = body.len();
    let _ = stream.try_write(
        format!("{head}\r\nretry-after: {RETRY}\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes(),
    );
}

fn unread(why: &Unread) -> Refusal {
    let (status, code) = match why {
        Unread::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST),
        Unread::Broken(_) => (StatusCode::BAD_REQUEST, INVALID_REQUEST),
        Unread::Slow { .. } => (StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST),
        Unread::NoRoom(_) => (StatusCode::SERVICE_UNAVAILABLE, BUSY),
    };
    let refusal = Refusal::new(status, code, why.to_string());
    if status == StatusCode::SERVICE_UNAVAILABLE { refusal.retry_after(RETRY) } else { refusal }
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

/// What was posted, as far as the end of the listener depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posted {
    /// A request whose answer has an end.
    Request,
    /// A request for what the server says from now on.
    Subscription,
    /// Notifications or answers.
    NoRequest,
}

/// What was posted is a message, or a batch of such; the server need not see anything else.
fn check_rpc(body: &[u8]) -> Result<Posted, Refusal> {
    let bad = |code, why: &str| {
        let message = format!("the body is no JSON-RPC 2.0 message: {why}");
        Refusal::new(StatusCode::BAD_REQUEST, code, message)
    };
    let text = std::str::from_utf8(body).map_err(|_| bad(PARSE_ERROR, "it is not UTF-8"))?;
    let heard = Heard::read(text).map_err(|why| match why {
        NotRpc::Json(error) => bad(PARSE_ERROR, &error.to_string()),
        NotRpc::Rpc(_) | NotRpc::Batch => bad(INVALID_REQUEST, &why.to_string()),
    })?;
    let mut requests = heard.requests();
    Ok(match requests.next() {
        None => Posted::NoRequest,
        Some(request) if request.method() == "subscriptions/listen" => Posted::Subscription,
        Some(_) => Posted::Request,
    })
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
