//! Requests to authorization servers: bounded in time and size, and without redirects.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use oauth2::url::Url;
use portion_net::client::{self, Client, TlsError};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

/// Timeout of a request with its response.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Largest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 256 << 10;
/// Revision that discovery requests declare, as 2025-03-26 recommends.
const PROTOCOL_VERSION: &str = "2025-06-18";

/// Most characters of a text of a server that are shown.
const MAX_EXCERPT_CHARS: usize = 300;

/// HTTP client for authorization servers.
#[derive(Default)]
pub struct OAuthHttp {
    client: OnceLock<Client<Full<Bytes>>>,
}

/// Reason that there is no response.
#[derive(Debug, Error)]
pub enum HttpError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server cannot be reached.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// URL without its query.
        url: String,
        /// Cause of the failure.
        reason: String,
    },
    /// No response in time.
    #[error("{0} did not respond within {seconds} s", seconds = TIMEOUT.as_secs())]
    TimedOut(String),
    /// The response is too large, or was cut off.
    #[error("the response of {0} is too large or incomplete")]
    Body(String),
}

/// Result of a request for a document.
pub(crate) enum Fetched {
    Document(Value),
    /// There is no such document at this URL.
    Absent,
    /// The server failed; nothing follows for the document.
    Failed(StatusCode),
}

impl OAuthHttp {
    fn client(&self) -> Result<&Client<Full<Bytes>>, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Without root certificates, plain http on loopback still works, and https says why it does not.
        let tls = client::tls_config(true).or_else(|error| match error {
            TlsError::NoRoots(_) => client::tls_config(false),
            TlsError::Setup(_) => Err(error),
        })?;
        Ok(self.client.get_or_init(|| client::unpooled(tls)))
    }

    /// Sends a request and reads the whole response. A redirect is a response like any other.
    ///
    /// # Errors
    /// Returns [`HttpError`] if there is no complete response.
    pub(crate) async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, HttpError> {
        let url = display_url(&request.uri().to_string());
        let exchange = async {
            let response = self.respond(request, &url).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
            let body = body.map_err(|_| HttpError::Body(url.clone()))?.to_bytes();
            Ok(Response::from_parts(head, body.to_vec()))
        };
        timeout(TIMEOUT, exchange).await.unwrap_or_else(|_| Err(HttpError::TimedOut(url.clone())))
    }

    /// Fetches a JSON document.
    ///
    /// # Errors
    /// Returns [`HttpError`] if there is no complete response.
    pub(crate) async fn fetch(&self, url: &Url) -> Result<Fetched, HttpError> {
        let mut request = Request::new(Vec::new());
        *request.uri_mut() = uri(url)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.headers_mut().insert("mcp-protocol-version", HeaderValue::from_static(PROTOCOL_VERSION));
        let response = self.send(request).await?;
        let status = response.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Ok(Fetched::Failed(status));
        }
        // Some servers answer every path with a page.
        let document = Some(response).filter(|_| status == StatusCode::OK);
        let document = document.and_then(|response| serde_json::from_slice(response.body()).ok());
        Ok(document.filter(Value::is_object).map_or(Fetched::Absent, Fetched::Document))
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// Returns [`HttpError`] if there is no complete response.
    pub(crate) async fn post_json(&self, url: &Url, body: Vec<u8>) -> Result<Response<Vec<u8>>, HttpError> {
        self.send(json_request(url, "application/json", body)?).await
    }

    /// Posts JSON to an MCP server and returns the response without its body, which may be an endless stream.
    ///
    /// # Errors
    /// Returns [`HttpError`] if there is no response.
    pub(crate) async fn post_message(&self, url: &Url, body: Vec<u8>) -> Result<Response<()>, HttpError> {
        let request = json_request(url, "application/json, text/event-stream", body)?;
        let url = display_url(url.as_str());
        let response = timeout(TIMEOUT, self.respond(request, &url)).await;
        response.unwrap_or_else(|_| Err(HttpError::TimedOut(url.clone()))).map(|response| response.map(drop))
    }

    /// Sends a request and returns the response as soon as its head has arrived.
    async fn respond(&self, request: Request<Vec<u8>>, url: &str) -> Result<Response<Incoming>, HttpError> {
        let mut request = request.map(|body| Full::new(Bytes::from(body)));
        let agent = HeaderValue::from_static(concat!("portion/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(USER_AGENT, agent);
        self.client()?
            .request(request)
            .await
            .map_err(|error| HttpError::Unreachable { url: url.to_owned(), reason: innermost(&error) })
    }
}

fn json_request(url: &Url, accept: &'static str, body: Vec<u8>) -> Result<Request<Vec<u8>>, HttpError> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri(url)?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    Ok(request)
}

fn uri(url: &Url) -> Result<http::Uri, HttpError> {
    url.as_str().parse().map_err(|_| HttpError::Unreachable {
        url: display_url(url.as_str()),
        reason: "the URL is not valid".into(),
    })
}

fn display_url(url: &str) -> String {
    excerpt(url.split(['?', '#']).next().unwrap_or_default())
}

/// Returns the cause that says most.
fn innermost(error: &client::Error) -> String {
    client::causes(error).last().map(|cause| excerpt(&cause.to_string())).unwrap_or_default()
}

/// Returns a text of a server on one line, cut with `…` if it is long.
pub(crate) fn excerpt(text: &str) -> String {
    let mut chars = text.chars().map(|c| if is_shown(c) { c } else { ' ' });
    let mut excerpt: String = chars.by_ref().take(MAX_EXCERPT_CHARS).collect();
    if chars.next().is_some() {
        excerpt.pop();
        excerpt.push('…');
    }
    excerpt
}

/// Returns false for control characters, line separators, and characters that change the direction of text.
fn is_shown(c: char) -> bool {
    let changes_layout =
        matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !changes_layout
}

#[cfg(test)]
mod tests {
    use super::{MAX_EXCERPT_CHARS, excerpt};

    #[test]
    fn excerpts_are_short_and_on_one_line() {
        let check = |text: &str, expect: &str| assert_eq!(excerpt(text), expect, "{text:?}");
        check("é: no", "é: no");
        check("a\r\nb\u{1b}[2J\u{85}\u{2028}\u{202e}c", "a  b [2J   c");
        let longest = "é".repeat(MAX_EXCERPT_CHARS);
        check(&longest, &longest);
        check(&format!("{longest}x"), &format!("{}…", "é".repeat(MAX_EXCERPT_CHARS - 1)));
    }
}
