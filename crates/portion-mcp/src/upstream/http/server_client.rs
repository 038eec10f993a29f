//! Sends requests to one server and reads the responses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::http::response::Parts;
use hyper::{Method, Request, StatusCode, Uri};
use parking_lot::Mutex;
use portion_net::link_header::{display_uri, resolve, same_origin};
use portion_policy::upstream::UpstreamTarget;
use tokio::time::timeout;

use super::request_error::{ErrorStatus, RequestError, Result, single_line_excerpt};
use super::{Authorizer, EventStream, HttpClient, Rejection, ResumePoint};
use crate::http::body::{self, Body, ReadBodyError};

/// Timeout for reading the body of an error response.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Redirects that one request follows.
const MAX_REDIRECTS: usize = 3;
/// Times that one request is sent again with other credentials: after a renewal, and after a login.
const MAX_RENEWALS: usize = 2;

/// HTTP client of one server.
pub(crate) struct ServerClient {
    target: UpstreamTarget,
    client: HttpClient,
    authorizer: Option<Arc<dyn Authorizer>>,
    max_message_bytes: usize,
    /// URL of the server, after redirects.
    current_url: Mutex<Uri>,
}

/// Head and content of a response.
pub(crate) struct ServerResponse {
    pub(crate) url: Uri,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: ResponseContent,
}

/// Content of a response.
pub(crate) enum ResponseContent {
    Empty,
    Json(Vec<u8>),
    /// Body of an error response that is not JSON.
    Text(String),
    /// JSON over the limit; a lower bound of its length in bytes.
    TooLarge(u64),
    Stream(EventStream),
}

impl ServerResponse {
    /// Returns the error for an error status whose body is not a message.
    pub(crate) fn to_error_status(&self) -> ErrorStatus {
        let text = match &self.content {
            ResponseContent::Json(text) => String::from_utf8_lossy(text),
            ResponseContent::Text(text) => text.into(),
            ResponseContent::Empty | ResponseContent::TooLarge(_) | ResponseContent::Stream(_) => "".into(),
        };
        ErrorStatus::new(&self.url, self.status, &self.headers, &text)
    }
}

impl ServerClient {
    /// Creates a client that accepts messages of at most `limit` bytes.
    pub(crate) fn new(target: UpstreamTarget, client: HttpClient, limit: usize) -> Self {
        let current_url = Mutex::new(target.url().clone());
        Self { target, client, authorizer: None, max_message_bytes: limit, current_url }
    }

    /// Sets the component that has the credentials.
    pub(crate) fn with_authorizer(self, authorizer: Option<Arc<dyn Authorizer>>) -> Self {
        Self { authorizer, ..self }
    }

    /// Returns the URL of the server, after redirects.
    pub(crate) fn url(&self) -> Uri {
        self.current_url.lock().clone()
    }

    /// Posts a message to the server, or to another URL of it. An error status is not an error here.
    pub(crate) async fn post(
        &self,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        message: Bytes,
    ) -> Result<ServerResponse> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        self.send(Method::POST, elsewhere, headers, message, ResumePoint::default()).await
    }

    /// Opens a stream of events, or resumes one.
    pub(crate) async fn get(&self, mut headers: HeaderMap, resume: ResumePoint) -> Result<EventStream> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(after) = &resume.last_event_id {
            headers.insert("last-event-id", after.clone());
        }
        let response = self.send(Method::GET, None, headers, Bytes::new(), resume).await?;
        match response {
            ServerResponse { content: ResponseContent::Stream(stream), .. } => Ok(stream),
            response if response.status.is_success() => Err(RequestError::NotMcp {
                url: display_uri(&response.url),
                received: "no event stream".into(),
            }),
            response => Err(response.to_error_status().into()),
        }
    }

    /// Ends the session at the server.
    pub(crate) async fn delete(&self, headers: HeaderMap) -> Result<()> {
        self.send(Method::DELETE, None, headers, Bytes::new(), ResumePoint::default()).await.map(|_| ())
    }

    async fn send(
        &self,
        method: Method,
        elsewhere: Option<&Uri>,
        mut headers: HeaderMap,
        body: Bytes,
        resume: ResumePoint,
    ) -> Result<ServerResponse> {
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("portion/", env!("CARGO_PKG_VERSION"))));
        self.target.apply_headers(&mut headers);
        // The end of a session is not worth a login.
        let authorizer = self.authorizer.as_deref().filter(|_| method != Method::DELETE);
        if let Some(authorizer) = &self.authorizer {
            headers.extend(authorizer.authorization().await.map(|value| (AUTHORIZATION, value)));
        }
        let mut url = elsewhere.cloned().unwrap_or_else(|| self.url());
        let (mut redirects, mut renewals) = (0, 0);
        loop {
            let mut request = Request::new(body::full(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.clone();
            *request.headers_mut() = headers.clone();
            let (mut head, content) = self.client.send(request).await?.into_parts();
            // Only these two statuses keep method and body. Headers may be sent to any path of the same origin.
            if matches!(head.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
                && redirects < MAX_REDIRECTS
                && let Some(next) = self.redirect_target(&url, &head.headers)
            {
                tracing::info!(from = display_uri(&url), to = display_uri(&next), "the server has moved");
                if elsewhere.is_none() {
                    self.current_url.lock().clone_from(&next);
                }
                (url, redirects) = (next, redirects + 1);
                continue;
            }
            // The server has not processed a request that it rejected, so it can be sent again.
            if matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
                && renewals < MAX_RENEWALS
                && let Some(authorizer) = authorizer
                && let Some(renewed) = authorizer.renew(rejection(&headers, &head, renewals > 0)).await?
            {
                headers.insert(AUTHORIZATION, renewed);
                renewals += 1;
                continue;
            }
            let content = body::decode_body(&mut head.headers, content)?;
            let (status, headers) = (head.status, head.headers);
            let content = if status.is_success() {
                self.read_content(&url, status, &headers, content, resume).await?
            } else {
                read_error_content(&headers, content).await
            };
            return Ok(ServerResponse { url, status, headers, content });
        }
    }

    /// Returns the target of a redirect that is followed: it has the same origin. A token is issued for one resource, so
    /// with a token only a slash at the end of the path may differ.
    fn redirect_target(&self, url: &Uri, headers: &HeaderMap) -> Option<Uri> {
        let location = headers.get(LOCATION)?.to_str().ok()?;
        let path = |uri: &Uri| uri.path().trim_end_matches('/').to_owned();
        resolve(url, location)
            .filter(|next| same_origin(next, url))
            .filter(|next| self.authorizer.is_none() || path(next) == path(url))
    }

    async fn read_content(
        &self,
        url: &Uri,
        status: StatusCode,
        headers: &HeaderMap,
        body: Body,
        resume: ResumePoint,
    ) -> Result<ResponseContent> {
        let kind = body::media_type(headers);
        if kind == "text/event-stream" {
            return Ok(ResponseContent::Stream(EventStream::new(body, self.max_message_bytes, resume)));
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(ResponseContent::Empty);
        }
        if kind != "application/json" {
            let is_empty = matches!(body::read_all(body, 0).await, Ok(nothing) if nothing.is_empty());
            let received = match kind.as_str() {
                "" => "a body without Content-Type".to_owned(),
                kind => single_line_excerpt(kind.as_bytes()),
            };
            return if is_empty {
                Ok(ResponseContent::Empty)
            } else {
                Err(RequestError::NotMcp { url: display_uri(url), received })
            };
        }
        match body::read_all(body, self.max_message_bytes).await {
            Ok(json) => Ok(ResponseContent::Json(json)),
            Err(ReadBodyError::TooLarge(limit)) => Ok(ResponseContent::TooLarge(limit as u64 + 1)),
            Err(ReadBodyError::Truncated(broken)) => Err(broken.into()),
        }
    }
}

fn rejection(sent: &HeaderMap, head: &Parts, is_repeated: bool) -> Rejection {
    let (status, headers) = (head.status, head.headers.clone());
    Rejection { authorization: sent.get(AUTHORIZATION).cloned(), status, headers, is_repeated }
}

async fn read_error_content(headers: &HeaderMap, body: Body) -> ResponseContent {
    let read = timeout(ERROR_BODY_TIMEOUT, body::read_error(body)).await;
    let bytes = read.ok().and_then(Result::ok).unwrap_or_default();
    if body::media_type(headers) == "application/json" {
        return ResponseContent::Json(bytes);
    }
    ResponseContent::Text(String::from_utf8_lossy(&bytes).into_owned())
}
