//! Why a server did not do what it was asked to, in words that tell what to mend.

use std::fmt;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{StatusCode, Uri};
use thiserror::Error;

use super::Unreachable;
use super::place::{named, resolve};
use crate::http::body::Broken;
use crate::http::encoding::Unknown;

/// Characters of a server's own words that are shown.
const SHOWN: usize = 300;

/// A request that came to nothing.
#[derive(Debug, Error)]
pub enum Trouble {
    /// It was not answered.
    #[error("{0}; {advice}", advice = unreachable(.0))]
    Unreachable(#[from] Unreachable),
    /// It was answered with an error.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It was answered with something else than MCP.
    #[error(
        "{url} answered with {what}, which is neither JSON nor an event stream; check that the URL is that of the MCP server"
    )]
    Foreign {
        /// Who was asked.
        url: String,
        /// What came instead.
        what: String,
    },
    /// The answer cannot be read.
    #[error(transparent)]
    Compressed(#[from] Unknown),
    /// The answer ended before its time.
    #[error("{0}; whether the server has acted cannot be told, so look before asking again")]
    Broken(#[from] Broken),
    /// The answer ended, and the request was not answered in it.
    #[error(
        "the server's answer ended {0}; whether it has acted cannot be told, so look before asking again"
    )]
    Ended(&'static str),
    /// The session is over, and there is no new one.
    #[error("the server has ended the session, and a new one cannot be had: {0}; restart the client")]
    NoSession(Box<Trouble>),
    /// A server of 2024-11-05 that does not say where to post.
    #[error(
        "{0} opens a stream that does not begin with the place to post to; check that the URL is that of an MCP server with HTTP+SSE"
    )]
    NoEndpoint(String),
    /// One that says somewhere else.
    #[error(
        "{0} wants messages posted to another server, which is not done; give that server's own URL if you trust it"
    )]
    Elsewhere(String),
}

/// An answer with an error status.
#[derive(Clone, Debug, Error)]
pub struct Refused {
    /// Who answered.
    url: String,
    /// The status.
    pub(crate) status: StatusCode,
    /// What it said besides, as far as it can be shown.
    said: String,
    challenge: String,
    location: String,
    retry_after: String,
}

impl Trouble {
    /// The status, where there was an answer.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused(refused) => Some(refused.status),
            _ => None,
        }
    }

    /// Whether it may be better in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) | Self::Ended(_) => true,
            Self::Refused(refused) => {
                refused.status.is_server_error()
                    || matches!(refused.status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
            }
            Self::Foreign { .. }
            | Self::Compressed(_)
            | Self::NoSession(_)
            | Self::NoEndpoint(_)
            | Self::Elsewhere(_) => false,
        }
    }
}

impl Refused {
    /// Reads the head of an answer; `said` is what its body says.
    pub(crate) fn new(url: &Uri, status: StatusCode, headers: &HeaderMap, said: &str) -> Self {
        let field = |name: HeaderName| {
            let values: Vec<String> =
                headers.get_all(name).iter().map(|value| shown(value.as_bytes())).collect();
            values.join(", ")
        };
        let challenge = field(WWW_AUTHENTICATE);
        let (location, retry_after) = (place(url, &field(LOCATION)), field(RETRY_AFTER));
        let is_page = field(CONTENT_TYPE).contains("html");
        let said = if is_page { String::new() } else { shown(said.as_bytes()) };
        Self { url: named(url), status, said, challenge, location, retry_after }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered {}", self.url, self.status)?;
        if !self.said.is_empty() {
            write!(f, " ({})", self.said)?;
        }
        if !self.challenge.is_empty() {
            write!(f, ", and asks for {}", self.challenge)?;
        }
        match self.status {
            StatusCode::UNAUTHORIZED => {
                f.write_str("; prove who you are with --header 'Authorization: Bearer ${TOKEN}'")
            }
            StatusCode::FORBIDDEN => {
                f.write_str("; what is given with --header does not suffice: check the token and its scope")
            }
            status if status.is_redirection() && !self.location.is_empty() => {
                write!(f, "; it is at {}: give that as the URL if you trust it", self.location)
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                f.write_str("; check the path of the URL, which mostly ends in /mcp or /sse")
            }
            _ if !self.retry_after.is_empty() => {
                write!(f, "; try again after {}", seconds(&self.retry_after))
            }
            status if status.is_server_error() => f.write_str("; what is wrong stands in the server's log"),
            _ => Ok(()),
        }
    }
}

/// Where a `Location` leads, without the parts that may be secret.
fn place(url: &Uri, location: &str) -> String {
    let place = resolve(url, location).filter(|_| !location.is_empty()).map(|place| named(&place));
    place.unwrap_or_default().replace(char::is_control, "")
}

fn unreachable(why: &Unreachable) -> &'static str {
    if why.was_reached() {
        "whether it has acted cannot be told, so look before asking again"
    } else {
        "check the URL, and that the server runs"
    }
}

/// `Retry-After` is a number of seconds, or a date.
fn seconds(value: &str) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) { format!("{value} s") } else { value.to_owned() }
}

/// Enough of a server's words, on one line.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = text.chars().filter(|c| !c.is_control());
    let mut short: String = plain.clone().take(SHOWN).collect();
    if plain.count() > SHOWN {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderName, HeaderValue};

    use super::Refused;

    fn check(status: u16, fields: &[(&'static str, &'static str)], said: &str, expect: &[&str]) {
        let fields: HeaderMap = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let status = status.try_into().expect("a status");
        let refused =
            Refused::new(&"http://h/mcp?key=x".parse().expect("a URL"), status, &fields, said).to_string();
        for part in expect {
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn says_what_happened_and_what_to_do() {
        check(
            401,
            &[("www-authenticate", "Bearer realm=\"x\"")],
            "",
            &[
                "http://h/mcp answered 401 Unauthorized, and asks for Bearer realm=\"x\"; ",
                "--header 'Authorization: ",
            ],
        );
        check(403, &[], "Invalid\nHost", &["403 Forbidden (Invalid Host); ", "--header"]);
        check(307, &[("location", "https://h/mcp/")], "", &["it is at https://h/mcp/: "]);
        check(302, &[("location", "//u:p@x/y?token=z#f")], "", &["it is at http://x/y: "]);
        check(404, &[("content-type", "text/html")], "<html>", &["404 Not Found; check the path"]);
        check(503, &[("retry-after", "7")], "busy", &["(busy); try again after 7 s"]);
        check(500, &[], &"x".repeat(1000), &["x…); what is wrong"]);
    }
}
