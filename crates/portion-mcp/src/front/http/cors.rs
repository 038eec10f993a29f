//! CORS: answers the preflights of browsers, and lets pages read responses.
//!
//! `origin_guard` rejects pages of origins that are not allowed before. A browser sends no credential with a preflight, so
//! it is answered before the caller is authenticated, and no backend sees it. Cookies are not allowed.

use hyper::body::Body as HttpBody;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Request, Response, StatusCode};

use crate::http::body::{self, Body};
use crate::mcp::request_headers::PARAM_HEADER_PREFIX;

/// Methods that pages may use.
const ALLOWED_METHODS: &str = "GET, POST, DELETE";
/// Header fields that pages may send: those of MCP, and credentials.
const ALLOWED_HEADERS: [&str; 11] = [
    "content-type",
    "accept",
    "authorization",
    "mcp-protocol-version",
    "mcp-session-id",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "x-api-key",
    "api-key",
    "x-auth-token",
];
/// Header fields that pages may read.
const EXPOSED_HEADERS: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";
/// Seconds for which a browser may remember the response to a preflight.
const MAX_AGE_SECONDS: &str = "3600";
/// Most fields with arguments of a tool that a preflight is allowed, and their longest name in bytes.
const MAX_PARAM_HEADERS: usize = 64;
const MAX_PARAM_NAME_BYTES: usize = 200;

/// Returns the origin of the page that sends a request; `None` if there is not exactly one.
pub(super) fn page_origin(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => Some(origin.clone()),
        _ => None,
    }
}

/// Returns the response to a preflight, without the fields of [`allow_reading`]; `None` if the request is no preflight.
pub(super) fn preflight_response<B: HttpBody>(request: &Request<B>) -> Option<Response<Body>> {
    let asks = *request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && request.body().is_end_stream();
    if !asks {
        return None;
    }
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED_METHODS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_SECONDS));
    let allowed = HeaderValue::try_from(allowed_headers(request.headers())).ok();
    headers.extend(allowed.map(|allowed| (ACCESS_CONTROL_ALLOW_HEADERS, allowed)));
    Some(response)
}

/// Lets a page of this origin read a response, unless the server has decided about that.
pub(super) fn allow_reading(headers: &mut HeaderMap, origin: HeaderValue) {
    if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    if !headers.get_all(VARY).iter().any(names_origin) {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
}

/// Returns true for a value of `Vary` by which a response depends on the origin.
fn names_origin(vary: &HeaderValue) -> bool {
    let is_origin = |name: &str| name.trim() == "*" || name.trim().eq_ignore_ascii_case("origin");
    vary.to_str().is_ok_and(|names| names.split(',').any(is_origin))
}

/// Returns the names of the fields that a page may send. Those with arguments of a tool have the names that the preflight
/// asks for.
fn allowed_headers(preflight: &HeaderMap) -> String {
    let requested = preflight.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let requested = requested.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let params = requested.map(str::trim).filter(|name| is_param_header(name)).take(MAX_PARAM_HEADERS);
    ALLOWED_HEADERS.into_iter().chain(params).collect::<Vec<_>>().join(", ")
}

/// Returns true for the name of a field with an argument of a tool.
fn is_param_header(name: &str) -> bool {
    let prefix = name.get(..PARAM_HEADER_PREFIX.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_HEADER_PREFIX))
        && name.len() <= MAX_PARAM_NAME_BYTES
        && HeaderName::try_from(name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFLIGHT: &[(&str, &str)] =
        &[("origin", "https://app.example"), ("access-control-request-method", "POST")];

    fn answer(method: &str, fields: &[(&str, &str)], content: &'static str) -> Option<Response<Body>> {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        preflight_response(&request.body(body::full(content)).expect("a request"))
    }

    #[test]
    fn a_preflight_is_told_what_pages_may_send() {
        let check = |requested: &str, expect: &str| {
            let mut fields = PREFLIGHT.to_vec();
            fields.push(("access-control-request-headers", requested));
            let response = answer("OPTIONS", &fields, "").expect("a response");
            assert_eq!(response.status(), StatusCode::NO_CONTENT);
            let field = |name: &str| response.headers()[name].to_str().expect("ASCII");
            assert_eq!(field("access-control-allow-methods"), "GET, POST, DELETE");
            assert_eq!(field("access-control-max-age"), "3600");
            let allowed = field("access-control-allow-headers");
            let rest = allowed.strip_prefix(&ALLOWED_HEADERS.join(", "));
            assert_eq!(rest, Some(expect), "{requested}");
        };
        check("", "");
        check("content-type,authorization,x-mine", "");
        check(
            "mcp-param-region, Mcp-Param-City,mcp-paramx,mcp-param-a b",
            ", mcp-param-region, Mcp-Param-City",
        );
        check(&format!("mcp-param-{}", "x".repeat(300)), "");
    }

    #[test]
    fn other_requests_are_no_preflights() {
        assert!(answer("OPTIONS", PREFLIGHT, "").is_some());
        assert!(answer("OPTIONS", PREFLIGHT, "a body").is_none());
        assert!(answer("OPTIONS", &PREFLIGHT[..1], "").is_none());
        assert!(answer("POST", PREFLIGHT, "").is_none());
    }

    #[test]
    fn one_origin_may_read_a_response() {
        let origin = HeaderValue::from_static("https://app.example");
        let mut headers = HeaderMap::from_iter([(ORIGIN, origin.clone())]);
        assert_eq!(page_origin(&headers), Some(origin.clone()));
        headers.append(ORIGIN, origin.clone());
        assert_eq!((page_origin(&headers), page_origin(&HeaderMap::new())), (None, None));
        let mut response = HeaderMap::new();
        allow_reading(&mut response, origin.clone());
        assert_eq!(response[ACCESS_CONTROL_ALLOW_ORIGIN], origin);
        assert_eq!(response[ACCESS_CONTROL_EXPOSE_HEADERS], EXPOSED_HEADERS);
        let check = |vary: &'static str, expect: &[&str]| {
            let mut response = HeaderMap::from_iter([(VARY, HeaderValue::from_static(vary))]);
            allow_reading(&mut response, origin.clone());
            assert_eq!(response.get_all(VARY).iter().collect::<Vec<_>>(), expect);
        };
        check("Accept", &["Accept", "Origin"]);
        check("accept, origin", &["accept, origin"]);
        check("*", &["*"]);
    }

    #[test]
    fn what_the_server_says_stays() {
        let any = HeaderValue::from_static("*");
        let mut response = HeaderMap::from_iter([(ACCESS_CONTROL_ALLOW_ORIGIN, any)]);
        let before = response.clone();
        allow_reading(&mut response, HeaderValue::from_static("https://app.example"));
        assert_eq!(response, before);
    }
}
