//! One exchange with the collector at a time, for threads that may wait.
//!
//! The threads of the SDK are no tasks: a client that needs somebody else's runtime would never be answered there. This one
//! has a runtime of its own and is otherwise made of what the gateway speaks HTTP with, rather than bring a second one.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};

use crate::desk::Desk;

/// Bytes of an answer that are read: it says little more than that all is well.
const ANSWER: usize = 1 << 20;

/// Sends to one URL.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: Runtime,
    inner: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    desk: Arc<Desk>,
}

/// Why there is no client.
#[derive(Debug, Error)]
pub(crate) enum NoClient {
    /// The system gives no more of what one needs.
    #[error("no connection can be made: {0}")]
    Runtime(#[from] std::io::Error),
    /// No version of TLS can be spoken.
    #[error("TLS cannot be spoken: {0}")]
    Tls(#[from] rustls::Error),
    /// Nobody can be trusted.
    #[error("no certificate authorities are known here; install ca-certificates or set SSL_CERT_FILE")]
    NoRoots,
}

#[derive(Debug, Error)]
#[error("no answer within {0:?}")]
struct TooLate(Duration);

impl Client {
    /// A client for that URL. Certificates are looked for only where there is TLS to be spoken.
    pub(crate) fn new(endpoint: &str, timeout: Duration, desk: Arc<Desk>) -> Result<Self, NoClient> {
        let mut roots = rustls::RootCertStore::empty();
        if endpoint.starts_with("https:") {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(NoClient::NoRoots);
            }
        }
        let provider = rustls::crypto::ring::default_provider();
        let tls = rustls::ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        // Nobody looks after a connection between two exchanges, so none is kept.
        let inner = legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, inner, timeout, desk })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.inner.request(request.map(Full::new)).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let within = self.timeout;
        let exchange = async {
            let late = |_| TooLate(within);
            tokio::time::timeout(within, self.exchange(request)).await.map_err(late)?
        };
        let error = match self.runtime.block_on(exchange) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        self.desk.silent(why(&*error));
        if self.desk.is_closing() {
            // The SDK would try again, and somebody waits for the end.
            let mut given_up = Response::new(Bytes::new());
            *given_up.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(given_up);
        }
        Err(error)
    }
}

/// All that is known of an error.
fn why(error: &(dyn Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}
