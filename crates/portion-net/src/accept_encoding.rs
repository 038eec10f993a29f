//! Requests only content codings that can be decoded.
//!
//! ```
//! use http::HeaderMap;
//! use http::header::ACCEPT_ENCODING;
//! use portion_net::accept_encoding::restrict_accept_encoding;
//!
//! let mut headers = HeaderMap::from_iter([(ACCEPT_ENCODING, "zstd, gzip;q=0.5".parse().unwrap())]);
//! restrict_accept_encoding(&mut headers);
//! assert_eq!(headers[ACCEPT_ENCODING], "gzip;q=0.5");
//! ```

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// Content codings that Portion decodes.
pub const SUPPORTED_ENCODINGS: [&str; 5] = ["gzip", "x-gzip", "deflate", "br", "identity"];

/// Returns true if this is the first byte of the zlib format. `deflate` names that format, but some servers send deflate data
/// without its header.
pub fn is_zlib(first: u8) -> bool {
    first & 0x8f == 0x08
}

/// Reduces `Accept-Encoding` to the supported codings, or `identity`.
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
    use http::HeaderMap;
    use http::header::{ACCEPT_ENCODING, HeaderValue};

    use super::restrict_accept_encoding;

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
