//! Access tokens by OAuth 2.0 client credentials (RFC 6749, 4.4).

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use parking_lot::Mutex;
use portion_mcp::http::body;
use portion_mcp::once::SharedAttempt;
use portion_mcp::upstream::http::HttpClient;
use portion_net::link_header::display_uri;
use portion_policy::upstream::UpstreamTarget;
use portion_text::display::is_printable;
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

use crate::openapi::percent;

/// `User-Agent` of requests; the operator's header replaces it.
pub(super) const USER_AGENT_TEXT: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// Timeout of a request for a token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest response of a token endpoint, in bytes.
const MAX_TOKEN_RESPONSE_BYTES: usize = 64 << 10;
/// A token is renewed this long before it expires, or after nine tenths of its lifetime.
const RENEWAL_MARGIN: Duration = Duration::from_mins(1);
/// Age at which every API accepts a token. Some accept it only a second after they returned it.
const ACCEPTED_AGE: Duration = Duration::from_millis(1_200);
/// Least time between two renewals after a 403, which may also mean that the client has too few rights.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(1);
/// Longest lifetime of a token that is believed.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 365);

/// Credentials of a client.
#[derive(Clone)]
pub struct ClientCredentials {
    /// URL of the token endpoint, and headers of requests to it.
    pub token_url: UpstreamTarget,
    /// Id of the client.
    pub client_id: String,
    /// Secret of the client.
    pub client_secret: String,
    /// Scope, if the API needs one.
    pub scope: Option<String>,
}

/// Reason that there is no access token. It contains no credentials.
#[derive(Clone, Debug, Error)]
pub(super) enum TokenError {
    #[error("no access token: {0}")]
    NoResponse(String),
    #[error("no access token: {url} returned {status}{detail}; check the client id and secret")]
    Refused { url: String, status: StatusCode, detail: String },
    #[error(
        "no access token: the response of {0} has no `access_token`; check the URL of the token endpoint"
    )]
    NoToken(String),
}

/// Keeps a token until it expires.
pub(super) struct TokenSource {
    credentials: ClientCredentials,
    state: Arc<Mutex<TokenState>>,
    requesting: SharedAttempt<Result<AccessToken, TokenError>>,
}

#[derive(Default)]
struct TokenState {
    current: Option<AccessToken>,
    /// Time of the last renewal after a 403.
    forbidden_at: Option<Instant>,
}

/// An access token.
#[derive(Clone)]
pub(super) struct AccessToken {
    pub(super) text: Arc<str>,
    issued_at: Instant,
    renew_at: Option<Instant>,
}

impl AccessToken {
    /// Returns how long the API may still reject the token because it is new.
    pub(super) fn time_until_accepted(&self) -> Option<Duration> {
        ACCEPTED_AGE.checked_sub(self.issued_at.elapsed()).filter(|left| !left.is_zero())
    }

    fn is_current(&self) -> bool {
        self.renew_at.is_none_or(|at| Instant::now() < at)
    }
}

impl TokenSource {
    pub(super) fn new(credentials: ClientCredentials) -> Self {
        Self { credentials, state: Arc::default(), requesting: SharedAttempt::default() }
    }

    /// Returns the token; requests a new one if there is none, or it expires soon. Concurrent calls share one request.
    pub(super) async fn token(&self, client: &HttpClient) -> Result<AccessToken, TokenError> {
        let token = self.state.lock().current_token();
        match token {
            Some(token) => Ok(token),
            None => self.request(client).await,
        }
    }

    /// Returns another token than the `rejected` one. `is_certain`: the token was the reason of the rejection; otherwise
    /// a new one is requested at most once a minute, and the result is `None` before.
    pub(super) async fn renewed(
        &self,
        client: &HttpClient,
        rejected: &AccessToken,
        is_certain: bool,
    ) -> Result<Option<AccessToken>, TokenError> {
        {
            let mut state = self.state.lock();
            if let Some(token) = state.current_token().filter(|token| token.text != rejected.text) {
                return Ok(Some(token));
            }
            if !is_certain {
                if state.forbidden_at.is_some_and(|at| at.elapsed() < FORBIDDEN_PAUSE) {
                    return Ok(None);
                }
                state.forbidden_at = Some(Instant::now());
            }
            state.current = None;
        }
        self.request(client).await.map(Some)
    }

    async fn request(&self, client: &HttpClient) -> Result<AccessToken, TokenError> {
        let request = || {
            let (credentials, client, state) =
                (self.credentials.clone(), client.clone(), Arc::clone(&self.state));
            async move {
                // Another request may have ended after the caller looked for the token.
                let token = state.lock().current_token();
                if let Some(token) = token {
                    return Ok(token);
                }
                let token = credentials.request_within(TOKEN_TIMEOUT, &client).await?;
                state.lock().current = Some(token.clone());
                Ok(token)
            }
        };
        let failed = || TokenError::NoResponse("the request for it failed".to_owned());
        self.requesting.join_or_start(request).await.unwrap_or_else(|| Err(failed()))
    }
}

impl TokenState {
    fn current_token(&self) -> Option<AccessToken> {
        self.current.clone().filter(AccessToken::is_current)
    }
}

impl ClientCredentials {
    async fn request_within(&self, limit: Duration, client: &HttpClient) -> Result<AccessToken, TokenError> {
        timeout(limit, self.request(client)).await.unwrap_or_else(|_| {
            let url = display_uri(self.token_url.url());
            Err(TokenError::NoResponse(format!("{url} sent no response within {} s", limit.as_secs())))
        })
    }

    async fn request(&self, client: &HttpClient) -> Result<AccessToken, TokenError> {
        let url = display_uri(self.token_url.url());
        let failed = |error: &dyn std::fmt::Display| TokenError::NoResponse(format!("{url}: {error}"));
        let mut fields = vec![
            ("grant_type", "client_credentials"),
            ("client_id", self.client_id.as_str()),
            ("client_secret", self.client_secret.as_str()),
        ];
        fields.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", percent::encode(value))).collect();
        let mut request = Request::new(body::full(form.join("&")));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.token_url.url().clone();
        let headers: &mut HeaderMap = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_TEXT));
        self.token_url.apply_headers(headers);
        let requested_at = Instant::now();
        let response = client.send(request).await.map_err(|error| failed(&error))?;
        let (mut head, content) = response.into_parts();
        let content = body::decode_body(&mut head.headers, content).map_err(|error| failed(&error))?;
        let content =
            body::read_all(content, MAX_TOKEN_RESPONSE_BYTES).await.map_err(|error| failed(&error))?;
        let response: Value = serde_json::from_slice(&content).unwrap_or_default();
        if !head.status.is_success() {
            return Err(TokenError::Refused { url, status: head.status, detail: self.detail(&response) });
        }
        let token =
            response.get("access_token").and_then(Value::as_str).filter(|token| is_header_text(token));
        let text = token.ok_or(TokenError::NoToken(url))?.into();
        let renew_at = lifetime(&response).and_then(|lifetime| requested_at.checked_add(lifetime));
        Ok(AccessToken { text, issued_at: Instant::now(), renew_at })
    }

    /// Returns the error code of a response, never with the secret.
    fn detail(&self, response: &Value) -> String {
        let text = |name: &str| response.get(name).and_then(Value::as_str);
        let Some(code) = text("error").or_else(|| text("message")) else { return String::new() };
        let code: String = code.chars().filter(|c| is_printable(*c)).take(200).collect();
        format!(" ({})", code.replace(&self.client_secret, "[credential removed]"))
    }
}

/// Returns how long a token is used. Some endpoints send the number as text.
fn lifetime(response: &Value) -> Option<Duration> {
    let field = response.get("expires_in")?;
    let seconds = field.as_f64().or_else(|| field.as_str()?.trim().parse().ok())?;
    let lifetime = Duration::try_from_secs_f64(seconds).ok()?.min(MAX_LIFETIME);
    Some(lifetime.saturating_sub(RENEWAL_MARGIN).max(lifetime * 9 / 10))
}

fn is_header_text(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| (b'!'..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::mpsc;
    use std::task::Poll;
    use std::thread;

    use portion_policy::upstream::UpstreamTarget;
    use serde_json::json;

    use super::{
        ClientCredentials, HttpClient, MAX_LIFETIME, RENEWAL_MARGIN, TokenError, TokenSource, lifetime,
    };

    #[tokio::test]
    async fn calls_that_wait_share_a_request_that_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/token", listener.local_addr().expect("an address"));
        let (count, (release, released)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Relaxed);
                let _ = stream.read(&mut [0; 4096]);
                let _ = released.recv();
                let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
            }
        });
        let source = TokenSource::new(ClientCredentials {
            token_url: UpstreamTarget::new(&url).expect("a URL"),
            client_id: "id".into(),
            client_secret: "secret".into(),
            scope: None,
        });
        let client = HttpClient::new(false).expect("no TLS");
        let mut calls: Vec<_> = (0..5).map(|_| Box::pin(source.token(&client))).collect();
        for call in &mut calls {
            let polled = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
        }
        drop(release);
        for call in calls {
            assert!(matches!(call.await, Err(TokenError::Refused { .. })));
        }
        assert_eq!(count.load(Relaxed), 1);
    }

    #[test]
    fn lifetimes_are_read() {
        let check = |response: serde_json::Value, expect: Option<u64>| {
            assert_eq!(lifetime(&response).map(|time| time.as_secs()), expect, "{response}");
        };
        check(json!({"expires_in": 3600}), Some(3540));
        check(json!({"expires_in": "100"}), Some(90));
        check(json!({"expires_in": 0}), Some(0));
        check(json!({"expires_in": -1}), None);
        check(json!({"expires_in": 1e300}), None);
        check(json!({"expires_in": 1.8e19}), Some(MAX_LIFETIME.as_secs() - RENEWAL_MARGIN.as_secs()));
        check(json!({}), None);
    }
}
