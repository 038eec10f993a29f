//! The listener on loopback to which the browser is redirected after a login (RFC 8252, 7.3).

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use oauth2::url::form_urlencoded;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::oauth::http::excerpt;

/// Path of the redirect.
const PATH: &str = "/callback";
/// Time for the last page to be sent, and for the head of a request to arrive.
const LAST_PAGE_TIMEOUT: Duration = Duration::from_secs(1);
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener for one login.
pub(crate) struct CallbackListener {
    listener: TcpListener,
    port: u16,
}

/// Values that a redirect must contain.
pub(crate) struct ExpectedRedirect {
    pub(crate) state: String,
    pub(crate) issuer: String,
    /// True if the issuer must be named.
    pub(crate) requires_issuer: bool,
}

/// Reason that a redirect brought no code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum CallbackError {
    #[error("the authorization server refused: {0}")]
    Refused(String),
    #[error("the redirect comes from another authorization server, {0}, which is refused")]
    ForeignIssuer(String),
    #[error("the redirect does not name the authorization server, although its metadata promises that")]
    MissingIssuer,
    #[error("the redirect contains no code")]
    NoCode,
}

/// Meaning of a request.
#[derive(Debug, PartialEq, Eq)]
enum Redirect {
    NotFound,
    /// A redirect of another login, or of nobody: it changes nothing.
    Foreign,
    Done(Result<String, CallbackError>),
}

impl CallbackListener {
    /// Listens on a port of loopback; 0 is any free one.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(crate) fn redirect_uri(&self) -> String {
        format!("http://{}{PATH}", self.host())
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Waits for the redirect and returns its code.
    pub(crate) async fn receive(self, expected: ExpectedRedirect) -> Result<String, CallbackError> {
        let expected = Arc::new((expected, self.host()));
        let (sender, mut outcomes) = mpsc::channel(1);
        let mut connections = JoinSet::new();
        let outcome = loop {
            let (stream, _) = tokio::select! {
                Some(outcome) = outcomes.recv() => break outcome,
                accepted = accept_next(|| self.listener.accept()) => accepted,
            };
            let (expected, sender) = (Arc::clone(&expected), sender.clone());
            connections.spawn(async move {
                let service = service_fn(|request| {
                    let (expected, host) = &*expected;
                    let redirect = read_redirect(&request, expected, host);
                    let page = page_for(&redirect);
                    if let Redirect::Done(outcome) = redirect {
                        let _ = sender.try_send(outcome);
                    }
                    std::future::ready(Ok::<_, Infallible>(page))
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), service);
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the login listener failed");
                }
            });
        };
        let pages = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(LAST_PAGE_TIMEOUT, pages).await;
        outcome
    }
}

/// Accepts a connection. An error ends one connection, or passes when files are closed again.
async fn accept_next<T, F: Future<Output = io::Result<T>>>(accept: impl Fn() -> F) -> T {
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(error) => tracing::debug!(%error, "the login listener could not accept a connection"),
        }
        sleep(ACCEPT_PAUSE).await;
    }
}

/// Reads a request to the listener. `host`: the host that it must name; a page of another name that leads to this machine is
/// none of ours.
fn read_redirect<B>(request: &Request<B>, expected: &ExpectedRedirect, host: &str) -> Redirect {
    let is_for_host = request.headers().get(HOST).is_some_and(|named| named.as_bytes() == host.as_bytes());
    if !is_for_host || request.method() != Method::GET || request.uri().path() != PATH {
        return Redirect::NotFound;
    }
    let query = request.uri().query().unwrap_or_default();
    let field = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    if field("state").as_deref() != Some(&expected.state) {
        tracing::warn!("a redirect with a wrong `state` was refused");
        return Redirect::Foreign;
    }
    match field("iss") {
        Some(issuer) if issuer != expected.issuer => {
            return Redirect::Done(Err(CallbackError::ForeignIssuer(excerpt(&issuer))));
        }
        None if expected.requires_issuer => return Redirect::Done(Err(CallbackError::MissingIssuer)),
        _ => {}
    }
    if let Some(code) = field("error") {
        let description = field("error_description").map(|text| format!(": {text}")).unwrap_or_default();
        return Redirect::Done(Err(CallbackError::Refused(excerpt(&format!("{code}{description}")))));
    }
    Redirect::Done(field("code").filter(|code| !code.is_empty()).ok_or(CallbackError::NoCode))
}

/// Returns the page for the browser. It contains nothing of the request.
fn page_for(redirect: &Redirect) -> Response<Full<Bytes>> {
    let (status, text) = match redirect {
        Redirect::NotFound => (StatusCode::NOT_FOUND, "There is no such page."),
        Redirect::Foreign => {
            (StatusCode::BAD_REQUEST, "This page belongs to no login that Portion has started.")
        }
        Redirect::Done(Ok(_)) => (StatusCode::OK, "Portion has received the login. You can close this page."),
        Redirect::Done(Err(_)) => {
            (StatusCode::BAD_REQUEST, "The login has failed. The program that started it says why.")
        }
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Portion</title><p>{text}</p>\n");
    let mut response = Response::new(Full::new(Bytes::from(page)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;
    use std::io;

    use http::{Method, Request};

    use super::{CallbackError, ExpectedRedirect, Redirect, accept_next, read_redirect};

    fn check(method: &Method, target: &str, requires_issuer: bool, expect: &Redirect) {
        let expected =
            ExpectedRedirect { state: "s1".into(), issuer: "https://as.example".into(), requires_issuer };
        let request = |host: &str| {
            Request::builder().method(method).uri(target).header("Host", host).body(()).expect("a request")
        };
        let host = "127.0.0.1:7";
        assert_eq!(read_redirect(&request(host), &expected, host), *expect, "{target}");
        for other in ["127.0.0.1", "127.0.0.1:8", "evil.example:7", ""] {
            assert_eq!(read_redirect(&request(other), &expected, host), Redirect::NotFound, "{other}");
        }
    }

    #[tokio::test]
    async fn an_error_of_one_connection_does_not_end_the_login() {
        let attempts = Cell::new(0);
        let accepted = accept_next(|| {
            attempts.set(attempts.get() + 1);
            let is_aborted = attempts.get() < 3;
            ready(if is_aborted { Err(io::Error::from(io::ErrorKind::ConnectionAborted)) } else { Ok("x") })
        });
        assert_eq!((accepted.await, attempts.get()), ("x", 3));
    }

    #[test]
    fn only_the_expected_redirect_counts() {
        let get = |target: &str, requires_issuer: bool, expect: Redirect| {
            check(&Method::GET, target, requires_issuer, &expect);
        };
        get("/callback?code=c&state=s1", false, Redirect::Done(Ok("c".into())));
        get(
            "/callback?code=c%20d&state=s1&iss=https%3A%2F%2Fas.example",
            true,
            Redirect::Done(Ok("c d".into())),
        );
        get("/callback?code=c&state=s2", false, Redirect::Foreign);
        get("/callback?code=c&state=s2&state=s1", false, Redirect::Foreign);
        get("/callback?code=c", false, Redirect::Foreign);
        get("/callback?error=access_denied&state=s2", false, Redirect::Foreign);
        get("/callback/x?code=c&state=s1", false, Redirect::NotFound);
        get("/favicon.ico", false, Redirect::NotFound);
        check(&Method::POST, "/callback?code=c&state=s1", false, &Redirect::NotFound);
        let failed = |error| Redirect::Done(Err(error));
        get("/callback?code=c&state=s1", true, failed(CallbackError::MissingIssuer));
        get(
            "/callback?code=c&state=s1&iss=https://evil.example",
            false,
            failed(CallbackError::ForeignIssuer("https://evil.example".into())),
        );
        get("/callback?state=s1", false, failed(CallbackError::NoCode));
        get("/callback?state=s1&code=", false, failed(CallbackError::NoCode));
        get(
            "/callback?state=s1&error=access_denied&error_description=no",
            false,
            failed(CallbackError::Refused("access_denied: no".into())),
        );
    }
}
