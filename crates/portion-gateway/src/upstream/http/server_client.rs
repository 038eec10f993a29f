//! Requests to one server, and what comes of each.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use tokio::time::timeout;

use super::event_stream::{EventStream, ResumePoint};
use super::request_error::{ErrorStatus, RequestError};
use super::uri::{display_uri, resolve, same_origin};
use super::{HttpClient, UpstreamTarget};
use crate::http::body::{self, Body, ReadBodyError};
use crate::http::encoding;

/// Bytes of an error's body that are read, and how long that may take.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a request follows the server to another path.
const MAX_REDIRECTS: usize = 3;

/// The way to one server.
pub(crate) struct ServerClient {
    target: UpstreamTarget,
    client: HttpClient,
    max_message_bytes: usize,
    /// Where the server is: where its URL leads, after it has moved to another path.
    current_url: Mutex<Uri>,
}

/// The head of an answer, and what is in it.
pub(crate) struct ServerResponse {
    pub(crate) url: Uri,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: ResponseContent,
}

/// What is in an answer.
pub(crate) enum ResponseContent {
    Empty,
    Json(Vec<u8>),
    /// What stands beside an error status and is no JSON.
    Text(String),
    /// JSON over the limit, of which at least so many bytes came.
    TooLarge(u64),
    Stream(EventStream),
}

impl ServerResponse {
    /// What an error status means where the body is no message.
    pub(crate) fn to_error_status(&self) -> ErrorStatus {
        let said = match &self.content {
            ResponseContent::Json(said) => String::from_utf8_lossy(said),
            ResponseContent::Text(said) => said.into(),
            ResponseContent::Empty | ResponseContent::TooLarge(_) | ResponseContent::Stream(_) => "".into(),
        };
        ErrorStatus::new(&self.url, self.status, &self.headers, &said)
    }
}

impl ServerClient {
    /// Messages have at most `limit` bytes.
    pub(crate) fn new(target: UpstreamTarget, client: HttpClient, limit: usize) -> Self {
        let at = Mutex::new(target.url().clone());
        Self { target, client, max_message_bytes: limit, current_url: at }
    }

    /// Where the server is.
    pub(crate) fn url(&self) -> Uri {
        self.current_url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Posts a message to the server, or to another place of it. An error status is an answer as well.
    pub(crate) async fn post(
        &self,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        message: Bytes,
    ) -> Result<ServerResponse, RequestError> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        self.send(Method::POST, elsewhere, headers, message, ResumePoint::default()).await
    }

    /// Asks for a stream of events, from its beginning or from where it is to be resumed.
    pub(crate) async fn get(
        &self,
        mut headers: HeaderMap,
        resume: ResumePoint,
    ) -> Result<EventStream, RequestError> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(after) = &resume.last_event_id {
            headers.insert("last-event-id", after.clone());
        }
        let answered = self.send(Method::GET, None, headers, Bytes::new(), resume).await?;
        match answered {
            ServerResponse { content: ResponseContent::Stream(stream), .. } => Ok(stream),
            answered if answered.status.is_success() => Err(RequestError::NotMcp {
                url: display_uri(&answered.url),
                received: "no event stream".into(),
            }),
            answered => Err(answered.to_error_status().into()),
        }
    }

    /// Tells the server that the session is over.
    pub(crate) async fn delete(&self, headers: HeaderMap) -> Result<(), RequestError> {
        self.send(Method::DELETE, None, headers, Bytes::new(), ResumePoint::default()).await.map(|_| ())
    }

    async fn send(
        &self,
        method: Method,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        body: Bytes,
        resume: ResumePoint,
    ) -> Result<ServerResponse, RequestError> {
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("portion/", env!("CARGO_PKG_VERSION"))));
        self.target.apply_headers(&mut headers);
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
                && moves < MAX_REDIRECTS
                && let Some(location) = head.headers.get(LOCATION).and_then(|value| value.to_str().ok())
                && let Some(next) = resolve(&url, location).filter(|next| same_origin(next, &url))
            {
                tracing::info!(from = display_uri(&url), to = display_uri(&next), "the server has moved");
                if elsewhere.is_none() {
                    self.current_url.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&next);
                }
                (url, moves) = (next, moves + 1);
                continue;
            }
            let answer = encoding::decode_body(&mut head.headers, answer)?;
            let (status, headers) = (head.status, head.headers);
            let answer = if status.is_success() {
                self.read_content(&url, status, &headers, answer, resume).await?
            } else {
                read_error_content(&headers, answer).await
            };
            return Ok(ServerResponse { url, status, headers, content: answer });
        }
    }

    async fn read_content(
        &self,
        url: &Uri,
        status: StatusCode,
        headers: &HeaderMap,
        body: Body,
        resume: ResumePoint,
    ) -> Result<ResponseContent, RequestError> {
        let kind = media_type(headers);
        if kind == "text/event-stream" {
            return Ok(ResponseContent::Stream(EventStream::new(body, self.max_message_bytes, resume)));
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(ResponseContent::Empty);
        }
        if kind != "application/json" {
            let is_empty = matches!(body::read_all(body, 0).await, Ok(nothing) if nothing.is_empty());
            let what = if kind.is_empty() { "something".to_owned() } else { kind };
            return if is_empty {
                Ok(ResponseContent::Empty)
            } else {
                Err(RequestError::NotMcp { url: display_uri(url), received: what })
            };
        }
        match body::read_all(body, self.max_message_bytes).await {
            Ok(json) => Ok(ResponseContent::Json(json)),
            Err(ReadBodyError::TooLarge(limit)) => Ok(ResponseContent::TooLarge(limit as u64 + 1)),
            Err(ReadBodyError::Truncated(broken)) => Err(broken.into()),
        }
    }
}

async fn read_error_content(headers: &HeaderMap, body: Body) -> ResponseContent {
    let read = timeout(ERROR_BODY_TIMEOUT, body::read_all(body, MAX_ERROR_BODY_BYTES)).await;
    let said = read.ok().and_then(Result::ok).unwrap_or_default();
    if media_type(headers) == "application/json" {
        return ResponseContent::Json(said);
    }
    ResponseContent::Text(String::from_utf8_lossy(&said).into_owned())
}

/// The media type of a body, without its parameters.
fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
