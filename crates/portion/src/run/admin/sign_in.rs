//! The page on which a person signs in to the dashboard. The token becomes a cookie that scripts cannot read, and that no
//! other site sends.

use std::pin::Pin;
use std::sync::Arc;

use hyper::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue,
    LOCATION, SET_COOKIE,
};
use hyper::{Method, Response, StatusCode};
use portion_auth::{Authenticator, TOKEN_COOKIE};
use portion_mcp::front::http::{Backend, InboundRequest, RequestBody, ResponseFuture};
use portion_mcp::http::body::{self, Body};
use portion_policy::query_string::decode_component;

use crate::run::dashboard::{DashboardBackend, response};

/// Path of the form.
const PATH: &str = "/sign-in";
/// The form. Its style and its target are all that a browser may load.
const PAGE: &str = include_str!("sign_in.html");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The dashboard behind a form for the token.
pub(super) struct SignIn {
    pub(super) pages: DashboardBackend,
    pub(super) authenticator: Arc<Authenticator>,
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
