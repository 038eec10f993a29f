//! Remembers the CORS headers of an API, for replies that its service does not make.
//!
//! A page in a browser may read a response only if its headers allow that. Replies to cursors, and errors, are made
//! without the service; they get the headers that the same endpoint sent to the same origin before.

use std::collections::HashMap;

use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Response};
use parking_lot::Mutex;

use crate::body::{Body, full};

/// Largest number of origins and endpoints that are remembered.
const MAX_ENTRIES: usize = 1024;
/// Longest origin that is remembered, in bytes.
const MAX_ORIGIN_BYTES: usize = 256;
/// Header fields of errors that pages may read, beside those of all replies.
const ERROR_HEADERS: [&str; 2] = ["WWW-Authenticate", "Retry-After"];

/// Header fields of the response to a preflight that an unverified caller gets, beside those of CORS.
const PREFLIGHT_HEADERS: [HeaderName; 3] = [ALLOW, CACHE_CONTROL, VARY];

/// Marks the preflight of a caller that is not verified, as an extension of the request. The caller gets the status and the
/// CORS headers of the response, and nothing of it is kept. A service in front of the layer that authenticates callers inserts
/// it.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedPreflight;

/// Returns true for a CORS preflight, by which a browser asks if a page may send another request.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Header fields of a response.
type Fields = Vec<(HeaderName, HeaderValue)>;

/// CORS headers by endpoint and origin.
#[derive(Debug, Default)]
pub(crate) struct CorsMemory {
    known: Mutex<HashMap<(String, HeaderValue), Fields>>,
}

impl CorsMemory {
    /// Remembers the CORS headers of a response of an endpoint to a request from this origin.
    pub(crate) fn learn(&self, endpoint: &str, origin: Option<&HeaderValue>, response: &HeaderMap) {
        let Some(origin) = origin.filter(|origin| origin.len() <= MAX_ORIGIN_BYTES) else {
            return;
        };
        let kept: Vec<_> = response
            .iter()
            .filter(|(name, _)| is_cors_header(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let key = (endpoint.to_owned(), origin.clone());
        let mut known = self.known.lock();
        if kept.is_empty() {
            known.remove(&key);
            return;
        }
        if known.len() >= MAX_ENTRIES && !known.contains_key(&key) {
            known.clear();
        }
        known.insert(key, kept);
    }

    /// Adds the remembered headers to a reply to a request of an endpoint from this origin, unless the reply has such headers.
    pub(crate) fn apply(&self, endpoint: &str, origin: Option<&HeaderValue>, response: &mut HeaderMap) {
        let Some(origin) = origin.filter(|_| !response.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN)) else {
            return;
        };
        let known = self.known.lock();
        let Some(headers) = known.get(&(endpoint.to_owned(), origin.clone())) else { return };
        for (name, value) in headers {
            response.append(name, value.clone());
        }
        response.append(VARY, HeaderValue::from_static("origin"));
        expose_own_headers(response);
    }
}

/// Lets pages read the headers of a reply that is not the service's own response, if they may read it at all.
pub(crate) fn expose_own_headers(response: &mut HeaderMap) {
    if !response.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    let names = RESPONSE_HEADERS.into_iter().map(|header| header.name).chain(ERROR_HEADERS);
    let Ok(value) = HeaderValue::try_from(names.collect::<Vec<_>>().join(", ")) else { return };
    if response.get_all(ACCESS_CONTROL_EXPOSE_HEADERS).iter().all(|given| *given != value) {
        response.append(ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

/// Returns what an unverified caller gets of the response to a preflight: the body may be for verified ones only.
pub(crate) fn bare_preflight_response<B>(response: Response<B>) -> Response<Body> {
    let (head, _) = response.into_parts();
    let mut bare = Response::new(full(""));
    *bare.status_mut() = head.status;
    for (name, value) in &head.headers {
        if is_cors_header(name) || PREFLIGHT_HEADERS.contains(name) {
            bare.headers_mut().append(name, value.clone());
        }
    }
    bare
}

/// A header field of replies.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHeader {
    /// Name.
    pub name: &'static str,
    /// Meaning, for the documentation.
    pub meaning: &'static str,
}

/// All header fields that a reply can have beside those of the API. Pages of other origins may read them.
pub const RESPONSE_HEADERS: [ResponseHeader; 9] = [
    header("Link", "`<…>; rel=\"next\"`: the URL of the next portion; absent on the last one"),
    header("X-Total-Count", "number of items of the whole list"),
    header("X-Portion-Kind", "`page`, `summary`, `chunk`, `range`, `raw`, `query` or `whole`"),
    header("X-Portion-Cursor", "cursor of the whole result, for further requests"),
    header("X-Portion-Next-Cursor", "cursor of the next portion; absent on the last one"),
    header("X-Portion-Notice", "the notice as JSON, if the body has no place for it; left out if it is long"),
    header("X-Portion-Stages", "what made the reply fit, separated by commas"),
    header("X-Portion-Upstream-Next", "next page of the API, if this reply does not end what the API sent"),
    header("X-Portion-Upstream-Total", "total of the API, if it is not that of `X-Total-Count`"),
];

fn is_cors_header(name: &HeaderName) -> bool {
    name.as_str().starts_with("access-control-")
}

const fn header(name: &'static str, meaning: &'static str) -> ResponseHeader {
    ResponseHeader { name, meaning }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, HeaderName, HeaderValue,
    };

    use super::{CorsMemory, expose_own_headers};

    #[test]
    fn headers_are_remembered_by_endpoint_and_origin() {
        let from = HeaderValue::from_static;
        let memory = CorsMemory::default();
        let mut allowed = HeaderMap::new();
        allowed.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("https://a.example"));
        allowed.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        memory.learn("GET /a", Some(&from("https://a.example")), &allowed);
        let reply = |endpoint, origin| {
            let mut headers = HeaderMap::new();
            memory.apply(endpoint, Some(&from(origin)), &mut headers);
            headers
        };
        let known = reply("GET /a", "https://a.example");
        assert_eq!(known[ACCESS_CONTROL_ALLOW_ORIGIN], "https://a.example");
        assert!(!known.contains_key(CONTENT_TYPE));
        assert!(reply("GET /a", "https://b.example").is_empty());
        assert!(reply("GET /b", "https://a.example").is_empty());
        memory.learn("GET /a", Some(&from("https://a.example")), &HeaderMap::new());
        assert!(reply("GET /a", "https://a.example").is_empty());
    }

    #[test]
    fn a_page_may_read_our_fields_beside_those_of_the_api() {
        let origin = HeaderValue::from_static("https://a.example");
        let check = |fields: &[(HeaderName, &'static str)], expect: &[&str]| {
            let memory = CorsMemory::default();
            let field =
                |(name, value): &(HeaderName, &'static str)| (name.clone(), HeaderValue::from_static(value));
            memory.learn("GET /a", Some(&origin), &fields.iter().map(field).collect());
            let mut headers = HeaderMap::new();
            memory.apply("GET /a", Some(&origin), &mut headers);
            let exposed = headers.get_all(ACCESS_CONTROL_EXPOSE_HEADERS).iter();
            let exposed: Vec<&str> = exposed.filter_map(|value| value.to_str().ok()).collect();
            assert_eq!(exposed, expect, "{fields:?}");
        };
        let own = "Link, X-Total-Count, X-Portion-Kind, X-Portion-Cursor, X-Portion-Next-Cursor, X-Portion-Notice, \
                   X-Portion-Stages, X-Portion-Upstream-Next, X-Portion-Upstream-Total, WWW-Authenticate, Retry-After";
        let allowed = (ACCESS_CONTROL_ALLOW_ORIGIN, "https://a.example");
        let exposed = (ACCESS_CONTROL_EXPOSE_HEADERS, "X-Foo");
        check(std::slice::from_ref(&allowed), &[own]);
        check(&[allowed, exposed.clone()], &["X-Foo", own]);
        check(&[exposed], &["X-Foo"]);
    }

    #[test]
    fn the_headers_of_a_reply_are_added_once() {
        let origin = HeaderValue::from_static("https://a.example");
        let memory = CorsMemory::default();
        let allowed: HeaderMap = [(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone())].into_iter().collect();
        memory.learn("GET /a", Some(&origin), &allowed);
        let mut once = HeaderMap::new();
        memory.apply("GET /a", Some(&origin), &mut once);
        let mut twice = once.clone();
        memory.apply("GET /a", Some(&origin), &mut twice);
        expose_own_headers(&mut twice);
        assert_eq!(twice, once);
    }
}
