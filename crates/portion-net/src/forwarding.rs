//! Header fields and requests that a proxy does not forward: those of one connection, those that would use the operator's
//! credentials, and those that it does not understand.

use http::header::{ACCEPT_ENCODING, CONNECTION, HeaderName, HeaderValue, TRANSFER_ENCODING};
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

/// Fields that belong to one connection (RFC 9110, 7.6.1), including those that only older software treats so.
const HOP_BY_HOP_FIELDS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Content codings that Portion decodes.
pub const SUPPORTED_ENCODINGS: [&str; 5] = ["gzip", "x-gzip", "deflate", "br", "identity"];

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

/// Removes the fields of the connection: the known hop-by-hop fields, and those that `Connection` names.
///
/// ```
/// use http::HeaderMap;
/// use http::header::{CONNECTION, HOST};
/// use portion_net::forwarding::remove_hop_by_hop;
///
/// let fields = [(HOST, "a.example"), (CONNECTION, "close")];
/// let mut fields: HeaderMap = fields.map(|(name, value)| (name, value.parse().unwrap())).into_iter().collect();
/// remove_hop_by_hop(&mut fields);
/// assert_eq!(fields.keys().collect::<Vec<_>>(), ["host"]);
/// ```
pub fn remove_hop_by_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        fields.remove(name);
    }
    for name in HOP_BY_HOP_FIELDS {
        fields.remove(name);
    }
}

/// Returns true if this is the first byte of the zlib format. `deflate` names that format, but some servers send deflate data
/// without its header.
pub fn is_zlib(first: u8) -> bool {
    first & 0x8f == 0x08
}

/// Reduces `Accept-Encoding` to the supported codings, or `identity`.
///
/// ```
/// use http::HeaderMap;
/// use http::header::ACCEPT_ENCODING;
/// use portion_net::forwarding::restrict_accept_encoding;
///
/// let mut headers = HeaderMap::from_iter([(ACCEPT_ENCODING, "zstd, gzip;q=0.5".parse().unwrap())]);
/// restrict_accept_encoding(&mut headers);
/// assert_eq!(headers[ACCEPT_ENCODING], "gzip;q=0.5");
/// ```
pub fn restrict_accept_encoding(headers: &mut HeaderMap) {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let is_supported = |coding: &&str| {
        let name = coding.split(';').next().unwrap_or_default().trim();
        SUPPORTED_ENCODINGS.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let kept: Vec<&str> =
        values.flat_map(|value| value.split(',')).map(str::trim).filter(is_supported).collect();
    let value = if kept.is_empty() { "identity".to_owned() } else { kept.join(", ") };
    if let Ok(value) = HeaderValue::from_str(&value) {
        headers.insert(ACCEPT_ENCODING, value);
    }
}

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};

    use super::{has_unknown_transfer_coding, remove_hop_by_hop, restrict_accept_encoding};

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

    fn check(fields: &[(&str, &str)], expect: &[&str]) {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        remove_hop_by_hop(&mut map);
        let remaining: Vec<&str> = map.keys().map(HeaderName::as_str).collect();
        assert_eq!(remaining, expect, "{fields:?}");
    }

    #[test]
    fn fields_of_a_connection_are_removed() {
        check(&[("Connection", "keep-alive, X-Mine"), ("X-Mine", "1"), ("X-Other", "2")], &["x-other"]);
        check(&[("TE", "trailers"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c")], &[]);
        check(
            &[("Authorization", "Bearer x"), ("Mcp-Session-Id", "1")],
            &["authorization", "mcp-session-id"],
        );
        check(&[("Connection", ", , b c"), ("A", "1")], &["a"]);
    }

    #[test]
    fn only_supported_codings_are_requested() {
        let check = |given: &[&'static str], expect: &str| {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            restrict_accept_encoding(&mut headers);
            let values: Vec<_> = headers.get_all(ACCEPT_ENCODING).iter().collect();
            assert_eq!(values, [expect], "{given:?}");
        };
        check(&["gzip, deflate, br, zstd"], "gzip, deflate, br");
        check(&["zstd", "gzip;q=0.5"], "gzip;q=0.5");
        check(&["gzip", "br"], "gzip, br");
        check(&[], "identity");
        check(&["*"], "identity");
    }
}
