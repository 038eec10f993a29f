//! HTTP client with a connection pool.

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use portion_net::client::{self, HttpVersions, UnreadableHead};
use portion_net::tls::TlsError;
use thiserror::Error;

use crate::http::body::Body;

/// Sends requests over HTTP/1.1, with TLS for `https` URLs.
#[derive(Clone)]
pub struct HttpClient {
    inner: client::Client<Body>,
}

/// A request without a response of HTTP. It is unknown whether the server has acted on it.
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
        Ok(Self { inner: client::pooled(secure, HttpVersions::Http1)? })
    }

    /// Sends a request and returns the response as soon as its head has arrived. Dropping the future or the response
    /// closes the exchange, which the server sees.
    ///
    /// # Errors
    /// Returns [`NoResponse`] if no response came.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, NoResponse> {
        let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let sent = self.inner.request(request).await;
        let response = sent.map_err(|error| NoResponse {
            message: describe_error(&authority, &error),
            was_reached: !error.is_connect(),
        })?;
        // What follows would be of another protocol, and no request asks for one.
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let message = format!("{authority} switched to another protocol (101) in place of a response");
            return Err(NoResponse { message, was_reached: true });
        }
        Ok(response)
    }
}

fn describe_error(authority: &str, error: &client::Error) -> String {
    let unreadable = UnreadableHead::of(error);
    if let Some(reason @ UnreadableHead::TooLarge) = unreadable {
        return format!("{authority} sent a response that cannot be read: {reason}");
    }
    let failure = match unreadable {
        Some(_) => "sent a response that is not HTTP/1.1",
        None if error.is_connect() => "cannot be reached",
        None => "did not respond",
    };
    let mut message = format!("{authority} {failure}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
