//! Header fields of requests.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// `User-Agent` of requests; the operator's header replaces it.
pub(super) const USER_AGENT_TEXT: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// Sets a header; a name or value that HTTP does not allow is an error of the document, and is left out.
pub(super) fn insert_header(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    } else {
        tracing::warn!(name, "a header of the OpenAPI document is not valid in HTTP and is not sent");
    }
}
