//! Connections to servers, kept for the next request.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use thiserror::Error;

use crate::http::body::Body;

/// How long a server may take to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept for the next request. Servers drop idle ones after as little as 5 s (Node,
/// uvicorn); a request on a connection that is being dropped is lost, and a call may not be repeated.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// After how long a silent connection is tried.
const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);

/// Sends requests, over HTTP/1.1 with TLS where the URL says so.
#[derive(Clone)]
pub struct HttpClient {
    inner: legacy::Client<HttpsConnector<HttpConnector>, Body>,
}

/// Why there is no client.
#[derive(Debug, Error)]
#[error(
    "no certificate authorities are known here, so that no https:// server can be trusted: {0}; install ca-certificates or set SSL_CERT_FILE"
)]
pub struct HttpClientError(String);

/// A request that got no answer. Whether the server has acted on it cannot be told.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct NoResponse {
    message: String,
    was_reached: bool,
}

impl NoResponse {
    /// Whether there was a connection, so that the server may have acted.
    pub fn was_reached(&self) -> bool {
        self.was_reached
    }
}

impl HttpClient {
    /// A client. Certificates are looked for only where there is TLS to be spoken: `secure`.
    ///
    /// # Errors
    /// [`HttpClientError`] where TLS is wanted and nobody can be trusted.
    pub fn new(secure: bool) -> Result<Self, HttpClientError> {
        let mut roots = rustls::RootCertStore::empty();
        if secure {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let why = found.errors.first().map_or("none is installed".to_owned(), ToString::to_string);
                return Err(HttpClientError(why));
            }
        }
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_nodelay(true);
        // Streams may be silent for hours; whoever is between us may forget them meanwhile.
        http.set_keepalive(Some(KEEPALIVE_INTERVAL));
        http.set_keepalive_interval(Some(KEEPALIVE_INTERVAL / 4));
        http.enforce_http(false);
        let provider = rustls::crypto::ring::default_provider();
        let tls = rustls::ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .map_err(|error| HttpClientError(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            // Only what was never written is sent again.
            .retry_canceled_requests(true)
            .build(connector);
        Ok(Self { inner })
    }

    /// Sends a request, and returns the answer as soon as its head is there. Dropping either ends the exchange,
    /// which tells the server.
    ///
    /// # Errors
    /// [`NoResponse`] where no answer came.
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
    let did = if error.is_connect() { "cannot be reached" } else { "gave no answer" };
    let mut said = format!("{authority} {did}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}
