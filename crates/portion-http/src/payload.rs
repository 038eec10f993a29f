//! Payloads of HTTP bodies.

use http::HeaderMap;
use http::response::Parts;
use portion_core::payload::{Block, Content, NextPage, Payload, TransportPage};
use portion_json::scan::{JsonKind, JsonReader, unescape_into};
use portion_net::link_header::next_link;
use portion_text::encoding::{charset_of, decode_as};

use crate::media_type::{BodyForm, media_type};

/// Address of the body within a payload, and of one that is text for people.
const BODY_ADDRESS: &str = "/body";
pub(crate) const TEXT_ADDRESS: &str = "/text";

/// Returns the payload of a response. Its text is decoded as its media type says. Invalid sequences are replaced, and counted.
pub(crate) fn payload_of(body: &[u8], head: &Parts) -> Payload {
    let (text, invalid) = decode_as(&charset_of(media_type(&head.headers)), body);
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
    use super::text_of_string;

    #[test]
    fn a_string_is_read_as_its_text() {
        assert_eq!(text_of_string(r#" "a\nb\u00e9" "#), Some(("a\nbé".to_owned(), 0)));
        assert_eq!(text_of_string(r#""a\ud800b""#), Some(("a\u{fffd}b".to_owned(), 1)));
        for other in ["[1]", "{}", "7", "null", "\"a", "\"a\" x", r#""{\"a\":1}""#] {
            assert_eq!(text_of_string(other), None, "{other}");
        }
    }
}
