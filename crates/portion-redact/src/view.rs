//! Writes unusual settings as `name: value`, in a copy of a text with the same offsets.
//!
//! Readers of the copy need to know one spelling: colours of terminals, no-break spaces, full-width colons, line breaks of old
//! systems, marks around values and settings of certain files become spaces, colons and line breaks.

use std::borrow::Cow;

use memchr::memmem;

use super::name::is_in;

/// Maximum bytes of an escape sequence, of an entity, and of a tag.
const MAX_ESCAPE_BYTES: usize = 24;
const MAX_ENTITY_BYTES: usize = 10;
const MAX_TAG_BYTES: usize = 512;
/// Entities, and the characters that they stand for.
const ENTITIES: [(&str, u8); 9] = [
    ("&nbsp;", b' '),
    ("&#160;", b' '),
    ("&#xa0;", b' '),
    ("&colon;", b':'),
    ("&#58;", b':'),
    ("&#x3a;", b':'),
    ("&equals;", b'='),
    ("&#61;", b'='),
    ("&#x3d;", b'='),
];
/// Characters, and the ASCII character that they mean.
const WIDE_CHARS: [(&str, u8); 6] = [
    ("\u{a0}", b' '),
    ("\u{202f}", b' '),
    ("\u{2007}", b' '),
    ("\u{3000}", b' '),
    ("：", b':'),
    ("＝", b'='),
];
/// Tags of marks around words.
const INLINE_TAGS: &str = "b i u em strong code kbd samp tt pre span mark font br p small div label";
/// Marks of a section of XML.
const SECTION_MARKS: [&str; 2] = ["<![CDATA[", "]]>"];
/// Maximum bytes of a comment that is removed.
const MAX_COMMENT_BYTES: usize = 64;

/// Returns a text in which all settings are written as usual, with the same offsets.
pub(super) fn plain_view(text: &str) -> Cow<'_, str> {
    let mut view = View { text, bytes: None };
    view.replace_characters();
    view.replace_marks();
    view.replace_comments();
    view.replace_settings();
    match view.bytes.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(text),
    }
}

/// Returns true for the name of an inline tag, with the slash of an end tag or of an empty element.
fn is_inline(name: &str) -> bool {
    is_in(INLINE_TAGS, &name.trim_matches('/').to_ascii_lowercase())
}

struct View<'t> {
    text: &'t str,
    /// The copy, once something is replaced.
    bytes: Option<Vec<u8>>,
}

impl View<'_> {
    /// Writes a character, and spaces over the rest of the range.
    fn put(&mut self, start: usize, end: usize, byte: u8) {
        let bytes = self.bytes.get_or_insert_with(|| self.text.as_bytes().to_vec());
        if let Some(range) = bytes.get_mut(start..end) {
            range.fill(b' ');
            if let Some(first) = range.first_mut() {
                *first = byte;
            }
        }
    }

    fn replace_characters(&mut self) {
        let text = self.text;
        let bytes = text.as_bytes();
        for at in memchr::memchr_iter(0x1b, bytes) {
            let near = &bytes[at..bytes.len().min(at + MAX_ESCAPE_BYTES)];
            let len = near.iter().skip(2).position(|byte| (0x40..0x7f).contains(byte));
            if let Some(len) = len.filter(|_| near.get(1) == Some(&b'[')) {
                self.put(at, at + len + 3, b' ');
            }
        }
        for at in memchr::memchr_iter(b'\r', bytes) {
            if bytes.get(at + 1).is_some_and(|next| *next != b'\n') && !text[..at].ends_with('\r') {
                self.put(at, at + 1, b'\n');
            }
        }
        if !text.is_ascii() {
            for (wide, byte) in WIDE_CHARS {
                for at in memmem::find_iter(bytes, wide) {
                    self.put(at, at + wide.len(), byte);
                }
            }
        }
        for at in memchr::memchr_iter(b'&', bytes) {
            let near = &text[at..text.floor_char_boundary(at + MAX_ENTITY_BYTES)];
            let found = ENTITIES.iter().find(|(entity, _)| {
                near.get(..entity.len()).is_some_and(|near| near.eq_ignore_ascii_case(entity))
            });
            if let Some((entity, byte)) = found {
                self.put(at, at + entity.len(), *byte);
            }
        }
    }

    /// Removes marks between a separator and its value, `Password: <code>…`, and line breaks in tags.
    fn replace_marks(&mut self) {
        let text = self.text;
        let mut separated = 0;
        for at in memchr::memchr_iter(b'<', text.as_bytes()) {
            let near = &text[at..text.floor_char_boundary(at + MAX_TAG_BYTES)];
            let Some(len) = near.find('>').filter(|len| !near[1..*len].contains('<')) else { continue };
            let tag = &near[1..len];
            let name = tag.split([' ', '\n', '\t']).next().unwrap_or_default();
            // An element that is closed between a name and another element is read as an element.
            let next = text[at + len + 1..].trim_start();
            let is_mark = is_inline(name)
                && !(tag.starts_with('/')
                    && next.starts_with('<')
                    && !next[1..].split(['>', ' ']).next().is_some_and(is_inline));
            let between = text[..at].trim_end_matches([' ', '\t', '\u{a0}']);
            let follows = separated == between.len() && separated > 0
                || between.ends_with([':', '=', '：']) && !between.ends_with("\":");
            if follows && is_mark {
                self.put(at, at + len + 1, b' ');
                separated = at + len + 1;
            } else if name.starts_with(|c: char| c.is_ascii_alphabetic())
                && tag.contains('\n')
                && tag.contains('=')
            {
                for feed in memchr::memchr_iter(b'\n', tag.as_bytes()) {
                    self.put(at + 1 + feed, at + 2 + feed, b' ');
                }
            }
        }
    }

    /// Removes the marks of sections of XML, and comments of a few words: `password /* here */: x`.
    fn replace_comments(&mut self) {
        let text = self.text;
        if memmem::find(text.as_bytes(), SECTION_MARKS[0].as_bytes()).is_some() {
            for mark in SECTION_MARKS {
                memmem::find_iter(text.as_bytes(), mark).for_each(|at| self.put(at, at + mark.len(), b' '));
            }
        }
        for (begin, end) in [("/*", "*/"), ("-- ", "\n")] {
            for at in memmem::find_iter(text.as_bytes(), begin) {
                let inside = &text[at + begin.len()..text.floor_char_boundary(at + MAX_COMMENT_BYTES)];
                let is_word = |c: char| c.is_alphanumeric() || " ,.()".contains(c);
                let len = inside.find(end).filter(|len| inside[..*len].chars().all(is_word));
                if let Some(len) =
                    len.filter(|len| inside[..*len].bytes().filter(u8::is_ascii_digit).count() < 4)
                {
                    self.put(at, at + begin.len() + len + if end == "\n" { 0 } else { end.len() }, b' ');
                }
            }
        }
    }

    /// Writes settings of certain files as `name=value`.
    fn replace_settings(&mut self) {
        let text = self.text;
        // `? password` and `: hunter2` on the next line.
        for at in memmem::find_iter(text.as_bytes(), "\n") {
            let (line, next) = (text[..at].rsplit('\n').next().unwrap_or_default(), &text[at + 1..]);
            let content = line.trim_start();
            if content.starts_with("? ") && next.trim_start_matches(' ').starts_with(": ") {
                let start = at - content.len();
                self.put(start, start + 1, b' ');
                self.put(at, at + 1, b' ');
            }
        }
        // `ENV API_TOKEN hunter2`
        for at in memmem::find_iter(text.as_bytes(), "ENV ") {
            let rest = &text[at + 4..];
            let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let begins_line = at == 0 || text[..at].ends_with('\n');
            if begins_line && len > 0 && rest[len..].starts_with(' ') {
                self.put(at + 4 + len, at + 5 + len, b'=');
            }
        }
        // `machine example.com login ann password hunter2`
        for at in memmem::find_iter(text.as_bytes(), "password ") {
            let near = &text[text.ceil_char_boundary(at.saturating_sub(256)).min(at)..at];
            let mut words = near.split_whitespace().rev();
            let is_netrc =
                words.nth(1) == Some("login") || near.contains("machine ") && near.contains("login ");
            if is_netrc && near.ends_with(char::is_whitespace) {
                self.put(at + 8, at + 9, b'=');
            }
        }
        // `define('DB_PASSWORD', 'hunter2')`
        for at in memchr::memchr_iter(b',', text.as_bytes()) {
            let before = &text[..at];
            let Some(quote) = before.chars().next_back().filter(|quote| matches!(quote, '"' | '\'')) else {
                continue;
            };
            let near = &before[before.ceil_char_boundary(at.saturating_sub(80)).min(at - 1)..at - 1];
            let Some(open) = near.rfind(quote) else { continue };
            let is_argument = near[..open].trim_end_matches(' ').ends_with('(')
                && near[open + 1..].chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
            if is_argument && text[at + 1..].trim_start_matches(' ').starts_with(['"', '\'']) {
                self.put(at, at + 1, b':');
            }
        }
        // `name="password"`, an empty line and the value, in the body of a form.
        for at in memmem::find_iter(text.as_bytes(), "form-data; name=\"") {
            let start = at + "form-data; name=".len();
            let Some(len) = text[start + 1..].find('"') else { continue };
            let end = start + 1 + len;
            let rest = &text[end + 1..];
            let feeds = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
            if feeds > 1 && rest[..feeds].matches('\n').count() == 2 {
                self.put(start, start + 1, b' ');
                self.put(end, end + 1 + feeds, b'=');
            }
        }
    }
}
