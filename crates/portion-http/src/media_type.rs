//! Media types of responses.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use portion_text::charset::charset_of;

/// Types whose name says JSON, and whose body is a stream of JSON values. It has no end that could be waited for.
const STREAM_TYPES: [&str; 9] = [
    "application/stream+json",
    "application/x-stream+json",
    "application/grpc+json",
    "application/grpc-web+json",
    "application/connect+json",
    "application/x-ndjson+json",
    "application/jsonl+json",
    "application/json-seq+json",
    "application/vnd.api.stream+json",
];

/// Returns the media type of a body, with its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns true for `application/json` and types that end with `+json`. Streams of JSON are no JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut parts = media_type(headers).split(';').map(|part| part.trim().to_ascii_lowercase());
    let essence = parts.next().unwrap_or_default();
    let is_stream =
        STREAM_TYPES.contains(&essence.as_str()) || parts.any(|parameter| parameter.starts_with("stream="));
    !is_stream && (essence == "application/json" || essence == "text/json" || essence.ends_with("+json"))
}

/// Says that a body is UTF-8: removes another character encoding from its media type.
pub(crate) fn set_utf8(headers: &mut HeaderMap) {
    let media_type = media_type(headers);
    if matches!(charset_of(media_type).as_str(), "utf-8" | "utf8") {
        return;
    }
    let is_charset = |part: &str| part.trim().to_ascii_lowercase().starts_with("charset=");
    let kept = media_type.split(';').filter(|part| !is_charset(part)).map(str::trim).collect::<Vec<_>>();
    if let Ok(value) = HeaderValue::from_str(&kept.join("; ")) {
        headers.insert(CONTENT_TYPE, value);
    }
}

#[cfg(test)]
mod tests {
    use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

    use super::{is_json, media_type, set_utf8};

    fn typed(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))])
    }

    #[test]
    fn streams_of_json_are_no_json() {
        for json in ["application/json", "Text/JSON", "application/problem+json; charset=utf-8"] {
            assert!(is_json(&typed(json)), "{json}");
        }
        for other in [
            "application/stream+json",
            "application/grpc+json",
            "application/connect+json",
            "application/x-ndjson",
            "application/json-seq",
            "application/json;stream=watch",
            "text/event-stream",
            "",
        ] {
            assert!(!is_json(&typed(other)), "{other}");
        }
    }

    #[test]
    fn only_another_character_encoding_is_removed() {
        let check = |given: &'static str, expect: &str| {
            let mut headers = typed(given);
            set_utf8(&mut headers);
            assert_eq!(media_type(&headers), expect);
        };
        check("application/json;charset=UTF-8", "application/json;charset=UTF-8");
        check("application/json; Charset=\"iso-8859-1\"; v=1", "application/json; v=1");
        check("application/json", "application/json");
    }
}
