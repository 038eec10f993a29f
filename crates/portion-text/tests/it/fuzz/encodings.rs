//! Fuzz target: any bytes are text in some encoding, or binary, and nothing of a text is lost.

use portion_text::encoding::{Decoded, charset_of, decode, decode_as};

const CHARSETS: [&str; 10] = [
    "utf-8",
    "iso-8859-1",
    "windows-1252",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "utf-32",
    "shift_jis",
    "iso-2022-jp",
    "gb18030",
];

pub(crate) fn check(input: &[u8]) {
    match decode(input) {
        Decoded::Utf8(text, 0) => assert_eq!(text.as_bytes(), input),
        Decoded::Utf8(text, invalid_count) => {
            assert_eq!(text, String::from_utf8_lossy(input));
            assert!(invalid_count <= text.matches('\u{fffd}').count());
        }
        Decoded::Other(text, "Windows-1252", invalid_count) => {
            assert_eq!((text.chars().count(), invalid_count), (input.len(), 0));
        }
        Decoded::Other(text, name, invalid_count) => {
            let body = input.strip_prefix(b"\xff\xfe").or(input.strip_prefix(b"\xfe\xff")).unwrap_or(input);
            assert_utf16(&text, body, name == "UTF-16BE", invalid_count);
        }
        Decoded::Binary(_) => assert!(!is_plain(input), "text is taken for binary data"),
    }
    for charset in CHARSETS {
        check_declared(charset, input);
    }
    if let Ok(text) = str::from_utf8(input) {
        let charset = charset_of(text);
        assert!(!charset.starts_with(['"', '\'', ' ']) && !charset.ends_with(['"', '\'', ' ']), "{charset}");
        assert_eq!(charset, charset.to_ascii_lowercase());
    }
}

/// Returns true for UTF-8 without control characters but those of lines and columns.
fn is_plain(input: &[u8]) -> bool {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    str::from_utf8(input).is_ok_and(|text| text.chars().all(is_plain))
}

/// Checks a text that is decoded as its charset declares.
fn check_declared(charset: &str, input: &[u8]) {
    let (text, replaced) = decode_as(charset, input);
    assert!(replaced <= text.matches('\u{fffd}').count());
    let is_single_byte = matches!(charset, "iso-8859-1" | "windows-1252");
    match input {
        [0xff, 0xfe, 0, 0, body @ ..] => assert_utf32(&text, body, false, replaced),
        [0, 0, 0xfe, 0xff, body @ ..] => assert_utf32(&text, body, true, replaced),
        [0xff, 0xfe, body @ ..] => assert_utf16(&text, body, false, replaced),
        [0xfe, 0xff, body @ ..] => assert_utf16(&text, body, true, replaced),
        [0xef, 0xbb, 0xbf, body @ ..] => assert_eq!(text, String::from_utf8_lossy(body)),
        _ if charset.starts_with("utf-16") => assert_utf16(&text, input, charset == "utf-16be", replaced),
        _ if charset == "utf-32" => assert_utf32(&text, input, true, replaced),
        // Text in UTF-8 is read as such.
        _ if charset == "utf-8" || is_single_byte && str::from_utf8(input).is_ok() => {
            assert_eq!(text, String::from_utf8_lossy(input));
        }
        _ if is_single_byte => assert_eq!((text.chars().count(), replaced), (input.len(), 0)),
        _ => {}
    }
}

/// Checks that a text has all valid units of its bytes, and replacements for the others.
fn assert_utf32(text: &str, body: &[u8], is_big: bool, replaced: usize) {
    let read = if is_big { u32::from_be_bytes } else { u32::from_le_bytes };
    let (units, _) = body.as_chunks::<4>();
    let valid = units.iter().filter(|unit| char::from_u32(read(**unit)).is_some()).count();
    assert_eq!(text.chars().count(), body.len().div_ceil(4));
    assert_eq!(text.chars().count() - replaced, valid);
}

/// Checks that a text has all valid units of its bytes, and one replacement for each invalid one.
fn assert_utf16(text: &str, body: &[u8], is_big: bool, replaced: usize) {
    let written: Vec<u8> = text
        .encode_utf16()
        .flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() })
        .collect();
    assert_eq!(written.len(), body.len().next_multiple_of(2));
    let units = |bytes: &[u8]| -> Vec<Vec<u8>> { bytes.chunks(2).map(<[u8]>::to_vec).collect() };
    let differing = units(&written).iter().zip(units(body)).filter(|(own, given)| **own != *given).count();
    assert_eq!(differing, replaced);
}
