//! Decodes text in a declared character encoding.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes that are decoded at once.
const PIECE_BYTES: usize = 1 << 20;

/// Returns the character encoding that a media type declares, in lower case; `utf-8` if it declares none.
///
/// ```
/// use portion_text::charset::charset_of;
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
/// use portion_text::charset::decode_as;
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
    use super::decode_as;

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
