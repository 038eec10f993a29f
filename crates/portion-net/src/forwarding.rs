//! Requests that a proxy must not forward with the operator's credentials.

use http::{HeaderMap, Method};

/// Headers that override path or method of the request at some servers. The operator's credentials are for the path and the
/// method that the proxy has checked.
const OVERRIDE_HEADERS: [&str; 5] =
    ["x-original-url", "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override"];

/// Removes the headers that override path or method of a request.
///
/// ```
/// use http::HeaderMap;
/// use portion_net::forwarding::remove_override_headers;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-http-method-override", "DELETE".parse()?);
/// remove_override_headers(&mut headers);
/// assert!(headers.is_empty());
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn remove_override_headers(headers: &mut HeaderMap) {
    for name in OVERRIDE_HEADERS {
        headers.remove(name);
    }
}

/// Returns true for methods that make a server echo the request, and thus the operator's credentials.
///
/// ```
/// use http::Method;
/// use portion_net::forwarding::echoes_request;
///
/// assert!(echoes_request(&Method::TRACE) && !echoes_request(&Method::GET));
/// ```
pub fn echoes_request(method: &Method) -> bool {
    ["TRACE", "TRACK", "CONNECT"].iter().any(|name| method.as_str().eq_ignore_ascii_case(name))
}
