//! The dashboard as a backend. Pages are made on blocking threads, so that other requests do not wait for them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, LOCATION, SET_COOKIE,
};
use hyper::{Method, Response, StatusCode};
use portion_auth::{Authenticator, TOKEN_COOKIE};
use portion_dashboard::{Answer, Records, Site};
use portion_mcp::front::http::{Backend, InboundRequest, RequestBody, ResponseFuture};
use portion_mcp::http::body::{self, Body};
use portion_policy::upstream::decode_component;
use tokio::sync::Semaphore;

/// Largest number of pages that are made at the same time; others wait.
const MAX_CONCURRENT_PAGES: usize = 2;

/// Returns the number of records that were lost.
type LostRecordCount = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// Path of the form.
const PATH: &str = "/sign-in";

/// The form. Its style and its target are all that a browser may load.
const PAGE: &str = include_str!("sign_in.html");

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The dashboard as a backend.
pub(crate) struct DashboardBackend {
    site: Arc<Site>,
    lost_records: LostRecordCount,
    permits: Semaphore,
}

impl DashboardBackend {
    /// Creates the backend for this file; with `None`, telemetry is off. `token_price` is the price of a million tokens
    /// in US dollars.
    pub(crate) fn new(file: Option<PathBuf>, token_price: Option<f64>, lost: LostRecordCount) -> Self {
        let site = Site::new(file.map_or(Records::Off, Records::At)).with_token_price(token_price);
        Self { site: Arc::new(site), lost_records: lost, permits: Semaphore::new(MAX_CONCURRENT_PAGES) }
    }

    async fn render_page(&self, request: InboundRequest) -> Response<Body> {
        if request.method != Method::GET && request.method != Method::HEAD {
            return response(StatusCode::METHOD_NOT_ALLOWED, &[(ALLOW, "GET, HEAD")], body::empty());
        }
        let Ok(_seat) = self.permits.acquire().await else {
            return response(StatusCode::SERVICE_UNAVAILABLE, &[], body::empty());
        };
        let (site, lost) = (Arc::clone(&self.site), (self.lost_records)());
        let answer = tokio::task::spawn_blocking(move || {
            site.answer(&request.path, request.query.as_deref(), lost, SystemTime::now())
        });
        let failed = |_| response(StatusCode::INTERNAL_SERVER_ERROR, &[], body::empty());
        answer.await.map_or_else(failed, into_response)
    }
}

impl Backend for DashboardBackend {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(self.render_page(request))
    }

    fn accepts_json_rpc(&self) -> bool {
        false
    }
}

fn into_response(answer: Answer) -> Response<Body> {
    let Answer { status, headers, body } = answer;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = headers.into_iter().map(|(name, value)| (HeaderName::from_static(name), value));
    let body = body::full(match body {
        Cow::Borrowed(bytes) => bytes::Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    });
    response(status, &headers.collect::<Vec<_>>(), body)
}

/// Returns a response to the operator.
pub(crate) fn response(
    status: StatusCode,
    headers: &[(HeaderName, &'static str)],
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The dashboard behind a form for the token.
pub(crate) struct SignIn {
    pub(crate) pages: DashboardBackend,
    pub(crate) authenticator: Arc<Authenticator>,
}

impl SignIn {
    async fn answer(&self, request: InboundRequest) -> Response<Body> {
        if request.path != PATH || request.method != Method::POST {
            return page("");
        }
        let token = match &request.body {
            RequestBody::Bytes(bytes) => form_token(bytes),
            RequestBody::Messages(_) => None,
        };
        let mut headers = HeaderMap::new();
        let bearer = token.as_ref().and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        headers.extend(bearer.map(|value| (AUTHORIZATION, value)));
        let is_valid = self.authenticator.authenticate(&headers).await.is_ok();
        let cookie = token.filter(|_| is_valid).and_then(|token| {
            let cookie = format!("{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800");
            HeaderValue::from_str(&cookie).ok()
        });
        let Some(cookie) = cookie else { return page("<p role=\"alert\">The token is not valid.</p>") };
        let mut response = to_dashboard();
        response.headers_mut().insert(SET_COOKIE, cookie);
        response
    }
}

impl Backend for SignIn {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        if request.path == PATH {
            Box::pin(std::future::ready(to_dashboard()))
        } else {
            self.pages.handle(request)
        }
    }

    fn accepts_json_rpc(&self) -> bool {
        false
    }

    fn admits_stranger(&self, method: &Method, path: &str, headers: &HeaderMap) -> bool {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        path == PATH || (method == Method::GET && accepts.contains("text/html"))
    }

    fn handle_stranger(&self, request: InboundRequest) -> Option<ResponseFuture<'_>> {
        Some(Box::pin(self.answer(request)))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.pages.close()
    }
}

/// Returns the form with a message, as the response to a request without a valid token.
fn page(message: &str) -> Response<Body> {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
    ];
    response(StatusCode::UNAUTHORIZED, &headers, body::full(format!("{PAGE}{message}</html>")))
}

fn to_dashboard() -> Response<Body> {
    response(StatusCode::SEE_OTHER, &[(LOCATION, "/")], body::empty())
}

/// Returns the token of a form. A token has no characters that a cookie does not take.
fn form_token(body: &[u8]) -> Option<String> {
    let text = str::from_utf8(body).ok()?;
    let value = text.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let token = decode_component(value).trim().to_owned();
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\');
    (!token.is_empty() && token.bytes().all(is_plain)).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::form_token;

    #[test]
    fn a_form_has_a_token() {
        let check = |body: &str, expect: Option<&str>| {
            assert_eq!(form_token(body.as_bytes()).as_deref(), expect, "{body}");
        };
        check("token=abc", Some("abc"));
        check("x=1&token=a%2Bb%3D", Some("a+b="));
        check("token=a%3B%20Domain%3Dx", None);
        check("token=", None);
        check("xtoken=a", None);
    }
}
