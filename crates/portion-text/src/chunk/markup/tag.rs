//! Parses one tag of markup.

/// Maximum bytes of a tag; anything longer is text with a `<` in it.
const MAX_TAG_BYTES: usize = 256 * 1024;
/// Elements without an end tag.
const VOID_ELEMENTS: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Elements within running text.
const INLINE_ELEMENTS: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "img", "input", "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s",
    "samp", "select", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];
/// Elements whose content is not markup, or keeps its line breaks.
const RAW_ELEMENTS: &[&str] = &["script", "style", "pre", "textarea", "listing", "xmp"];

/// `<name …>`, `</name>` or `<name … />`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// Name as written.
    pub(super) name: &'a str,
    /// Bytes from `<` to `>`, both included.
    pub(super) len: usize,
    pub(super) is_closing: bool,
    /// True if the element has no content: `<br>`, `<x/>`.
    pub(super) is_empty: bool,
}

impl Tag<'_> {
    pub(super) fn is_inline(&self) -> bool {
        is_among(self.name, INLINE_ELEMENTS)
    }

    pub(super) fn is_raw(&self) -> bool {
        is_among(self.name, RAW_ELEMENTS) && !self.is_empty
    }

    /// Returns the level of `h1` to `h6`.
    pub(super) fn heading_level(&self) -> Option<u8> {
        match self.name.as_bytes() {
            [b'h' | b'H', level @ b'1'..=b'6'] => Some(level - b'0'),
            _ => None,
        }
    }
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Parses the tag at the start of a text. A `>` between quotes does not end it.
pub(super) fn parse_tag(text: &str) -> Option<Tag<'_>> {
    let rest = text.strip_prefix('<')?;
    let closing = rest.starts_with('/');
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let begun = text.len() - rest.len() + name.len();
    let mut quote = None;
    let bytes = &text.as_bytes()[begun..text.len().min(begun + MAX_TAG_BYTES)];
    for (index, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| open != byte),
            (None, b'"' | b'\'') if index > 0 && matches!(bytes[index - 1], b'=' | b' ') => {
                quote = Some(*byte);
            }
            (None, b'<') => return None,
            (None, b'>') => {
                let empty = index > 0 && bytes[index - 1] == b'/' || is_among(name, VOID_ELEMENTS);
                return Some(Tag { name, len: begun + index + 1, is_closing: closing, is_empty: empty });
            }
            _ => {}
        }
    }
    None
}
