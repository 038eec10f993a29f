//! Decodes bytes that should be text: in the encoding that is declared, or in one that is recognised.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

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
    let is_majority = |count: usize| count * 5 > sample.len();
    if is_majority(odd) && even * 20 < odd {
        return utf16(bytes, "UTF-16LE");
    }
    if is_majority(even) && odd * 20 < even {
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

/// Bytes that are decoded at once.
const PIECE_BYTES: usize = 1 << 20;

/// Returns the character encoding that a media type declares, in lower case; `utf-8` if it declares none.
///
/// ```
/// use portion_text::encoding::charset_of;
///
/// assert_eq!(charset_of("application/json; Charset=\"ISO-8859-1\""), "iso-8859-1");
/// assert_eq!(charset_of("application/json"), "utf-8");
/// ```
pub fn charset_of(media_type: &str) -> String {
    let media_type = media_type.to_ascii_lowercase();
    let parameter = media_type.split(';').skip(1).find_map(|part| part.trim().strip_prefix("charset="));
    parameter.unwrap_or("utf-8").trim_matches(['"', '\'', ' ']).to_owned()
}

/// Decodes a text, and returns the number of invalid sequences that were replaced by U+FFFD. The charsets are those of the
/// Encoding Standard, and UTF-32; an unknown one is read as UTF-8. A byte order mark counts more than the charset, and is no
/// part of the text. Text in UTF-8 that is declared as ISO 8859-1 is read as UTF-8, because that is a frequent mistake.
///
/// ```
/// use portion_text::encoding::decode_as;
///
/// assert_eq!(decode_as("iso-8859-1", b"caf\xe9"), ("café".to_owned(), 0));
/// assert_eq!(decode_as("shift_jis", b"\x93\xfa\x96{\x8c\xea"), ("日本語".to_owned(), 0));
/// assert_eq!(decode_as("utf-8", b"\xff\xfeo\0k\0"), ("ok".to_owned(), 0));
/// assert_eq!(decode_as("utf-8", b"a\xff"), ("a\u{fffd}".to_owned(), 1));
/// ```
pub fn decode_as(charset: &str, body: &[u8]) -> (String, usize) {
    let (charset, body) = Charset::of_mark(body).unwrap_or_else(|| (Charset::of_label(charset), body));
    match charset {
        Charset::Utf16 { is_big } => decode_utf16(is_big, body),
        Charset::Utf32 { is_big } => decode_utf32(is_big, body),
        Charset::Standard(encoding)
            if encoding == UTF_8 || encoding == WINDOWS_1252 && std::str::from_utf8(body).is_ok() =>
        {
            decode_utf8(body)
        }
        Charset::Standard(encoding) => decode_standard(encoding, body),
    }
}

/// A character encoding.
#[derive(Clone, Copy)]
enum Charset {
    Utf16 {
        is_big: bool,
    },
    Utf32 {
        is_big: bool,
    },
    /// Another one of the Encoding Standard.
    Standard(&'static Encoding),
}

impl Charset {
    /// Returns the encoding of a byte order mark, and the bytes after it.
    fn of_mark(body: &[u8]) -> Option<(Self, &[u8])> {
        match body {
            // The mark of UTF-32LE begins with that of UTF-16LE.
            [0xff, 0xfe, 0, 0, text @ ..] => Some((Self::Utf32 { is_big: false }, text)),
            [0, 0, 0xfe, 0xff, text @ ..] => Some((Self::Utf32 { is_big: true }, text)),
            [0xff, 0xfe, text @ ..] => Some((Self::Utf16 { is_big: false }, text)),
            [0xfe, 0xff, text @ ..] => Some((Self::Utf16 { is_big: true }, text)),
            [0xef, 0xbb, 0xbf, text @ ..] => Some((Self::Standard(UTF_8), text)),
            _ => None,
        }
    }

    /// Returns the encoding that a declaration names.
    fn of_label(label: &str) -> Self {
        match label {
            "utf-32" | "utf-32be" => return Self::Utf32 { is_big: true },
            "utf-32le" => return Self::Utf32 { is_big: false },
            _ => {}
        }
        match Encoding::for_label_no_replacement(label.as_bytes()).unwrap_or(UTF_8) {
            encoding if encoding == UTF_16LE => Self::Utf16 { is_big: false },
            encoding if encoding == UTF_16BE => Self::Utf16 { is_big: true },
            encoding => Self::Standard(encoding),
        }
    }
}

fn decode_utf8(body: &[u8]) -> (String, usize) {
    let replaced = body.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    (String::from_utf8_lossy(body).into_owned(), replaced)
}

/// Decodes an encoding of the Encoding Standard piece by piece, so that memory is not reserved for the longest possible text.
pub(crate) fn decode_standard(encoding: &'static Encoding, body: &[u8]) -> (String, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(body.len());
    let mut has_invalid = false;
    let mut pieces = body.chunks(PIECE_BYTES).peekable();
    while let Some(piece) = pieces.next() {
        text.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(3 * piece.len()));
        let (_, _, is_replaced) = decoder.decode_to_string(piece, &mut text, pieces.peek().is_none());
        has_invalid |= is_replaced;
    }
    let replaced = if has_invalid { text.matches(char::REPLACEMENT_CHARACTER).count() } else { 0 };
    (text, replaced)
}

/// Decodes UTF-16 without a byte order mark, and returns the number of replaced units.
pub(crate) fn decode_utf16(is_big: bool, body: &[u8]) -> (String, usize) {
    let (pairs, half_unit) = body.as_chunks::<2>();
    let read = if is_big { u16::from_be_bytes } else { u16::from_le_bytes };
    let mut replaced = half_unit.len();
    let text = char::decode_utf16(pairs.iter().map(|pair| read(*pair))).map(|unit| {
        unit.unwrap_or_else(|_| {
            replaced += 1;
            char::REPLACEMENT_CHARACTER
        })
    });
    let mut text: String = text.collect();
    text.extend(half_unit.iter().map(|_| char::REPLACEMENT_CHARACTER));
    (text, replaced)
}

fn decode_utf32(is_big: bool, body: &[u8]) -> (String, usize) {
    let (units, part) = body.as_chunks::<4>();
    let read = if is_big { u32::from_be_bytes } else { u32::from_le_bytes };
    let characters = units.iter().map(|unit| char::from_u32(read(*unit)));
    let mut replaced = 0;
    let text = characters.chain((!part.is_empty()).then_some(None)).map(|character| {
        character.unwrap_or_else(|| {
            replaced += 1;
            char::REPLACEMENT_CHARACTER
        })
    });
    let text: String = text.collect();
    (text, replaced)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Decoded, decode, decode_as};

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

    #[test]
    fn charsets_of_the_encoding_standard_are_decoded() {
        let check = |charset: &str, body: &[u8], text: &str| {
            assert_eq!(decode_as(charset, body), (text.to_owned(), 0), "{charset}");
        };
        check("shift_jis", b"\x93\xfa\x96{\x8c\xea", "日本語");
        check("euc-jp", b"\xc6\xfc\xcb\xdc\xb8\xec", "日本語");
        check("iso-2022-jp", b"\x1b$BF|K\\8l\x1b(B", "日本語");
        check("gbk", b"\xc8\xd5\xb1\xbe", "日本");
        check("iso-8859-2", b"\xbelu\xbb", "žluť");
        check("koi8-r", b"\xf0\xd2\xc9", "При");
        check("windows-1252", b"5 \x80", "5 €");
        check("us-ascii", "café".as_bytes(), "café");
        check("utf-16be", b"\0o\0k", "ok");
        check("utf-32", b"\0\0\0o\0\0\0k", "ok");
        check("utf-32le", b"o\0\0\0", "o");
    }

    #[test]
    fn a_character_may_lie_in_two_pieces() {
        let body = [b"a".as_slice(), &b"\x93\xfa".repeat(super::PIECE_BYTES)].concat();
        assert_eq!(decode_as("shift_jis", &body), (format!("a{}", "日".repeat(super::PIECE_BYTES)), 0));
    }

    #[test]
    fn a_byte_order_mark_decides() {
        let check = |body: &[u8]| {
            for charset in ["utf-8", "iso-8859-1", "shift_jis", "utf-16", "utf-32", "unknown"] {
                assert_eq!(decode_as(charset, body), ("é".to_owned(), 0), "{charset}");
            }
        };
        check(b"\xef\xbb\xbf\xc3\xa9");
        check(b"\xff\xfe\xe9\0");
        check(b"\xfe\xff\0\xe9");
        check(b"\xff\xfe\0\0\xe9\0\0\0");
        check(b"\0\0\xfe\xff\0\0\0\xe9");
    }

    #[test]
    fn invalid_sequences_are_replaced_and_counted() {
        let check = |charset: &str, body: &[u8], text: &str, replaced| {
            assert_eq!(decode_as(charset, body), (text.to_owned(), replaced), "{charset}");
        };
        check("unknown", b"caf\xe9", "caf\u{fffd}", 1);
        check("iso-2022-kr", b"caf\xe9", "caf\u{fffd}", 1);
        check("euc-jp", b"a\xff \xffb", "a\u{fffd} \u{fffd}b", 2);
        check("utf-32le", b"o\0\0\0\0\0\xff\0k\0", "o\u{fffd}\u{fffd}", 2);
    }
}
