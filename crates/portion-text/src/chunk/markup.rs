//! Finds boundaries in HTML and XML: between elements, never inside a tag. Scripts, styles and
//! preformatted text are cut between lines.

use std::ops::Range;

use memchr::{memchr, memmem};

use super::chunker::lines;
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence};

/// Minimum share of lines that begin or end with a tag, in per cent, in markup without a prologue.
const MIN_TAGGED_PERCENT: usize = 60;
/// Starts of documents, in lower case.
const PROLOGUES: &[&str] = &["<!doctype", "<html", "<?xml", "<svg", "<rss", "<feed"];

/// Cuts between elements.
#[derive(Debug)]
pub(super) struct MarkupChunker;

impl Chunker for MarkupChunker {
    fn kind(&self) -> TextKind {
        TextKind::Markup
    }

    /// Matches text with a prologue, or with an element at the start and tags in most lines.
    fn matches(&self, sample: &TextSample) -> bool {
        let content = sample.text().trim_start_matches('\u{feff}').trim_start();
        let head = content[..content.floor_char_boundary(16)].to_ascii_lowercase();
        if PROLOGUES.iter().any(|prologue| head.starts_with(prologue)) {
            return true;
        }
        let begins = head.starts_with("<!--") || parse_tag(content).is_some_and(|tag| !tag.is_closing);
        let (mut lines, mut tagged, mut closed) = (0, 0, 0);
        for line in sample.lines() {
            let content = line.trimmed();
            lines += 1;
            tagged += usize::from(content.starts_with('<') || content.ends_with('>'));
            closed += usize::from(content.contains("</") || content.contains("/>"));
        }
        begins && closed > 0 && tagged * 100 >= lines * MIN_TAGGED_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        let open = open_raw_element(window);
        mark_elements(window.text, window.range(), open, &mut boundaries);
        boundaries
    }
}

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
struct Tag<'a> {
    /// Name as written.
    name: &'a str,
    /// Bytes from `<` to `>`, both included.
    len: usize,
    is_closing: bool,
    /// True if the element has no content: `<br>`, `<x/>`.
    is_empty: bool,
}

impl Tag<'_> {
    fn is_inline(&self) -> bool {
        is_among(self.name, INLINE_ELEMENTS)
    }

    fn is_raw(&self) -> bool {
        is_among(self.name, RAW_ELEMENTS) && !self.is_empty
    }

    /// Returns the level of `h1` to `h6`.
    fn heading_level(&self) -> Option<u8> {
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
fn parse_tag(text: &str) -> Option<Tag<'_>> {
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

/// Maximum bytes to look back for elements open at the start of a chunk.
const LOOKBACK_BYTES: usize = 16 * 1024;
/// Open elements that are searched for the match of an end tag.
const MAX_OPEN_ELEMENTS: usize = 64;
/// Bytes of the longest name of a raw element, with `</`.
const MAX_RAW_NAME_BYTES: usize = 10;
/// Start and end of constructs that are not elements.
const NON_ELEMENTS: &[(&str, &str)] = &[("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];

/// Returns the raw element that contains the start of a window: its end tag comes before any similar
/// start tag.
fn open_raw_element<'a>(window: &ChunkWindow<'a>) -> Option<&'a str> {
    let back = window.text.ceil_char_boundary(window.from.saturating_sub(LOOKBACK_BYTES)).min(window.from);
    let around = &window.text[back..window.to];
    let mut last = None;
    for at in memmem::find_iter(around.as_bytes(), "<") {
        let head = &around[at..around.floor_char_boundary((at + MAX_RAW_NAME_BYTES).min(around.len()))];
        let closing = head.starts_with("</");
        if !begins_raw_element(head) {
            continue;
        }
        let ahead = back + at >= window.from;
        let name = head.trim_start_matches(['<', '/']);
        let name = &name[..name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len())];
        if ahead {
            // No such element was opened nearby and one is closed here, so it was opened earlier.
            return if closing { last.or(Some(name)) } else { last };
        }
        last = (!closing).then_some(name);
    }
    last
}

fn begins_raw_element(head: &str) -> bool {
    let name = head.trim_start_matches(['<', '/']);
    ["script", "style", "pre", "textarea"].iter().any(|raw| {
        name.get(..raw.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(raw))
            && !name[raw.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}

/// Adds the boundaries of a range of markup; `open` is the raw element open at its start.
///
/// One pass; depths are relative to the elements that are open in the range.
pub(super) fn mark_elements(
    text: &str,
    range: Range<usize>,
    open: Option<&str>,
    boundaries: &mut Vec<Boundary>,
) {
    let first = boundaries.len();
    let mut reader = MarkupReader {
        text,
        end: range.end,
        open_elements: Vec::new(),
        closed_above: 0,
        comment_start: None,
        after_start_tag: false,
        element_depths: vec![],
        boundaries,
    };
    let mut at = range.start;
    if let Some(name) = open {
        at = reader.read_raw_element(at, name);
    }
    while at < range.end {
        at = reader.read_next(at);
    }
    let outermost = reader.element_depths.iter().map(|(_, depth)| *depth).min().unwrap_or(0);
    for (index, depth) in std::mem::take(&mut reader.element_depths) {
        let depth = (depth - outermost) as usize;
        boundaries[index].level = if boundaries[index].level == BoundaryLevel::Unit {
            BoundaryLevel::item(depth)
        } else {
            BoundaryLevel::part(depth)
        };
    }
    debug_assert!(boundaries[first..].iter().all(|boundary| text.is_char_boundary(boundary.offset)));
}

struct MarkupReader<'a, 'm> {
    text: &'a str,
    end: usize,
    /// Elements opened in the range and not yet closed.
    open_elements: Vec<&'a str>,
    /// Number of elements closed in the range and opened before it.
    closed_above: i64,
    /// Start of a comment that belongs to the next element.
    comment_start: Option<usize>,
    /// True if only white space separates this place from a heading, or from the start tag of an element.
    after_start_tag: bool,
    /// Boundary indices of elements, and their depths.
    element_depths: Vec<(usize, i64)>,
    boundaries: &'m mut Vec<Boundary>,
}

impl MarkupReader<'_, '_> {
    /// Reads text up to the next tag, or one tag; returns the offset after it.
    fn read_next(&mut self, at: usize) -> usize {
        let rest = &self.text[at..self.end];
        let Some(tag) = parse_tag(rest) else {
            if let Some(len) = non_element_len(rest) {
                self.comment_start.get_or_insert(at);
                return at + len;
            }
            let next =
                memchr(b'<', &rest.as_bytes()[1.min(rest.len())..]).map_or(self.end, |next| at + 1 + next);
            let next = self.text.ceil_char_boundary(next).min(self.end);
            if !self.text[at..next].trim().is_empty() {
                (self.comment_start, self.after_start_tag) = (None, false);
                sentence::mark_sentences(self.text, at..next, self.boundaries);
            }
            return next;
        };
        let end = at + tag.len;
        if tag.is_closing {
            self.comment_start = None;
            self.after_start_tag = tag.heading_level().is_some();
            self.close_element(tag.name);
            return end;
        }
        self.begin_element(at, &tag);
        if tag.is_raw() {
            return self.read_raw_element(end, tag.name);
        }
        if !tag.is_empty {
            self.open_elements.push(tag.name);
            self.after_start_tag = !tag.is_inline();
        }
        end
    }

    fn begin_element(&mut self, at: usize, tag: &Tag) {
        let lead = self.comment_start.take();
        if tag.is_inline() {
            self.boundaries.push(Boundary { offset: at, level: BoundaryLevel::Word });
            return;
        }
        let at = self.line_start(lead.unwrap_or(at));
        let fresh = std::mem::take(&mut self.after_start_tag);
        if let Some(level) = tag.heading_level() {
            self.boundaries.push(Boundary { offset: at, level: BoundaryLevel::Section(level) });
        } else {
            self.element_depths
                .push((self.boundaries.len(), self.open_elements.len() as i64 - self.closed_above));
            // The first element stays with the start tag that contains it, or with its heading.
            self.boundaries.push(Boundary {
                offset: at,
                level: if fresh { BoundaryLevel::Part(0) } else { BoundaryLevel::Unit },
            });
        }
    }

    /// Returns the start of the line, if only white space precedes `at`.
    fn line_start(&self, at: usize) -> usize {
        let before = self.text[..at].trim_end_matches([' ', '\t']).len();
        let alone = before == 0 || self.text.as_bytes()[before - 1] == b'\n';
        if alone { before } else { at }
    }

    /// Closes an element and the open elements inside it.
    fn close_element(&mut self, name: &str) {
        let near = self.open_elements.len().saturating_sub(MAX_OPEN_ELEMENTS);
        match self.open_elements[near..].iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
            Some(index) => self.open_elements.truncate(near + index),
            None if self.open_elements.is_empty() => self.closed_above += 1,
            None => {}
        }
    }

    /// Reads the content of a raw element as lines; returns the offset after its end tag.
    fn read_raw_element(&mut self, from: usize, name: &str) -> usize {
        let bytes = &self.text.as_bytes()[from..self.end];
        let ends = |at: &usize| {
            let tail = &bytes[at + 2..];
            tail.get(..name.len()).is_some_and(|tail| tail.eq_ignore_ascii_case(name.as_bytes()))
        };
        let end = memmem::find_iter(bytes, "</").find(ends);
        let inside = end.map_or(self.end, |at| from + at);
        for line in lines(self.text, from..inside).skip(1).filter(|line| !line.is_blank()) {
            self.boundaries
                .push(Boundary { offset: line.start, level: BoundaryLevel::part(line.indent() / 2) });
        }
        let closed = memchr(b'>', &self.text.as_bytes()[inside..self.end]);
        closed.map_or(self.end, |at| inside + at + 1)
    }
}

/// Counts the bytes of a comment, declaration or processing instruction at the start of a text.
fn non_element_len(text: &str) -> Option<usize> {
    let (open, close) = NON_ELEMENTS.iter().find(|(open, _)| text.starts_with(open))?;
    let end = memmem::find(&text.as_bytes()[open.len()..], close.as_bytes());
    Some(end.map_or(text.len(), |at| open.len() + at + close.len()))
}
