//! Reads the text in the base64 of a blob.

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use portion_text::encoding::{Decoded, decode};

const BASE64: GeneralPurpose = engine(&STANDARD);
const BASE64_URL: GeneralPurpose = engine(&URL_SAFE);

const fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

/// Digits of base64 that [`is_text`] decodes, a multiple of four.
const SAMPLE_DIGITS: usize = 4 << 10;

/// A text that was encoded as base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base64Text {
    pub(crate) text: String,
    /// Encoding of its characters: `UTF-8`, `UTF-16LE`.
    pub(crate) encoding: &'static str,
    /// Number of invalid sequences that were replaced.
    pub(crate) invalid_count: usize,
}

/// Decodes the base64 of a text; `None` if it is not base64, or not of a text.
///
/// UTF-8 and UTF-16 with a byte order mark are texts. A few bytes of any kind may look like a text in another encoding, so
/// these are read only of a MIME type for texts.
pub(crate) fn decode_text(digits: &str, mime_type: &str) -> Option<Base64Text> {
    let digits: String = digits.split_ascii_whitespace().collect();
    let bytes = BASE64.decode(&digits).or_else(|_| BASE64_URL.decode(&digits)).ok()?;
    let is_certain = is_text_type(mime_type)
        || bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || std::str::from_utf8(&bytes).is_ok();
    match decode(&bytes) {
        Decoded::Binary(_) => None,
        _ if !is_certain || bytes.is_empty() => None,
        Decoded::Utf8(text, invalid_count) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
            Some(Base64Text { text, encoding: "UTF-8", invalid_count })
        }
        Decoded::Other(text, encoding, invalid_count) => Some(Base64Text { text, encoding, invalid_count }),
    }
}

/// Returns true if the beginning of base64 is that of a text.
pub(crate) fn is_text(digits: &str, mime_type: &str) -> bool {
    let Some(sample) = digits.get(..SAMPLE_DIGITS) else { return decode_text(digits, mime_type).is_some() };
    decode_text(sample, "text/plain").is_some_and(|text| {
        // A character may be cut at the end of the sample. A byte order mark is `//` or `/v` in base64.
        let is_utf8 = text.encoding == "UTF-8" && text.invalid_count < 2;
        let has_mark = sample.starts_with("//") || sample.starts_with("/v");
        is_text_type(mime_type) || is_utf8 || has_mark && text.encoding.starts_with("UTF-16")
    })
}

/// Returns true for a MIME type of texts.
fn is_text_type(mime_type: &str) -> bool {
    let name = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_named = ["json", "xml", "yaml", "csv", "javascript", "sql", "toml"]
        .iter()
        .any(|format| name.strip_suffix(format).is_some_and(|before| before.ends_with(['/', '+', '-'])));
    name.starts_with("text/") || is_named
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::{BASE64, decode_text, is_text};

    fn check(bytes: &[u8], mime: &str, expect: Option<(&str, &str)>) {
        let digits = BASE64.encode(bytes);
        let decoded = decode_text(&digits, mime);
        assert_eq!(decoded.as_ref().map(|found| (found.text.as_str(), found.encoding)), expect);
        assert_eq!(is_text(&digits, mime), expect.is_some());
    }

    #[test]
    fn texts_are_told_from_other_bytes() {
        check(b"id,name\n1,a\n", "application/octet-stream", Some(("id,name\n1,a\n", "UTF-8")));
        check(b"\xff\xfeo\0k\0", "", Some(("ok", "UTF-16LE")));
        check(b"caf\xe9 noir", "text/plain; charset=latin1", Some(("café noir", "Windows-1252")));
        check(b"[\"caf\xe9\"]", "application/ld+json", Some(("[\"café\"]", "Windows-1252")));
        check(b"caf\xe9 noir", "application/octet-stream", None);
        check(b"%PDF-1.7 \x00\xff", "application/pdf", None);
        check(b"", "text/plain", None);
        assert_eq!(decode_text("no base64!", "text/plain"), None);
        let lines = decode_text("aWQs\r\nbmFt\nZQ==", "text/csv");
        assert_eq!(lines.map(|found| found.text).as_deref(), Some("id,name"));
        let url_safe = decode_text("YT0_Pn5-", "");
        assert_eq!(url_safe.map(|found| found.text).as_deref(), Some("a=?>~~"));
        let marked = decode_text("77u/eyJhIjoxfQ==", "application/json");
        assert_eq!(marked.map(|found| found.text).as_deref(), Some("{\"a\":1}"));
    }

    #[test]
    fn a_long_text_is_recognised_by_its_beginning() {
        let digits = |text: &str| BASE64.encode(text.repeat(2_000));
        assert!(is_text(&digits("größe "), "application/octet-stream"));
        assert!(is_text(&digits("größe "), "text/csv"));
        let latin = BASE64.encode(b"caf\xe9 noir ".repeat(2_000));
        assert!(is_text(&latin, "text/plain") && !is_text(&latin, "application/octet-stream"));
        let marked = BASE64.encode([b"\xff\xfe".as_slice(), &b"o\0k\0".repeat(2_000)].concat());
        assert!(is_text(&marked, "application/octet-stream"));
        assert!(!is_text(&BASE64.encode([0x87, 0x12, 0xff, 0x03].repeat(4_000)), "application/octet-stream"));
    }
}
