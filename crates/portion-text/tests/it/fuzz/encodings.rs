//! Fuzz target: any bytes are text in some encoding, or binary, and nothing of a text is lost.

use portion_text::charset::{charset_of, decode_as};
use portion_text::encoding::{Decoded, decode};

const CHARSETS: [&str; 6] = ["utf-8", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-16be"];

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
    if charset.starts_with("utf-16") {
        let (is_big, body) = match input {
            [0xfe, 0xff, body @ ..] => (true, body),
            [0xff, 0xfe, body @ ..] => (false, body),
            body => (charset == "utf-16be", body),
        };
        assert_utf16(&text, body, is_big, replaced);
    } else if let Ok(own) = str::from_utf8(input) {
        // Text in UTF-8 is read as such, without its mark.
        assert_eq!((text.as_str(), replaced), (own.strip_prefix('\u{feff}').unwrap_or(own), 0));
    } else if charset != "utf-8" {
        assert_eq!(text.chars().count(), input.len());
    }
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
