//! Finds the name before a separator in text.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Maximum bytes of the name of a setting.
const MAX_NAME_BYTES: usize = 64;

/// Returns the word before a separator, with or without quotes, emphasis and closing tags after it.
pub(super) fn name_before(text: &str, at: usize) -> Option<&str> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_NAME_BYTES + 16)).min(at)..at];
    // Leaders: `Password ....: …`.
    // And `TOKEN ?= …`.
    let near = near.trim_end_matches([' ', '\t', '.']).trim_end_matches(" ?");
    let tag = if near.ends_with('>') { near.rfind("</") } else { None };
    let near = near[..tag.unwrap_or(near.len())].trim_end_matches(['"', '\'', '`', '\\', ']', '*']);
    // Brackets in forms: `user%5Bpassword%5D=…`.
    let near = near.strip_suffix("%5D").or(near.strip_suffix("%5d")).unwrap_or(near);
    let start_of_word =
        |near: &str| near.rfind(|c: char| !is_name_char(c)).map_or(0, |end| near.ceil_char_boundary(end + 1));
    let mut begin = start_of_word(near);
    // Characters of names in URLs: `api%5Fkey=…`.
    while near[..begin].ends_with('%') && decoded_char(&near[begin..]).is_some_and(is_name_char) {
        begin = start_of_word(&near[..begin - 1]);
    }
    let name = near[begin..].rsplit('.').next().unwrap_or_default();
    let is_encoded =
        near[..begin].ends_with('%') && name.get(..2).is_some_and(|hex| hex.eq_ignore_ascii_case("5b"));
    let name = if is_encoded { &name[2..] } else { name };
    let is_name = name.len() > 2 || name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_name && name.len() <= MAX_NAME_BYTES).then_some(name)
}

/// Returns so many words directly before a separator, with one space between them.
pub(super) fn words_before(text: &str, at: usize, count: usize) -> Option<&str> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_NAME_BYTES)).min(at)..at];
    let near = near.trim_end_matches([' ', '\t']).trim_end_matches(['*', '`', '"', '\'']);
    let mut start = near.len();
    for _ in 0..count {
        let before = near[..start].strip_suffix(' ').filter(|_| start < near.len()).unwrap_or(&near[..start]);
        let before = if start < near.len() { before.trim_end_matches(' ') } else { before };
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        let word = word.trim_start_matches('-');
        if word.len() < 2 || start < near.len() && before.len() == start {
            return None;
        }
        start = before.len() - word.len();
    }
    Some(&near[start..])
}

/// Returns the quote that closes the name before a separator, or an empty string.
pub(super) fn quote_before(text: &str, at: usize) -> &'static str {
    let name = text[..at].trim_end_matches([' ', '\t']);
    ["\\\"", "\"", "'"].into_iter().find(|quote| name.ends_with(quote)).unwrap_or_default()
}

/// Returns a name of a URL without its percent signs: `api_key` of `api%5Fkey`.
pub(super) fn decoded_name(name: &str) -> Cow<'_, str> {
    percent_decode_str(name).decode_utf8_lossy()
}

/// Returns the character whose two hexadecimal digits begin a text.
fn decoded_char(text: &str) -> Option<char> {
    let byte = u8::from_str_radix(text.get(..2)?, 16).ok()?;
    byte.is_ascii().then_some(byte as char)
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}
