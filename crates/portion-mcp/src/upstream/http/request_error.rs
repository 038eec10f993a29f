//! Errors of requests to a server, with messages that say what to fix.

use std::fmt;

use hyper::header::{
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{StatusCode, Uri};
use portion_net::link_header::{display_uri, resolve};
use portion_text::display::is_printable;
use thiserror::Error;

use super::{AuthorizationError, NoResponse};
use crate::http::body::{TruncatedBody, UnsupportedEncoding};

/// Characters of a server's error text that are shown.
const MAX_BODY_TEXT_CHARS: usize = 300;

/// Result of a request.
pub(crate) type Result<T, E = RequestError> = std::result::Result<T, E>;

/// Failure of a request.
#[derive(Debug, Error)]
pub enum RequestError {
    /// No response.
    #[error("{0}; {advice}", advice = no_response_advice(.0))]
    NoResponse(#[from] NoResponse),
    /// A response with an error status.
    #[error(transparent)]
    ErrorStatus(#[from] ErrorStatus),
    /// The server requires a login.
    #[error(transparent)]
    Unauthorized(#[from] AuthorizationError),
    /// A response that is not MCP.
    #[error(
        "{url} returned {received}, which is neither JSON nor an event stream; check that the URL is that of the MCP server"
    )]
    NotMcp {
        /// URL of the request.
        url: String,
        /// Media type received instead.
        received: String,
    },
    /// A response with an unsupported content encoding.
    #[error(transparent)]
    UnsupportedEncoding(#[from] UnsupportedEncoding),
    /// A response whose body was truncated.
    #[error("{0}; the server may have acted; check before you repeat the call")]
    Truncated(#[from] TruncatedBody),
    /// A complete response without an answer to the request.
    #[error("the response ended {0}; it may have acted; check before you repeat the call")]
    MissingAnswer(&'static str),
    /// The session has ended, and a new one could not be started.
    #[error("the server ended the session, and a new one failed: {0}; restart the client")]
    SessionLost(Box<RequestError>),
    /// A server of 2024-11-05 that does not name the endpoint for posts.
    #[error(
        "{0} opens a stream without an endpoint event; check that the URL is that of an MCP server with HTTP+SSE"
    )]
    NoEndpoint(String),
    /// A server of 2024-11-05 that names an endpoint on another server.
    #[error(
        "{0} names an endpoint on another server, which is refused; use that server's URL if you trust it"
    )]
    ForeignEndpoint(String),
}

/// Response with an error status.
#[derive(Clone, Debug, Error)]
pub struct ErrorStatus {
    /// URL of the request.
    url: String,
    /// HTTP status.
    pub(crate) status: StatusCode,
    /// Excerpt of the body, if it can be shown.
    body_text: String,
    challenge: String,
    location: String,
    retry_after: String,
}

impl RequestError {
    /// Returns the status of the response, if it was an error status.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::ErrorStatus(refused) => Some(refused.status),
            _ => None,
        }
    }

    /// Returns true if a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::NoResponse(_) | Self::Truncated(_) | Self::MissingAnswer(_) => true,
            Self::ErrorStatus(refused) => {
                refused.status.is_server_error()
                    || matches!(refused.status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
            }
            Self::NotMcp { .. }
            | Self::Unauthorized(_)
            | Self::UnsupportedEncoding(_)
            | Self::SessionLost(_)
            | Self::NoEndpoint(_)
            | Self::ForeignEndpoint(_) => false,
        }
    }
}

impl ErrorStatus {
    /// Reads the head of a response; `body` is its body as text.
    pub(crate) fn new(url: &Uri, status: StatusCode, headers: &HeaderMap, body: &str) -> Self {
        let field = |name: HeaderName| {
            let values: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
            single_line_excerpt(&values.join(&b", "[..]))
        };
        let challenge = field(WWW_AUTHENTICATE);
        let (location, retry_after) = (display_location(url, &field(LOCATION)), field(RETRY_AFTER));
        let is_page = field(CONTENT_TYPE).contains("html");
        let body = if is_page { String::new() } else { single_line_excerpt(body.as_bytes()) };
        Self { url: display_uri(url), status, body_text: body, challenge, location, retry_after }
    }
}

impl fmt::Display for ErrorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} returned {}", self.url, self.status)?;
        if !self.body_text.is_empty() {
            write!(f, " ({})", self.body_text)?;
        }
        if !self.challenge.is_empty() {
            write!(f, " and requires {}", self.challenge)?;
        }
        match self.status {
            StatusCode::UNAUTHORIZED => {
                f.write_str("; authenticate with --header 'Authorization: Bearer ${TOKEN}'")
            }
            StatusCode::FORBIDDEN => f.write_str("; check the token of --header and its scope"),
            status if status.is_redirection() && !self.location.is_empty() => {
                write!(f, "; it moved to {}: use that URL if you trust it", self.location)
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                f.write_str("; check the path of the URL, usually /mcp or /sse")
            }
            _ if !self.retry_after.is_empty() => {
                write!(f, "; try again after {}", display_retry_after(&self.retry_after))
            }
            status if status.is_server_error() => f.write_str("; see the server's log"),
            _ => Ok(()),
        }
    }
}

/// Resolves a `Location` and removes the parts that may be secret.
fn display_location(url: &Uri, location: &str) -> String {
    let target = resolve(url, location).filter(|_| !location.is_empty()).map(|target| display_uri(&target));
    target.unwrap_or_default().replace(char::is_control, "")
}

fn no_response_advice(error: &NoResponse) -> &'static str {
    if error.was_reached {
        "it may have acted; check before you repeat the call"
    } else {
        "check the URL and that the server runs"
    }
}

/// Adds the unit if `Retry-After` is a number of seconds; it may also be a date.
fn display_retry_after(value: &str) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) { format!("{value} s") } else { value.to_owned() }
}

/// Returns the beginning of a server's text, on one line.
pub(super) fn single_line_excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = text.chars().filter(|c| is_printable(*c));
    let mut short: String = plain.clone().take(MAX_BODY_TEXT_CHARS).collect();
    if plain.count() > MAX_BODY_TEXT_CHARS {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderName, HeaderValue};

    use super::ErrorStatus;

    fn check(status: u16, fields: &[(&'static str, &'static str)], body: &str, expect: &[&str]) {
        let fields: HeaderMap = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let status = status.try_into().expect("a status");
        let refused = ErrorStatus::new(&"http://h/mcp?key=x".parse().expect("a URL"), status, &fields, body)
            .to_string();
        for part in expect {
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn a_message_says_what_happened_and_what_to_do() {
        check(
            401,
            &[("www-authenticate", "Bearer realm=\"x\"")],
            "",
            &[
                "http://h/mcp returned 401 Unauthorized and requires Bearer realm=\"x\"; ",
                "--header 'Authorization: ",
            ],
        );
        check(403, &[], "Invalid\nHost", &["403 Forbidden (Invalid Host); ", "--header"]);
        check(307, &[("location", "https://h/mcp/")], "", &["it moved to https://h/mcp/: "]);
        check(302, &[("location", "//u:p@x/y?token=z#f")], "", &["it moved to http://x/y: "]);
        check(404, &[("content-type", "text/html")], "<html>", &["404 Not Found; check the path"]);
        check(404, &[], "n\u{202e}o\u{7}", &["404 Not Found (no)"]);
        check(503, &[("retry-after", "7")], "busy", &["(busy); try again after 7 s"]);
        check(500, &[], &"x".repeat(1000), &["x…); see the server"]);
    }
}
