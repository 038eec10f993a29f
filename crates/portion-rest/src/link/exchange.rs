//! The request of one call: credentials, redirects, retries, and the response.
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Request, StatusCode, Uri};
use portion_mcp::http::body::{self, ReadBodyError, UnsupportedEncoding};
use portion_mcp::upstream::http::NoResponse;
use portion_net::link_header::{display_uri, has_dot_segment, next_link, resolve, same_origin};
use portion_net::rate_limits::retry_after;
use thiserror::Error;
use tokio::time::timeout_at;

use super::api::RestApi;
use super::content::{Content, header_text, join, text_block};
use super::oauth::{AccessToken, TokenError, USER_AGENT_TEXT};
use super::pacing::retry_delay;
use crate::openapi::{RestRequest, Tool};

/// Retries of one call that only reads, unless the API refuses it for its rate limit.
const MAX_RETRIES: u32 = 3;
/// Redirects that one request follows.
const MAX_REDIRECTS: usize = 5;

/// Result of a call.
pub(super) enum CallResult {
    /// Content blocks as JSON, and the URL of the next page.
    Content { blocks: Vec<String>, is_error: bool, next_page: Option<String> },
    /// The response is over the limit; a lower bound of its length in bytes.
    TooLarge(u64),
}

struct RestResponse {
    url: Uri,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// Failure of a request. It contains no credentials.
#[derive(Debug, Error)]
enum ExchangeError {
    #[error(transparent)]
    NoResponse(#[from] NoResponse),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Encoding(#[from] UnsupportedEncoding),
    #[error("the response ended too early: {0}")]
    Truncated(String),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    #[error("the responses have no list in common; call once for each value")]
    NotJoined,
    #[error("the request has no valid URL: {0}")]
    InvalidUrl(String),
    #[error("nothing was sent, because the path {0} has a segment that is `.` or `..`")]
    LeadsOut(String),
}

type Outcome = Result<RestResponse, ExchangeError>;

impl CallResult {
    pub(super) fn error(text: &str) -> Self {
        Self::Content { blocks: vec![text_block(text)], is_error: true, next_page: None }
    }
}

impl ExchangeError {
    /// Returns true if a retry may succeed.
    fn is_transient(&self) -> bool {
        matches!(self, Self::NoResponse(_) | Self::Truncated(_))
    }

    /// Returns true if the API may have acted on the request.
    fn may_have_acted(&self) -> bool {
        match self {
            Self::NoResponse(error) => error.was_reached,
            Self::Truncated(_)
            | Self::TooLarge(_)
            | Self::TimedOut(_)
            | Self::Encoding(_)
            | Self::NotJoined => true,
            Self::Token(_) | Self::InvalidUrl(_) | Self::LeadsOut(_) => false,
        }
    }
}

impl RestApi {
    /// Calls a tool. The same tool can be called again with other arguments at any time.
    pub(super) async fn call(&self, tool: &Tool, arguments: &str) -> CallResult {
        let requests = match tool.requests(arguments) {
            Ok(requests) => requests,
            Err(error) => return CallResult::error(&error.to_string()),
        };
        let started = Instant::now();
        let deadline = started + self.options.timeout;
        let mut token: Option<Arc<str>> = None;
        let outcome = match requests.as_slice() {
            [request] => self.send_with_retries(tool, request, deadline, &mut token).await,
            several => self.send_each(tool, several, deadline, &mut token).await,
        };
        let status = outcome.as_ref().ok().map(|response| response.status.as_u16());
        tracing::debug!(tool = tool.name, status, ms = started.elapsed().as_millis(), "called the API");
        match outcome {
            Ok(response) => self.result_of(tool, response, token.as_deref()),
            Err(ExchangeError::TooLarge(limit)) => CallResult::TooLarge(limit as u64 + 1),
            Err(error) => {
                let advice = match (&error, tool.is_read) {
                    (error, false) if error.may_have_acted() => {
                        "; it may have acted: check before you repeat the call"
                    }
                    (ExchangeError::NoResponse(_), _) => "; try again later",
                    _ => "",
                };
                let text = format!("{} {}: {error}{advice}", tool.method, tool.path);
                CallResult::error(&self.secrets.remove(text, token.as_deref()))
            }
        }
    }

    /// Sends the requests one after the other, and joins the lists of their responses. The first error ends it. A 404 is
    /// ignored if another request succeeds.
    async fn send_each(
        &self,
        tool: &Tool,
        requests: &[RestRequest],
        deadline: Instant,
        token: &mut Option<Arc<str>>,
    ) -> Outcome {
        let (mut first, mut last_absent) = (None, None);
        let (mut texts, mut absent, mut bytes) = (Vec::new(), Vec::new(), 0);
        for request in requests {
            let mut response = self.send_with_retries(tool, request, deadline, token).await?;
            if response.status == StatusCode::NOT_FOUND {
                absent.push(request.path.clone());
                last_absent = Some(response);
                continue;
            }
            if !response.status.is_success() {
                return Ok(response);
            }
            bytes += response.body.len();
            if bytes > self.options.max_response_bytes {
                return Err(ExchangeError::TooLarge(self.options.max_response_bytes));
            }
            let body = std::mem::take(&mut response.body);
            let Content::Text(text, 0) = Content::new(&response.headers, body) else {
                return Err(ExchangeError::NotJoined);
            };
            if next_link(&response.headers).is_some() {
                return Err(ExchangeError::NotJoined);
            }
            texts.push(text);
            first.get_or_insert(response);
        }
        match (first, last_absent) {
            (Some(response), _) => {
                let body = join(&texts, &absent).ok_or(ExchangeError::NotJoined)?.into_bytes();
                Ok(RestResponse { body, ..response })
            }
            (None, Some(response)) => Ok(response),
            (None, None) => Err(ExchangeError::NotJoined),
        }
    }

    /// Sends a request; again if it only reads and the failure is transient. A request that is refused for the rate limit is
    /// repeated until the deadline.
    async fn send_with_retries(
        &self,
        tool: &Tool,
        request: &RestRequest,
        deadline: Instant,
        token: &mut Option<Arc<str>>,
    ) -> Outcome {
        let timed_out = || ExchangeError::TimedOut(self.options.timeout);
        let mut attempt = 0;
        loop {
            let sent = async {
                self.pacer.wait(deadline).await;
                self.send_authorized(request, token).await
            };
            let outcome = timeout_at(deadline.into(), sent).await.map_err(|_| timed_out())?;
            let headers = match &outcome {
                Ok(response) if is_transient(response.status) => Some(&response.headers),
                Err(error) if error.is_transient() => None,
                _ => return outcome,
            };
            let delay = retry_delay(headers, attempt);
            let is_late = Instant::now().checked_add(delay).is_none_or(|at| at >= deadline);
            let is_refused =
                outcome.as_ref().is_ok_and(|response| response.status == StatusCode::TOO_MANY_REQUESTS);
            if !tool.is_read || (attempt >= MAX_RETRIES && !is_refused) || is_late {
                return outcome;
            }
            tracing::debug!(tool = tool.name, attempt, ms = delay.as_millis(), "repeats the request");
            tokio::time::sleep(delay).await;
            attempt += 1;
        }
    }

    /// Sends a request with an access token, if the API needs one; once more if the token was rejected.
    async fn send_authorized(&self, request: &RestRequest, token: &mut Option<Arc<str>>) -> Outcome {
        let Some(tokens) = &self.tokens else { return self.send(request, None).await };
        let first = tokens.token(&self.client).await?;
        *token = Some(Arc::clone(&first.text));
        let response = self.send_with_token(request, &first).await?;
        if !rejects_token(response.status) {
            return Ok(response);
        }
        let is_certain = response.status == StatusCode::UNAUTHORIZED;
        let Some(renewed) = tokens.renewed(&self.client, &first, is_certain).await? else {
            return Ok(response);
        };
        *token = Some(Arc::clone(&renewed.text));
        self.send_with_token(request, &renewed).await
    }

    /// Sends a request with an access token; once more if the token was rejected because it is too new.
    async fn send_with_token(&self, request: &RestRequest, token: &AccessToken) -> Outcome {
        let is_new = token.time_until_accepted().is_some();
        let response = self.send(request, Some(&token.text)).await?;
        if !is_new || !rejects_token(response.status) {
            return Ok(response);
        }
        if let Some(delay) = token.time_until_accepted() {
            tokio::time::sleep(delay).await;
        }
        self.send(request, Some(&token.text)).await
    }

    /// Sends a request and follows redirects within the API's own host.
    async fn send(&self, request: &RestRequest, token: Option<&str>) -> Outcome {
        let _slot = self.slots.acquire().await;
        let mut url = self.url_of(request)?;
        let mut method = request.method;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(request, method, &url, token).await?;
            let location = response.headers.get(LOCATION).and_then(|location| location.to_str().ok());
            let next =
                location.and_then(|location| resolve(&url, location)).filter(|next| same_origin(next, &url));
            let next_method = redirected_method(response.status, method);
            match (next, next_method) {
                (Some(next), Some(next_method)) => (url, method) = (next, next_method),
                _ => return Ok(response),
            }
        }
        Err(ExchangeError::InvalidUrl("the API redirects too often".to_owned()))
    }

    async fn send_once(
        &self,
        request: &RestRequest,
        method: &'static str,
        url: &Uri,
        token: Option<&str>,
    ) -> Outcome {
        let content = request.body.as_ref().filter(|_| method == request.method);
        let bytes = content.map_or_else(body::empty, |content| body::full(content.bytes.clone()));
        let mut sent = Request::new(bytes);
        *sent.method_mut() = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        *sent.uri_mut() = url.clone();
        let headers = sent.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_TEXT));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        for (name, value) in &request.headers {
            insert_header(headers, name, value);
        }
        if let Some(content) = content {
            insert_header(headers, CONTENT_TYPE.as_str(), &content.content_type);
        }
        if let Some(mut value) = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok())
        {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.options.target.apply_headers(headers);
        let response = self.client.send(sent).await?;
        let (mut head, content) = response.into_parts();
        self.pacer.observe(head.status, &head.headers);
        let content = body::decode_body(&mut head.headers, content)?;
        let body = match body::read_all(content, self.options.max_response_bytes).await {
            Ok(body) => body,
            Err(ReadBodyError::TooLarge(limit)) => return Err(ExchangeError::TooLarge(limit)),
            Err(ReadBodyError::Truncated(error)) => {
                return Err(ExchangeError::Truncated(error.0.to_string()));
            }
        };
        Ok(RestResponse { url: url.clone(), status: head.status, headers: head.headers, body })
    }

    /// Returns the URL of a request: below the base URL, with the operator's query first.
    fn url_of(&self, request: &RestRequest) -> Result<Uri, ExchangeError> {
        let target = &self.options.target;
        // The credentials are for what is below the base URL, whatever the document or an argument says.
        if has_dot_segment(&request.path) {
            return Err(ExchangeError::LeadsOut(request.path.clone()));
        }
        let path = format!("{}{}", target.url().path().trim_end_matches('/'), request.path);
        let url = target.with_path(&path).url_with_query(Some(&request.query));
        // An invalid path or query would otherwise be replaced by that of the base URL.
        let is_whole = url.path() == path && url.query().unwrap_or_default().ends_with(&request.query);
        if is_whole { Ok(url) } else { Err(ExchangeError::InvalidUrl(display_uri(&url))) }
    }

    fn result_of(&self, tool: &Tool, response: RestResponse, token: Option<&str>) -> CallResult {
        let RestResponse { url, status, headers, body } = response;
        let status_line = format!("HTTP {status}");
        if status.is_success() && tool.method == "HEAD" {
            let text = self.secrets.remove(header_text(&status_line, &headers), token);
            return CallResult::Content { blocks: vec![text_block(&text)], is_error: false, next_page: None };
        }
        let next_page = next_link(&headers).map(|link| self.secrets.remove(link, token));
        let content = match Content::new(&headers, body) {
            Content::Text(text, replaced) => Content::Text(self.secrets.remove(text, token), replaced),
            other => other,
        };
        if status.is_success() {
            let blocks = content.into_blocks(&status_line, &display_uri(&url));
            return CallResult::Content { blocks, is_error: false, next_page };
        }
        let mut line = format!("{status_line} from {} {}", tool.method, tool.path);
        if status.is_redirection() {
            let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
            let location = location.and_then(|location| resolve(&url, location));
            let location = location.map_or_else(|| "nowhere".to_owned(), |location| display_uri(&location));
            line = format!("{line}: redirects to {location}, which is not followed");
        }
        if let Some(delay) = retry_after(&headers, SystemTime::now()) {
            line = format!("{line}; try again after {} s", delay.as_secs().max(1));
        }
        CallResult::error(&self.secrets.remove(content.into_error_text(&line), token))
    }
}

/// Returns true if the token may be the reason of a status. Some APIs answer 403 to an invalid token.
fn rejects_token(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn is_transient(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Returns the method of the request that follows a redirect; `None` if the redirect is not followed.
fn redirected_method(status: StatusCode, method: &'static str) -> Option<&'static str> {
    match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => Some(method),
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND if matches!(method, "GET" | "HEAD") => Some(method),
        StatusCode::SEE_OTHER if method == "HEAD" => Some(method),
        StatusCode::SEE_OTHER => Some("GET"),
        _ => None,
    }
}

/// Sets a header; a name or value that HTTP does not allow is an error of the document, and is left out.
fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    } else {
        tracing::warn!(name, "a header of the OpenAPI document is not valid in HTTP and is not sent");
    }
}
