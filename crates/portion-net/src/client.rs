//! HTTP clients: the one of proxies, which keeps connections, and that of single requests.

use std::io;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error as ThisError;

pub use hyper_util::client::legacy::Error;

/// Sends requests with a body `B`, with TLS for `https` URLs. Redirects are responses like any other.
pub type Client<B> = legacy::Client<HttpsConnector<HttpConnector>, B>;

/// Most header fields of a response over HTTP/1.1. It is that of hyper, which allocates memory for each response if there
/// may be more.
pub const MAX_RESPONSE_FIELDS: usize = 100;

/// Largest head of a response, in bytes.
pub const MAX_RESPONSE_HEAD_BYTES: usize = 408 << 10;

/// Timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Lifetime of an idle connection. Servers close idle connections after as little as 5 s (Node, uvicorn); a request
/// on a connection that is being closed is lost, and a tool call must not be repeated.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Idle time before TCP keepalive probes are sent.
const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);

/// Versions of HTTP that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersions {
    /// Only HTTP/1.1.
    Http1,
    /// HTTP/2 with TLS if the server supports it, else HTTP/1.1.
    #[cfg(feature = "http2")]
    Negotiated,
    /// Only HTTP/2, also without TLS.
    #[cfg(feature = "http2")]
    Http2,
}

/// Reason that the response to a request cannot be read.
#[derive(Clone, Copy, Debug, ThisError, PartialEq, Eq)]
pub enum UnreadableHead {
    /// The head is over a limit.
    #[error(
        "its head has more than {} header fields or {} KiB",
        MAX_RESPONSE_FIELDS,
        MAX_RESPONSE_HEAD_BYTES >> 10
    )]
    TooLarge,
    /// The head is not one of HTTP/1.1.
    #[error("it is not HTTP/1.1")]
    Invalid,
}

impl UnreadableHead {
    /// Returns the reason if an error has one of these.
    pub fn of(error: &Error) -> Option<Self> {
        let hyper_errors = causes(error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
        let mut unreadable = hyper_errors.filter(|error| error.is_parse());
        unreadable.next().map(|error| if error.is_parse_too_large() { Self::TooLarge } else { Self::Invalid })
    }
}

/// Returns an error, its cause, the cause of that, and so on.
pub fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// Returns a client that keeps connections open for later requests. Root certificates are loaded only if `is_secure` is
/// set.
///
/// # Errors
/// Returns [`TlsError`] if `is_secure` is set and TLS cannot be set up.
pub fn pooled<B>(is_secure: bool, versions: HttpVersions) -> Result<Client<B>, TlsError>
where
    B: Body + Send,
    B::Data: Send,
{
    let tls = tls_config(is_secure)?;
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.set_nodelay(true);
    // Streams may be silent for hours; middleboxes drop idle connections meanwhile.
    http.set_keepalive(Some(KEEPALIVE_INTERVAL));
    http.set_keepalive_interval(Some(KEEPALIVE_INTERVAL / 4));
    http.enforce_http(false);
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let mut client = legacy::Client::builder(TokioExecutor::new());
    client.http1_max_buf_size(MAX_RESPONSE_HEAD_BYTES);
    #[cfg(feature = "http2")]
    client.http2_max_header_list_size(MAX_RESPONSE_HEAD_BYTES as u32);
    let connector = match versions {
        HttpVersions::Http1 => connector.enable_http1().wrap_connector(http),
        #[cfg(feature = "http2")]
        HttpVersions::Negotiated => connector.enable_all_versions().wrap_connector(http),
        #[cfg(feature = "http2")]
        HttpVersions::Http2 => {
            client.http2_only(true);
            connector.enable_http2().wrap_connector(http)
        }
    };
    Ok(client
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        // Sends a request again only if none of it was written.
        .retry_canceled_requests(true)
        .build(connector))
}

/// Sends a request. A connection is not used again after a response that has a body where HTTP has none (204, 304): the body
/// would be read as the next response.
///
/// # Errors
/// Returns [`Error`] if there is no response.
pub async fn send<B>(client: &Client<B>, mut request: Request<B>) -> Result<Response<Incoming>, Error>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let connection = capture_connection(&mut request);
    let response = client.request(request).await?;
    let headers = response.headers();
    let has_body = || {
        headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|size| size != "0")
    };
    if matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) && has_body() {
        connection.connection_metadata().as_ref().inspect(|connection| connection.poison());
    }
    Ok(response)
}

/// Returns a client that opens a connection for each request, and needs no task between two of them.
pub fn unpooled<B>(tls: ClientConfig) -> Client<B>
where
    B: Body + Send,
    B::Data: Send,
{
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.enforce_http(false);
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http);
    legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)
}

/// Reason that TLS cannot be set up.
#[derive(Debug, ThisError)]
pub enum TlsError {
    /// No root certificate was found. The text says why.
    #[error("no certificate authorities were found: {0}; install ca-certificates or set SSL_CERT_FILE")]
    NoRoots(String),
    /// The cryptographic provider refused the configuration.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// Returns true if a cause of an error is that the certificate of a server is not valid.
pub fn is_certificate_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        next = match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // The source of an IO error is that of its inner error.
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    false
}

/// Returns the configuration of a TLS client. Root certificates are loaded only if `is_secure` is set, because
/// loading them takes time and can fail. Without them every connection with TLS is refused.
///
/// # Errors
/// Returns [`TlsError`] if `is_secure` is set and there are no root certificates.
pub fn tls_config(is_secure: bool) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    if is_secure {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let reason = found.errors.first().map_or("none is installed".to_owned(), ToString::to_string);
            return Err(TlsError::NoRoots(reason));
        }
    }
    let provider = rustls::crypto::ring::default_provider();
    Ok(ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError::Expired;

    use super::*;

    #[test]
    fn a_certificate_error_is_found_within_io_errors() {
        let invalid = rustls::Error::InvalidCertificate(Expired);
        assert!(is_certificate_error(&invalid));
        let io_error = io::Error::other(invalid);
        assert!(is_certificate_error(&io_error));
        assert!(is_certificate_error(&io::Error::other(io_error)));
        assert!(!is_certificate_error(&rustls::Error::DecryptError));
        assert!(!is_certificate_error(&io::Error::other("invalid peer certificate")));
    }
}
