//! Requests that may get the same response: those with the same path, query and header fields.

use std::fmt::Write as _;

use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_LENGTH, DATE, HeaderMap, HeaderName, PRAGMA, TRANSFER_ENCODING,
    VARY,
};
use http::request::Parts;
use portion_net::forwarding::remove_hop_by_hop;

use crate::paging::CONDITIONAL_FIELDS;

/// Header fields that differ between requests for the same response, apart from conditions: they name or trace one request,
/// or direct a cache.
const VOLATILE_FIELDS: [HeaderName; 16] = [
    ACCEPT_ENCODING,
    CACHE_CONTROL,
    CONTENT_LENGTH,
    DATE,
    PRAGMA,
    HeaderName::from_static("b3"),
    HeaderName::from_static("baggage"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("priority"),
    HeaderName::from_static("sentry-trace"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("x-amzn-trace-id"),
    HeaderName::from_static("x-cloud-trace-context"),
    HeaderName::from_static("x-correlation-id"),
    HeaderName::from_static("x-request-id"),
];

/// Marks a request that has a body, which need not show in its head: a body over HTTP/2 needs no length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasBody;

/// Returns true if a request has a body, on which its response may depend.
pub(crate) fn has_body(head: &Parts) -> bool {
    head.extensions.get::<HasBody>().is_some()
        || head.headers.contains_key(TRANSFER_ENCODING)
        || head.headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
}

/// Returns the header fields of a request on which its response may depend, in an order that does not depend on how they were
/// sent.
pub(crate) fn variant_of(headers: &HeaderMap) -> String {
    let mut kept = headers.clone();
    remove_hop_by_hop(&mut kept);
    for name in VOLATILE_FIELDS.iter().chain(&CONDITIONAL_FIELDS) {
        kept.remove(name);
    }
    let mut fields: Vec<_> =
        kept.keys().map(|name| (name.as_str(), kept.get_all(name).iter().collect::<Vec<_>>())).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    let mut variant = String::new();
    for (name, values) in fields {
        for value in values {
            // A value has no line break.
            let _ = write!(variant, "\n{name}:{}", value.as_bytes().escape_ascii());
        }
    }
    variant
}

/// Returns true if a request asks for a response that is not kept.
pub(crate) fn wants_fresh(headers: &HeaderMap) -> bool {
    has_token(headers, &CACHE_CONTROL, "no-cache")
        || has_token(headers, &PRAGMA, "no-cache")
        || forbids_keeping(headers)
}

/// Returns true if no later request may be answered from the response to this one.
pub(crate) fn forbids_keeping(request: &HeaderMap) -> bool {
    has_token(request, &CACHE_CONTROL, "no-store")
}

/// Returns true if a response depends on more than the request.
pub(crate) fn varies_always(response: &HeaderMap) -> bool {
    has_token(response, &VARY, "*")
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{forbids_keeping, variant_of, varies_always, wants_fresh};

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields.iter().map(field) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn only_volatile_fields_do_not_count() {
        let plain = variant_of(&headers(&[("accept", "a"), ("x-org", "1")]));
        let same = [
            ("x-org", "1"),
            ("traceparent", "00-1"),
            ("accept", "a"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
        ];
        assert_eq!(plain, variant_of(&headers(&same)));
        for other in [
            &[("accept", "a"), ("x-org", "2")][..],
            &[("accept", "a")],
            &[("accept", "a"), ("x-org", "1"), ("x-org", "1")],
        ] {
            assert_ne!(plain, variant_of(&headers(other)), "{other:?}");
        }
    }

    #[test]
    fn directives_are_read_from_every_field() {
        assert!(wants_fresh(&headers(&[("cache-control", "max-age=0, No-Cache")])));
        assert!(wants_fresh(&headers(&[("pragma", "no-cache")])));
        assert!(!wants_fresh(&headers(&[("cache-control", "max-age=5")])));
        assert!(forbids_keeping(&headers(&[("cache-control", "no-store")])));
        assert!(!forbids_keeping(&headers(&[("cache-control", "no-cache")])));
        assert!(varies_always(&headers(&[("vary", "accept"), ("vary", "*")])));
    }
}
