//! Decodes text in a declared character encoding.

use crate::encoding::windows_1252;

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

/// Decodes a text, and returns the number of invalid sequences that were replaced by U+FFFD. A byte order mark is no part of
/// the text. Text in UTF-8 that is declared as ISO 8859-1 is read as UTF-8, because that is a frequent mistake.
///
/// ```
/// use portion_text::charset::decode_as;
///
/// assert_eq!(decode_as("iso-8859-1", b"caf\xe9"), ("café".to_owned(), 0));
/// assert_eq!(decode_as("utf-16", b"\xff\xfeo\0k\0"), ("ok".to_owned(), 0));
/// assert_eq!(decode_as("utf-8", b"a\xff"), ("a\u{fffd}".to_owned(), 1));
/// ```
pub fn decode_as(charset: &str, body: &[u8]) -> (String, usize) {
    match charset {
        "iso-8859-1" | "latin1" | "us-ascii" | "windows-1252" if std::str::from_utf8(body).is_err() => {
            (body.iter().map(|byte| windows_1252(*byte)).collect(), 0)
        }
        "utf-16" | "utf-16le" | "utf-16be" => decode_utf16(charset, body),
        _ => {
            let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
            let replaced = body.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            (String::from_utf8_lossy(body).into_owned(), replaced)
        }
    }
}

fn decode_utf16(charset: &str, body: &[u8]) -> (String, usize) {
    let (is_big, body) = match body {
        [0xfe, 0xff, rest @ ..] => (true, rest),
        [0xff, 0xfe, rest @ ..] => (false, rest),
        _ => (charset == "utf-16be", body),
    };
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
