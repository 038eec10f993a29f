//! Requests that a proxy must not forward: with the operator's credentials, or because it does not understand them.

use http::header::TRANSFER_ENCODING;
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

/// Returns true if the body of a request has a transfer coding other than `chunked`, or more than one. HTTP libraries remove
/// `chunked` once, and what they read is still coded.
///
/// ```
/// use http::HeaderMap;
/// use portion_net::forwarding::has_unknown_transfer_coding;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("transfer-encoding", "gzip, chunked".parse()?);
/// assert!(has_unknown_transfer_coding(&headers));
/// headers.insert("transfer-encoding", "Chunked".parse()?);
/// assert!(!has_unknown_transfer_coding(&headers));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn has_unknown_transfer_coding(headers: &HeaderMap) -> bool {
    let mut codings = Vec::new();
    for field in headers.get_all(TRANSFER_ENCODING) {
        let Ok(field) = field.to_str() else { return true };
        codings.extend(field.split(',').map(str::trim).filter(|coding| !coding.is_empty()));
    }
    codings.len() > 1 || codings.iter().any(|coding| !coding.eq_ignore_ascii_case("chunked"))
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderMap, HeaderValue, TRANSFER_ENCODING};

    use super::has_unknown_transfer_coding;

    #[test]
    fn only_chunked_is_a_known_transfer_coding_and_only_once() {
        let check = |fields: &[&'static [u8]], expect: bool| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_bytes(field).expect("a value"));
            }
            assert_eq!(has_unknown_transfer_coding(&headers), expect, "{fields:?}");
        };
        check(&[], false);
        check(&[b"chunked"], false);
        check(&[b" CHUNKED ,,", b""], false);
        check(&[b"chunked, chunked"], true);
        check(&[b"chunked", b"chunked"], true);
        check(&[b"gzip, chunked"], true);
        check(&[b"gzip", b"chunked"], true);
        check(&[b"chunked", b"identity, chunked"], true);
        check(&[b"chunked;q=1, chunked"], true);
        check(&[b"\xff, chunked"], true);
    }
}
