//! The name before a separator in text, and the names around it: `guest.phone: …`, `guest[phone]=…`, the blocks of YAML, the
//! sections of INI files.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::RedactionRules;

/// Maximum bytes of the name of a setting.
const MAX_NAME_BYTES: usize = 64;
/// Maximum bytes of a name that is written as a path.
const MAX_PATH_BYTES: usize = 256;
/// Maximum bytes before a setting that are searched for the names around it.
const MAX_LOOKBACK_BYTES: usize = 2 << 10;

impl RedactionRules {
    /// Returns true if a path matches the setting whose separator is at `at`. If the names around it are too far away, the
    /// setting counts as matched.
    pub(super) fn matches_setting_path(&self, text: &str, at: usize) -> bool {
        let name = path_before(text, at);
        let last = name.rsplit(['.', '[']).next().unwrap_or_default().trim_end_matches(']');
        if !self.matches_end_of_path(last) {
            return false;
        }
        // Nothing is around a setting at the margin but a section, which a file of settings names first.
        let own = text[..at].rsplit('\n').next().unwrap_or_default();
        let (mut names, mut is_complete) = (Vec::new(), at <= MAX_LOOKBACK_BYTES || indent_of(own) == 0);
        // An attribute is a setting of its element.
        let tag = own.rsplit_once('<').map(|(_, tag)| tag).filter(|tag| !tag.contains('>'));
        names.extend(tag.and_then(|tag| tag.split_whitespace().next()).map(str::to_owned));
        for line in lines_around(text, at) {
            is_complete |= indent_of(line) == 0;
            if let Some(section) = section_of(line) {
                let steps = section.trim_matches(['[', ']']).rsplit('.');
                names.extend(steps.map(|step| step.trim().trim_matches(['"', '\'']).to_owned()));
                break;
            }
            names.extend(block_name(line).map(str::to_owned));
        }
        !is_complete || self.matches_path_within(name, || names.iter().cloned())
    }
}

/// Returns the name of the block around the setting that begins at `at`: `password:` above `  value: …`.
pub(super) fn name_of_block(text: &str, at: usize) -> Option<&str> {
    lines_around(text, at).next().and_then(block_name)
}

/// Returns the name before a separator, with the names that are written before it: `guest.phone`, `guest[phone]`.
pub(super) fn path_before(text: &str, at: usize) -> &str {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_PATH_BYTES)).min(at)..at];
    let near = near.trim_end_matches([' ', '\t']).trim_end_matches(['"', '\'', '`', '*']);
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let start = near.rfind(|c: char| !is_path(c)).map_or(0, |end| near.ceil_char_boundary(end + 1));
    near[start..].trim_start_matches(['-', '[', '.'])
}

/// Yields the lines around the line of an offset, the innermost first: lines with less and less indentation, and the headings
/// of sections.
fn lines_around(text: &str, at: usize) -> impl Iterator<Item = &str> {
    let from = text.ceil_char_boundary(at.saturating_sub(MAX_LOOKBACK_BYTES)).min(at);
    let mut lines = text[from..at].rsplit('\n');
    let mut indent = indent_of(lines.next().unwrap_or_default());
    lines.filter(move |line| {
        let is_content = !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let is_around = is_content && (indent_of(line) < indent || section_of(line).is_some());
        if is_around {
            indent = indent.min(indent_of(line));
        }
        is_around
    })
}

fn section_of(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.strip_suffix(']')
}

fn block_name(line: &str) -> Option<&str> {
    Some(line.trim().strip_suffix(':')?.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']))
}

/// Returns the lines of the mapping that the line at an offset is in, up to so many on each side. `is_inside`: tells the lines that do not
/// end it.
pub(super) fn mapping_around(
    text: &str,
    at: usize,
    max_lines: usize,
    is_inside: impl Fn(&str) -> bool,
) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let own = text[start..].split_inclusive('\n').next().unwrap_or_default();
    let indent = indent_of(own);
    let begins_item = |line: &str| indent_of(line) == indent && line[..indent].contains('-');
    let mut lines = start..start + own.len();
    let mut is_first = begins_item(own);
    for line in text[..start].split_inclusive('\n').rev().take(max_lines) {
        if is_first || !is_inside(line) {
            break;
        }
        lines.start -= line.len();
        is_first = begins_item(line);
    }
    let below = text[lines.end..].split_inclusive('\n').take(max_lines);
    let below = below.take_while(|line| is_inside(line) && !begins_item(line));
    lines.end += below.map(str::len).sum::<usize>();
    lines
}

/// Returns the indentation of a line. The dash of an item counts as indentation.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '-']).len()
}

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
