//! Requests to one server, and what comes of each.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use tokio::time::timeout;

use super::place::{named, resolve, same_origin};
use super::stream::{Resume, Stream};
use super::trouble::{Refused, Trouble};
use super::{Client, Target};
use crate::http::body::{self, Body, Unread};
use crate::http::encoding;

/// Bytes of an error's body that are read, and how long that may take.
const ERROR_BODY: usize = 64 << 10;
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// How often a request follows the server to another path.
const MOVES: usize = 3;

/// The way to one server.
pub(crate) struct Wire {
    target: Target,
    client: Client,
    limit: usize,
    /// Where the server is: where its URL leads, after it has moved to another path.
    at: Mutex<Uri>,
}

/// The head of an answer, and what is in it.
pub(crate) struct Answered {
    pub(crate) url: Uri,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) answer: Answer,
}

/// What is in an answer.
pub(crate) enum Answer {
    Nothing,
    Json(Vec<u8>),
    /// What stands beside an error status and is no JSON.
    Words(String),
    /// JSON over the limit, of which at least so many bytes came.
    TooLarge(u64),
    Stream(Stream),
}

impl Answered {
    /// What an error status means where the body is no message.
    pub(crate) fn refusal(&self) -> Refused {
        let said = match &self.answer {
            Answer::Json(said) => String::from_utf8_lossy(said),
            Answer::Words(said) => said.into(),
            Answer::Nothing | Answer::TooLarge(_) | Answer::Stream(_) => "".into(),
        };
        Refused::new(&self.url, self.status, &self.headers, &said)
    }
}

impl Wire {
    /// Messages have at most `limit` bytes.
    pub(crate) fn new(target: Target, client: Client, limit: usize) -> Self {
        let at = Mutex::new(target.url().clone());
        Self { target, client, limit, at }
    }

    /// Where the server is.
    pub(crate) fn url(&self) -> Uri {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Posts a message to the server, or to another place of it. An error status is an answer as well.
    pub(crate) async fn post(
        &self,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        message: Bytes,
    ) -> Result<Answered, Trouble> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        self.ask(Method::POST, elsewhere, headers, message, Resume::default()).await
    }

    /// Asks for a stream of events, from its beginning or from where it is to be resumed.
    pub(crate) async fn get(&self, mut headers: HeaderMap, resume: Resume) -> Result<Stream, Trouble> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(after) = &resume.after {
            headers.insert("last-event-id", after.clone());
        }
        let answered = self.ask(Method::GET, None, headers, Bytes::new(), resume).await?;
        match answered {
            Answered { answer: Answer::Stream(stream), .. } => Ok(stream),
            answered if answered.status.is_success() => {
                Err(Trouble::Foreign { url: named(&answered.url), what: "no event stream".into() })
            }
            answered => Err(answered.refusal().into()),
        }
    }

    /// Tells the server that the session is over.
    pub(crate) async fn delete(&self, headers: HeaderMap) -> Result<(), Trouble> {
        self.ask(Method::DELETE, None, headers, Bytes::new(), Resume::default()).await.map(|_| ())
    }

    async fn ask(
        &self,
        method: Method,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        body: Bytes,
        resume: Resume,
    ) -> Result<Answered, Trouble> {
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("portion/", env!("CARGO_PKG_VERSION"))));
        self.target.adorn(&mut headers);
        let mut url = elsewhere.cloned().unwrap_or_else(|| self.url());
        let mut moves = 0;
        loop {
            let mut request = Request::new(body::full(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.clone();
            *request.headers_mut() = headers.clone();
            let (mut head, answer) = self.client.send(request).await?.into_parts();
            // Only these two keep method and body; what is told to one path may be told to all of the same server.
            if matches!(head.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
                && moves < MOVES
                && let Some(location) = head.headers.get(LOCATION).and_then(|value| value.to_str().ok())
                && let Some(next) = resolve(&url, location).filter(|next| same_origin(next, &url))
            {
                tracing::info!(from = named(&url), to = named(&next), "the server has moved");
                if elsewhere.is_none() {
                    self.at.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&next);
                }
                (url, moves) = (next, moves + 1);
                continue;
            }
            let answer = encoding::plain(&mut head.headers, answer)?;
            let (status, headers) = (head.status, head.headers);
            let answer = if status.is_success() {
                self.read(&url, status, &headers, answer, resume).await?
            } else {
                read_error(&headers, answer).await
            };
            return Ok(Answered { url, status, headers, answer });
        }
    }

    async fn read(
        &self,
        url: &Uri,
        status: StatusCode,
        headers: &HeaderMap,
        body: Body,
        resume: Resume,
    ) -> Result<Answer, Trouble> {
        let kind = kind(headers);
        if kind == "text/event-stream" {
            return Ok(Answer::Stream(Stream::new(body, self.limit, resume)));
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(Answer::Nothing);
        }
        if kind != "application/json" {
            let is_empty = matches!(body::whole(body, 0).await, Ok(nothing) if nothing.is_empty());
            let what = if kind.is_empty() { "something".to_owned() } else { kind };
            return if is_empty {
                Ok(Answer::Nothing)
            } else {
                Err(Trouble::Foreign { url: named(url), what })
            };
        }
        match body::whole(body, self.limit).await {
            Ok(json) => Ok(Answer::Json(json)),
            Err(Unread::TooLarge(limit)) => Ok(Answer::TooLarge(limit as u64 + 1)),
            Err(Unread::Broken(broken)) => Err(broken.into()),
        }
    }
}

async fn read_error(headers: &HeaderMap, body: Body) -> Answer {
    let read = timeout(ERROR_WAIT, body::whole(body, ERROR_BODY)).await;
    let said = read.ok().and_then(Result::ok).unwrap_or_default();
    if kind(headers) == "application/json" {
        return Answer::Json(said);
    }
    Answer::Words(String::from_utf8_lossy(&said).into_owned())
}

/// The media type of a body, without its parameters.
fn kind(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
