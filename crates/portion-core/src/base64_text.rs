//! Reads the text in the base64 of a blob.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use portion_text::encoding::{Decoded, decode};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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
pub(crate) fn decode_text(digits: &str) -> Option<Base64Text> {
    let digits: String = digits.split_ascii_whitespace().collect();
    match decode(&BASE64.decode(digits).ok()?) {
        Decoded::Utf8(text, _) if text.is_empty() => None,
        Decoded::Utf8(text, invalid_count) => {
            Some(Base64Text { text: text.into_owned(), encoding: "UTF-8", invalid_count })
        }
        Decoded::Other(text, encoding, invalid_count) => Some(Base64Text { text, encoding, invalid_count }),
        Decoded::Binary(_) => None,
    }
}

/// Returns true if the beginning of base64 is that of a text.
pub(crate) fn is_text(digits: &str) -> bool {
    let sample = digits.get(..SAMPLE_DIGITS).unwrap_or(digits);
    decode_text(sample).is_some()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::{BASE64, decode_text, is_text};

    fn check(bytes: &[u8], expect: Option<(&str, &str)>) {
        let digits = BASE64.encode(bytes);
        let decoded = decode_text(&digits);
        assert_eq!(decoded.as_ref().map(|found| (found.text.as_str(), found.encoding)), expect);
        assert_eq!(is_text(&digits), expect.is_some());
    }

    #[test]
    fn texts_are_told_from_other_bytes() {
        check(b"id,name\n1,a\n", Some(("id,name\n1,a\n", "UTF-8")));
        check(b"\xff\xfeo\0k\0", Some(("ok", "UTF-16LE")));
        check(b"caf\xe9 noir", Some(("café noir", "Windows-1252")));
        check(b"%PDF-1.7 \x00\xff", None);
        check(b"", None);
        assert_eq!(decode_text("no base64!"), None);
    }
}
