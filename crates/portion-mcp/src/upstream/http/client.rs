//! HTTP client with a connection pool.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use thiserror::Error;

use portion_net::tls::{self, TlsError};

use crate::http::body::Body;

/// Timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Lifetime of an idle connection. Servers close idle connections after as little as 5 s (Node, uvicorn); a request
/// on a connection that is being closed is lost, and a tool call must not be repeated.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Idle time before TCP keepalive probes are sent.
const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);

/// Sends requests over HTTP/1.1, with TLS for `https` URLs.
#[derive(Clone)]
pub struct HttpClient {
    inner: legacy::Client<HttpsConnector<HttpConnector>, Body>,
}

/// A request without a response. It is unknown whether the server has acted on it.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct NoResponse {
    message: String,
    was_reached: bool,
}

impl NoResponse {
    /// Returns true if there was a connection, so that the server may have acted.
    pub fn was_reached(&self) -> bool {
        self.was_reached
    }
}

impl HttpClient {
    /// Creates a client. Root certificates are loaded only if `secure` (for TLS) is set.
    ///
    /// # Errors
    /// Returns [`TlsError`] if `secure` is set and no root certificates are found.
    pub fn new(secure: bool) -> Result<Self, TlsError> {
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_nodelay(true);
        // Streams may be silent for hours; middleboxes drop idle connections meanwhile.
        http.set_keepalive(Some(KEEPALIVE_INTERVAL));
        http.set_keepalive_interval(Some(KEEPALIVE_INTERVAL / 4));
        http.enforce_http(false);
        let tls = tls::client_config(secure)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            // Sends a request again only if none of it was written.
            .retry_canceled_requests(true)
            .build(connector);
        Ok(Self { inner })
    }

    /// Sends a request and returns the response as soon as its head has arrived. Dropping the future or the response
    /// closes the exchange, which the server sees.
    ///
    /// # Errors
    /// Returns [`NoResponse`] if no response came.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, NoResponse> {
        let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let sent = self.inner.request(request).await;
        sent.map_err(|error| NoResponse {
            message: describe_error(&authority, &error),
            was_reached: !error.is_connect(),
        })
    }
}

fn describe_error(authority: &str, error: &legacy::Error) -> String {
    let failure = if error.is_connect() { "cannot be reached" } else { "did not respond" };
    let mut message = format!("{authority} {failure}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
