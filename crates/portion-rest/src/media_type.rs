//! Media types, and payloads of HTTP bodies.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::response::Parts;
use portion_core::payload::{Block, Content, NextPage, Payload, TransportPage};
use portion_json::scan::{JsonKind, JsonReader, unescape_into};
use portion_net::link_header::next_link;
use portion_text::encoding::{charset_of, decode_as};

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

/// Structure of a body by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BodyForm {
    /// `application/json` and types that end with `+json`. Streams of JSON are none.
    Json,
    /// Text for people: plain text, Markdown, logs.
    Text,
    /// CSV, XML, HTML, YAML and the like, which browsers show or save in their own way.
    Document,
    /// Any other type.
    Other,
}

/// Returns the media type of a body, with its parameters. Of several, which clients resolve in different ways, it is JSON, or
/// else the first that can be shaped.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let values = || headers.get_all(CONTENT_TYPE).iter().filter_map(|value| value.to_str().ok());
    let types = || values().flat_map(|value| value.split(',')).map(str::trim);
    types()
        .min_by_key(|one| BodyForm::of_type(one))
        .filter(|one| BodyForm::of_type(one) != BodyForm::Other)
        .or_else(|| values().next())
        .unwrap_or_default()
}

/// Returns true if no header field names a media type, as a type and a subtype.
pub(crate) fn is_undeclared(headers: &HeaderMap) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    let essence = media_type(headers).split(';').next().unwrap_or_default().trim();
    !essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

impl BodyForm {
    /// Returns the form of a body by its header fields.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self::of_type(media_type(headers))
    }

    fn of_type(media_type: &str) -> Self {
        let mut parts = media_type.split(';').map(|part| part.trim().to_ascii_lowercase());
        let essence = parts.next().unwrap_or_default();
        let is_stream = STREAM_TYPES.contains(&essence.as_str())
            || parts.any(|parameter| parameter.starts_with("stream="));
        match essence.as_str() {
            _ if is_stream => Self::Other,
            "application/json" | "application/x-json" | "text/json" => Self::Json,
            json if json.ends_with("+json") => Self::Json,
            "text/plain" | "text/markdown" => Self::Text,
            log if log.starts_with("text/x-") => Self::Text,
            "text/html"
            | "text/xml"
            | "application/xml"
            | "text/csv"
            | "application/csv"
            | "text/tab-separated-values"
            | "text/yaml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/x-www-form-urlencoded" => Self::Document,
            xml if xml.starts_with("application/") && xml.ends_with("+xml") => Self::Document,
            _ => Self::Other,
        }
    }
}

/// Returns true for a request of a browser for a page: HTML is the first type that it accepts.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.trim_start().get(..9).is_some_and(|first| first.eq_ignore_ascii_case("text/html"))
}

/// Says that a body is UTF-8: replaces another character encoding in its media type. JSON has none; clients read text without one
/// as ISO-8859-1.
pub(crate) fn set_utf8(headers: &mut HeaderMap) {
    let media_type = media_type(headers);
    if matches!(charset_of(media_type).as_str(), "utf-8" | "utf8") {
        return;
    }
    let is_charset = |part: &str| part.trim().to_ascii_lowercase().starts_with("charset=");
    let mut kept = media_type.split(';').filter(|part| !is_charset(part)).map(str::trim).collect::<Vec<_>>();
    if kept
        .first()
        .and_then(|media_type| media_type.get(..5))
        .is_some_and(|start| start.eq_ignore_ascii_case("text/"))
    {
        kept.push("charset=utf-8");
    }
    if let Ok(value) = HeaderValue::from_str(&kept.join("; ")) {
        headers.insert(CONTENT_TYPE, value);
    }
}

/// Address of the body within a payload, and of one that is text for people.
const BODY_ADDRESS: &str = "/body";
pub(crate) const TEXT_ADDRESS: &str = "/text";

/// Bytes in which XML and HTML declare their encoding.
const DECLARATION_BYTES: usize = 1024;

/// Decodes a body as its media type says, or else, if it is no UTF-8, as its first line or its head declares: `<?xml encoding="…"?>`,
/// `<meta charset="…">`. Returns the number of invalid sequences, too.
pub(crate) fn decode_body(media_type: &str, body: &[u8]) -> (String, usize) {
    let (text, invalid) = decode_as(&charset_of(media_type), body);
    let head =
        text.get(..text.floor_char_boundary(DECLARATION_BYTES)).unwrap_or_default().to_ascii_lowercase();
    if invalid == 0
        || media_type.to_ascii_lowercase().contains("charset=")
        || !head.trim_start().starts_with('<')
    {
        return (text, invalid);
    }
    let declared = ["encoding=", "charset="].iter().find_map(|name| head.split_once(name));
    let name = declared.map(|(_, rest)| rest.trim_start_matches(['"', '\'']));
    let name = name.and_then(|rest| rest.split(['"', '\'', ' ', '>', '?', '/', ';']).next());
    name.map_or((text, invalid), |charset| decode_as(charset, body))
}

/// Returns the payload of a response. Its text is decoded as its media type says. Invalid sequences are replaced, and counted.
pub(crate) fn payload_of(body: &[u8], head: &Parts) -> Payload {
    let (text, invalid) = decode_body(media_type(&head.headers), body);
    let is_text = BodyForm::of(&head.headers) != BodyForm::Json;
    let string = if is_text { None } else { text_of_string(&text) };
    let (text, lone_surrogate_count) = string.unwrap_or((text, 0));
    let address = if is_text { TEXT_ADDRESS } else { BODY_ADDRESS };
    Payload {
        blocks: vec![Block::new(address, Content::Text(text))],
        invalid_utf8_count: invalid,
        lone_surrogate_count,
        is_error: head.status.is_client_error() || head.status.is_server_error(),
        transport_page: TransportPage {
            next: next_link(&head.headers).map(|link| NextPage::Link(link.into())),
            total: total_count(&head.headers),
        }
        .into_field(),
        ..Payload::default()
    }
}

fn total_count(headers: &HeaderMap) -> Option<u64> {
    headers.get("x-total-count")?.to_str().ok()?.trim().parse().ok()
}

/// Returns the text of a body that is one JSON string, so that it is read in lines and sentences. A string that contains
/// JSON stays one. The number is that of the lone surrogates, which are replaced.
fn text_of_string(body: &str) -> Option<(String, usize)> {
    let mut reader = JsonReader::new(body);
    let value = reader.skip().ok()?.slice(body);
    reader.expect_end().ok()?;
    if JsonKind::of_value(value) != JsonKind::String {
        return None;
    }
    let mut text = String::new();
    let lone_surrogates = unescape_into(value, &mut text);
    (!text.trim_start().starts_with(['{', '['])).then_some((text, lone_surrogates))
}

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

    use super::{BodyForm, media_type, prefers_html, set_utf8};

    fn typed(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))])
    }

    #[test]
    fn streams_of_json_are_no_json() {
        for json in ["application/json", "Text/JSON", "application/problem+json; charset=utf-8"] {
            assert_eq!(BodyForm::of(&typed(json)), BodyForm::Json, "{json}");
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
            assert_eq!(BodyForm::of(&typed(other)), BodyForm::Other, "{other}");
        }
    }

    #[test]
    fn of_several_types_the_one_that_can_be_shaped_counts() {
        let mut headers = typed("application/octet-stream");
        headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-16"));
        assert_eq!(
            (BodyForm::of(&headers), media_type(&headers)),
            (BodyForm::Json, "application/json; charset=utf-16")
        );
        set_utf8(&mut headers);
        assert_eq!(media_type(&headers), "application/json");
        for text in ["text/plain; charset=utf-8", "text/markdown", "text/x-log"] {
            assert_eq!(BodyForm::of(&typed(text)), BodyForm::Text, "{text}");
        }
    }

    #[test]
    fn documents_are_told_from_other_types() {
        let documents =
            ["text/csv; header=present", "application/atom+xml", "Text/HTML", "application/xhtml+xml"];
        for document in documents {
            assert_eq!(BodyForm::of(&typed(document)), BodyForm::Document, "{document}");
        }
        for other in ["image/svg+xml", "text/css", "text/javascript", "application/pdf", "text/vcard"] {
            assert_eq!(BodyForm::of(&typed(other)), BodyForm::Other, "{other}");
        }
    }

    #[test]
    fn browsers_prefer_html() {
        let check = |accept: &'static str, expect: bool| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(prefers_html(&headers), expect, "{accept}");
        };
        check("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true);
        check("*/*", false);
        check("application/json, text/html", false);
        check("", false);
    }

    #[test]
    fn another_character_encoding_is_replaced() {
        let check = |given: &'static str, expect: &str| {
            let mut headers = typed(given);
            set_utf8(&mut headers);
            assert_eq!(media_type(&headers), expect);
        };
        check("application/json;charset=UTF-8", "application/json;charset=UTF-8");
        check("application/json; Charset=\"iso-8859-1\"; v=1", "application/json; v=1");
        check("application/json", "application/json");
        check("text/plain; charset=ISO-8859-1", "text/plain; charset=utf-8");
    }
}

#[cfg(test)]
mod payload_tests {
    use super::{decode_body, text_of_string};

    #[test]
    fn a_document_is_decoded_as_it_declares() {
        let check = |media_type: &str, head: &str, expect: &str| {
            let body = [head.as_bytes(), b"caf\xe9"].concat();
            assert_eq!(decode_body(media_type, &body).0, format!("{head}{expect}"), "{media_type} {head}");
        };
        check("application/xml", "<?xml version='1.0' encoding='ISO-8859-1'?>", "café");
        check("text/html", "<head><META charset=\"windows-1251\">", "cafй");
        check("text/html", "<meta content='text/html; charset=latin1'/>", "café");
        check("text/xml; charset=utf-8", "<?xml encoding='ISO-8859-1'?>", "caf\u{fffd}");
        check("text/csv", "encoding=latin1,", "caf\u{fffd}");
        let valid = "<?xml encoding='ISO-8859-1'?>café";
        assert_eq!(decode_body("application/xml", valid.as_bytes()).0, valid);
    }

    #[test]
    fn a_string_is_read_as_its_text() {
        assert_eq!(text_of_string(r#" "a\nb\u00e9" "#), Some(("a\nbé".to_owned(), 0)));
        assert_eq!(text_of_string(r#""a\ud800b""#), Some(("a\u{fffd}b".to_owned(), 1)));
        for other in ["[1]", "{}", "7", "null", "\"a", "\"a\" x", r#""{\"a\":1}""#] {
            assert_eq!(text_of_string(other), None, "{other}");
        }
    }
}
