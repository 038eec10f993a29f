//! Writes unusual settings as `name: value`, in a copy of a text with the same offsets.
//!
//! Readers of the copy need to know one spelling: colours of terminals, no-break spaces, full-width colons, line breaks of old
//! systems, marks around values, comments and settings of certain files become spaces, colons and line breaks.

use std::borrow::Cow;

use memchr::memmem::find_iter;
use memchr::{memchr_iter, memchr2};

use super::name::is_in;

/// Maximum bytes of an escape sequence, of a tag, and of a comment.
const MAX_ESCAPE_BYTES: usize = 24;
const MAX_TAG_BYTES: usize = 512;
const MAX_COMMENT_BYTES: usize = 64;
/// Maximum bytes before a value that are read.
const MAX_LEAD_BYTES: usize = 96;
/// Characters, entities and marks of sections, and the ASCII character that they mean.
const SPELLINGS: [(&str, u8); 3] = [
    ("\u{a0}|\u{202f}|\u{2007}|\u{3000}|&nbsp;|&NBSP;|&#160;|&#xa0;|&#xA0;|&#XA0;|<![CDATA[|]]>", b' '),
    ("：|&colon;|&#58;|&#x3a;|&#x3A;|&#X3A;", b':'),
    ("＝|&equals;|&#61;|&#x3d;|&#x3D;|&#X3D;| <- ", b'='),
];
/// Words at the beginning of a line before a name and its value, and what follows the name.
const NAMING_WORDS: [(&str, &str); 6] = [
    ("ENV ", " "),
    ("setx ", " "),
    ("setenv ", " "),
    ("set -x ", " "),
    ("set -gx ", " "),
    ("#define ", " \""),
];
/// Tags of marks around words.
const INLINE_TAGS: &str = "b i u em strong code kbd samp tt pre span mark font br p small div label";

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

struct View<'t> {
    text: &'t str,
    /// The copy, once something is replaced.
    bytes: Option<Vec<u8>>,
}

impl View<'_> {
    /// Writes a character, and spaces over the rest of the range.
    fn put(&mut self, start: usize, end: usize, byte: u8) {
        let bytes = self.bytes.get_or_insert_with(|| self.text.as_bytes().to_vec());
        if let Some(range) = bytes.get_mut(start..end).filter(|range| !range.is_empty()) {
            range.fill(b' ');
            range[0] = byte;
        }
    }

    fn replace_characters(&mut self) {
        let (text, bytes) = (self.text, self.text.as_bytes());
        for at in memchr_iter(0x1b, bytes) {
            let near = &bytes[at..bytes.len().min(at + MAX_ESCAPE_BYTES)];
            let len = near.iter().skip(2).position(|byte| (0x40..0x7f).contains(byte));
            if let Some(len) = len.filter(|_| near[1] == b'[') {
                self.put(at, at + len + 3, b' ');
            }
        }
        for at in memchr_iter(b'\r', bytes) {
            if bytes.get(at + 1).is_some_and(|next| *next != b'\n') && !text[..at].ends_with('\r') {
                self.put(at, at + 1, b'\n');
            }
        }
        if text.is_ascii() && memchr2(b'&', b'<', bytes).is_none() {
            return;
        }
        for (spellings, byte) in SPELLINGS {
            for spelling in spellings.split('|') {
                find_iter(bytes, spelling).for_each(|at| self.put(at, at + spelling.len(), byte));
            }
        }
    }

    /// Removes marks between a separator and its value, `Password: <code>…`, and line breaks in tags.
    fn replace_marks(&mut self) {
        let text = self.text;
        let mut separated = 0;
        for at in memchr_iter(b'<', text.as_bytes()) {
            let near = &text[at..text.floor_char_boundary(at + MAX_TAG_BYTES)];
            let Some(len) = near.find('>').filter(|len| !near[1..*len].contains('<')) else { continue };
            let tag = &near[1..len];
            let name = tag.split([' ', '\n', '\t']).next().unwrap_or_default();
            // An element that is closed between a name and another element is read as an element.
            let next = text[at + len + 1..].trim_start().strip_prefix('<').filter(|_| tag.starts_with('/'));
            let is_mark = |tag: &str| is_inline(tag.split(['>', ' ']).next().unwrap_or_default());
            let between = text[..at].trim_end_matches([' ', '\t', '\u{a0}']);
            let follows = separated == between.len() && separated > 0
                || between.ends_with([':', '=', '：']) && !between.ends_with("\":");
            if follows && is_inline(name) && next.is_none_or(is_mark) {
                self.put(at, at + len + 1, b' ');
                separated = at + len + 1;
            } else if name.starts_with(|c: char| c.is_ascii_alphabetic()) && tag.contains('=') {
                let feeds = memchr_iter(b'\n', tag.as_bytes());
                feeds.for_each(|feed| self.put(at + 1 + feed, at + 2 + feed, b' '));
            }
        }
    }

    /// Removes comments of a few words: `password /* here */: x`.
    fn replace_comments(&mut self) {
        let text = self.text;
        for (begin, end, kept) in [("/*", "*/", 0), ("-- ", "\n", 1)] {
            for at in find_iter(text.as_bytes(), begin) {
                let inside = &text[at + begin.len()..text.floor_char_boundary(at + MAX_COMMENT_BYTES)];
                let is_word = |c: char| c.is_alphanumeric() || " ,.()".contains(c);
                let comment = inside.split_once(end).map_or("\0", |(comment, _)| comment);
                let digits = comment.bytes().filter(u8::is_ascii_digit).count();
                if digits < 4 && comment.chars().all(is_word) {
                    self.put(at, at + begin.len() + comment.len() + end.len() - kept, b' ');
                }
            }
        }
    }

    /// Writes settings of certain files as `name=value`.
    fn replace_settings(&mut self) {
        let text = self.text;
        let begins_line = |at: usize| at == 0 || text[..at].ends_with('\n');
        let before =
            |at: usize| &text[text.ceil_char_boundary(at.saturating_sub(MAX_LEAD_BYTES)).min(at)..at];
        // `? password` and `: hunter2` on the next line.
        let begins_content =
            |at: &usize| matches!(before(*at).trim_end_matches(' ').chars().next_back(), None | Some('\n'));
        for at in find_iter(text.as_bytes(), "? ").filter(begins_content) {
            let len = text[at..].find('\n').unwrap_or(text.len() - at);
            if text[at + len..].trim_start().starts_with(": ") {
                self.put(at, at + 1, b' ');
                self.put(at + len, at + len + 1, b' ');
            }
        }
        // `ENV API_TOKEN hunter2`
        for (word, mark) in NAMING_WORDS {
            for at in find_iter(text.as_bytes(), word).filter(|at| begins_line(*at)) {
                let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                let name = at + word.len();
                let len = text[name..].find(is_other).unwrap_or_default();
                if len > 0 && text[name + len..].starts_with(mark) {
                    self.put(name + len, name + len + 1, b'=');
                }
            }
        }
        // `-[ RECORD 1 ]---` of psql, and `password | hunter2` below it.
        if text.contains("-[ RECORD ") {
            let bars = find_iter(text.as_bytes(), " | ");
            let is_first = |at: &usize| !before(*at).rsplit('\n').next().unwrap_or_default().contains('|');
            bars.filter(is_first).for_each(|at| self.put(at + 1, at + 2, b':'));
        }
        // `machine example.com login ann password hunter2`
        for at in find_iter(text.as_bytes(), "password ") {
            if before(at).ends_with(char::is_whitespace)
                && before(at).split_whitespace().rev().nth(1) == Some("login")
            {
                self.put(at + 8, at + 9, b'=');
            }
        }
        // `define('DB_PASSWORD', 'hunter2')`
        for at in memchr_iter(b',', text.as_bytes())
            .filter(|at| text[at + 1..].trim_start().starts_with(['"', '\'']))
        {
            let Some(quote) = before(at).chars().next_back().filter(|quote| "\"'".contains(*quote)) else {
                continue;
            };
            let argument = before(at - 1).rsplit_once(quote);
            let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
            // A function that sets, not the constructor of a type.
            let is_function = |lead: &str| {
                let callee = lead.trim_end().strip_suffix('(').unwrap_or_default();
                let name = callee.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                name.starts_with(char::is_lowercase)
            };
            if argument.is_some_and(|(lead, name)| is_function(lead) && is_name(name)) {
                self.put(at, at + 1, b':');
            }
        }
        // `name="password"`, an empty line and the value, in the body of a form.
        for at in find_iter(text.as_bytes(), "form-data; name=\"").map(|at| at + "form-data; name=".len()) {
            let Some((name, rest)) = text[at + 1..].split_once('"') else { continue };
            let feeds = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
            if rest[..feeds].matches('\n').count() == 2 {
                let end = at + 1 + name.len();
                self.put(at, at + 1, b' ');
                self.put(end, end + 1 + feeds, b'=');
            }
        }
    }
}

/// Returns true for the name of an inline tag, with the slash of an end tag or of an empty element.
fn is_inline(name: &str) -> bool {
    is_in(INLINE_TAGS, &name.trim_matches('/').to_ascii_lowercase())
}
