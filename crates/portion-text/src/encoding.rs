//! Recognises the encoding of bytes that should be text.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

use crate::charset::{decode_standard, decode_utf16};

/// Bytes at the beginning that are inspected.
const SAMPLE_BYTES: usize = 64 << 10;
/// Beginnings of binary formats.
const SIGNATURES: [(&[u8], &str); 16] = [
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive, or a document of an office program"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
];

/// Text of bytes, and the encoding that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// UTF-8. Invalid sequences are replaced by U+FFFD, and counted.
    Utf8(Cow<'a, str>, usize),
    /// Text in another encoding, with its name. Invalid sequences are replaced by U+FFFD, and counted.
    Other(String, &'static str, usize),
    /// No text, with the name of its format if that is known.
    Binary(Option<&'static str>),
}

/// Decodes bytes: UTF-8, UTF-16 with a byte order mark or with zeros in every other byte, or Windows-1252.
///
/// ```
/// use portion_text::encoding::{Decoded, decode};
///
/// assert_eq!(decode(b"caf\xe9"), Decoded::Other("café".to_owned(), "Windows-1252", 0));
/// assert_eq!(decode(b"\xff\xfeo\0k\0"), Decoded::Other("ok".to_owned(), "UTF-16LE", 0));
/// assert_eq!(decode(b"%PDF-1.7 \x00\xff"), Decoded::Binary(Some("a PDF document")));
/// ```
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    let utf16 = |body: &[u8], name: &'static str| {
        let (text, invalid_count) = decode_utf16(name == "UTF-16BE", body);
        Decoded::Other(text, name, invalid_count)
    };
    match bytes {
        [0xff, 0xfe, body @ ..] => return utf16(body, "UTF-16LE"),
        [0xfe, 0xff, body @ ..] => return utf16(body, "UTF-16BE"),
        _ => {}
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains('\0')
    {
        return Decoded::Utf8(text.into(), 0);
    }
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let zeros = |parity: usize| sample.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let most = |count: usize| count * 5 > sample.len();
    if most(odd) && even * 20 < odd {
        return utf16(bytes, "UTF-16LE");
    }
    if most(even) && odd * 20 < even {
        return utf16(bytes, "UTF-16BE");
    }
    let is_control = |byte: &&u8| matches!(byte, 0..=8 | 11 | 14..=26 | 28..=31 | 127);
    let controls = sample.iter().filter(is_control).count();
    let signature = SIGNATURES.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    if controls * 50 > sample.len() || (signature.is_some() && controls > 0) {
        return Decoded::Binary(signature);
    }
    let invalid_count = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let multibyte_count =
        String::from_utf8_lossy(sample).chars().filter(|c| !c.is_ascii() && *c != '\u{fffd}').count();
    // Text in UTF-8 with a few damaged sequences.
    if multibyte_count > invalid_count || invalid_count == 0 {
        return Decoded::Utf8(String::from_utf8_lossy(bytes), invalid_count);
    }
    Decoded::Other(decode_standard(WINDOWS_1252, bytes).0, "Windows-1252", 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Decoded, decode};

    proptest! {
        #[test]
        fn any_bytes_are_decoded(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn text_in_utf8_stays(text in "\\PC{0,80}") {
            prop_assert_eq!(decode(text.as_bytes()), Decoded::Utf8(text.as_str().into(), 0));
        }

        #[test]
        fn text_in_utf16_is_decoded(text in "[ -~]{8,80}", is_big in any::<bool>()) {
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect();
            let name = if is_big { "UTF-16BE" } else { "UTF-16LE" };
            prop_assert_eq!(decode(&bytes), Decoded::Other(text, name, 0));
        }
    }

    #[test]
    fn invalid_units_are_replaced_and_counted() {
        let check = |bytes: &[u8], text: &str, invalid_count| {
            assert_eq!(decode(bytes), Decoded::Other(text.to_owned(), "UTF-16LE", invalid_count));
        };
        check(b"\xff\xfea\0\x00\xd8b\0", "a\u{fffd}b", 1);
        // Half a unit at the end.
        check(b"\xff\xfea\0b", "a\u{fffd}", 1);
    }

    #[test]
    fn other_encodings_are_recognised() {
        assert_eq!(decode(b"f\xfcr 5 \x80"), Decoded::Other("für 5 €".to_owned(), "Windows-1252", 0));
        assert_eq!(decode("größer \u{fffd}".as_bytes()), Decoded::Utf8("größer \u{fffd}".into(), 0));
        let damaged = [&b"\xff "[..], "größe, Länge, Höhe".as_bytes()].concat();
        assert_eq!(decode(&damaged), Decoded::Utf8("\u{fffd} größe, Länge, Höhe".into(), 1));
        assert_eq!(decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Decoded::Binary(Some("a PNG image")));
        assert_eq!(decode(b"\0\x01\x02\x03\x04\xff\xfe"), Decoded::Binary(None));
    }
}
