//! Reads markup tag by tag and marks the elements, the outer ones the coarser.

use std::ops::Range;

use memchr::{memchr, memmem};

use super::super::line::lines;
use super::super::{Mark, Rank, Window, sentence};
use super::tag::{self, Tag};

/// Bytes looked back over for what is open where a chunk begins.
const BACK: usize = 16 * 1024;
/// Open elements among which that of an end tag is looked for.
const NEAR: usize = 64;
/// Bytes of the longest name of a raw element, with `</`.
const NAME: usize = 10;
/// What has an end of its own, and is no element.
const ISLANDS: &[(&str, &str)] = &[("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];

/// The raw element inside of which a window begins: its end tag comes before any tag like it.
pub(super) fn open_at<'a>(window: &Window<'a>) -> Option<&'a str> {
    let back = window.text.ceil_char_boundary(window.from.saturating_sub(BACK)).min(window.from);
    let around = &window.text[back..window.to];
    let mut last = None;
    for at in memmem::find_iter(around.as_bytes(), "<") {
        let head = &around[at..around.floor_char_boundary((at + NAME).min(around.len()))];
        let closing = head.starts_with("</");
        if !begins_raw(head) {
            continue;
        }
        let ahead = back + at >= window.from;
        let name = head.trim_start_matches(['<', '/']);
        let name = &name[..name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len())];
        if ahead {
            // Nothing was opened in what is near, and something is closed here: it was opened before.
            return if closing { last.or(Some(name)) } else { last };
        }
        last = (!closing).then_some(name);
    }
    last
}

fn begins_raw(head: &str) -> bool {
    let name = head.trim_start_matches(['<', '/']);
    ["script", "style", "pre", "textarea"].iter().any(|raw| {
        name.get(..raw.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(raw))
            && !name[raw.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}

/// Marks what begins in a range of markup, given the raw element that is open where it begins.
///
/// One pass; how deep an element sits is told by those that are open in the range.
pub(in crate::chunk) fn mark(text: &str, range: Range<usize>, open: Option<&str>, marks: &mut Vec<Mark>) {
    let first = marks.len();
    let mut reader = Reader {
        text,
        end: range.end,
        open: Vec::new(),
        above: 0,
        lead: None,
        fresh: false,
        depths: vec![],
        marks,
    };
    let mut at = range.start;
    if let Some(name) = open {
        at = reader.raw(at, name);
    }
    while at < range.end {
        at = reader.step(at);
    }
    let outermost = reader.depths.iter().map(|(_, depth)| *depth).min().unwrap_or(0);
    for (index, depth) in std::mem::take(&mut reader.depths) {
        let depth = (depth - outermost) as usize;
        marks[index].rank =
            if marks[index].rank == Rank::Unit { Rank::item(depth) } else { Rank::part(depth) };
    }
    debug_assert!(marks[first..].iter().all(|mark| text.is_char_boundary(mark.at)));
}

struct Reader<'a, 'm> {
    text: &'a str,
    end: usize,
    /// Elements opened in the range and not yet closed.
    open: Vec<&'a str>,
    /// Elements closed that were opened before the range.
    above: i64,
    /// Where a comment begins that goes with the next element.
    lead: Option<usize>,
    /// Whether nothing but white space is between here and a heading, or the tag of an element.
    fresh: bool,
    /// Marks of elements by index, and how deep those sit.
    depths: Vec<(usize, i64)>,
    marks: &'m mut Vec<Mark>,
}

impl Reader<'_, '_> {
    /// Reads text up to the next tag, or a tag; where to go on.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..self.end];
        let Some(tag) = tag::at(rest) else {
            if let Some(len) = island(rest) {
                self.lead.get_or_insert(at);
                return at + len;
            }
            let next =
                memchr(b'<', &rest.as_bytes()[1.min(rest.len())..]).map_or(self.end, |next| at + 1 + next);
            let next = self.text.ceil_char_boundary(next).min(self.end);
            if !self.text[at..next].trim().is_empty() {
                (self.lead, self.fresh) = (None, false);
                sentence::mark(self.text, at..next, self.marks);
            }
            return next;
        };
        let end = at + tag.len;
        if tag.closing {
            self.lead = None;
            self.fresh = tag.heading().is_some();
            self.close(tag.name);
            return end;
        }
        self.begin(at, &tag);
        if tag.is_raw() {
            return self.raw(end, tag.name);
        }
        if !tag.empty {
            self.open.push(tag.name);
            self.fresh = !tag.is_inline();
        }
        end
    }

    fn begin(&mut self, at: usize, tag: &Tag) {
        let lead = self.lead.take();
        if tag.is_inline() {
            self.marks.push(Mark { at, rank: Rank::Word });
            return;
        }
        let at = self.line_start(lead.unwrap_or(at));
        let fresh = std::mem::take(&mut self.fresh);
        if let Some(level) = tag.heading() {
            self.marks.push(Mark { at, rank: Rank::Section(level) });
        } else {
            self.depths.push((self.marks.len(), self.open.len() as i64 - self.above));
            // The first element stays with the tag that it is inside of, or with its heading.
            self.marks.push(Mark { at, rank: if fresh { Rank::Part(0) } else { Rank::Unit } });
        }
    }

    /// The beginning of the line, where nothing else is on it.
    fn line_start(&self, at: usize) -> usize {
        let before = self.text[..at].trim_end_matches([' ', '\t']).len();
        let alone = before == 0 || self.text.as_bytes()[before - 1] == b'\n';
        if alone { before } else { at }
    }

    /// Elements that were left open inside of the one that is closed are closed with it.
    fn close(&mut self, name: &str) {
        let near = self.open.len().saturating_sub(NEAR);
        match self.open[near..].iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
            Some(index) => self.open.truncate(near + index),
            None if self.open.is_empty() => self.above += 1,
            None => {}
        }
    }

    /// Reads what is inside a raw element, as lines; where its end tag ends.
    fn raw(&mut self, from: usize, name: &str) -> usize {
        let bytes = &self.text.as_bytes()[from..self.end];
        let ends = |at: &usize| {
            let tail = &bytes[at + 2..];
            tail.get(..name.len()).is_some_and(|tail| tail.eq_ignore_ascii_case(name.as_bytes()))
        };
        let end = memmem::find_iter(bytes, "</").find(ends);
        let inside = end.map_or(self.end, |at| from + at);
        for line in lines(self.text, from..inside).skip(1).filter(|line| !line.is_blank()) {
            self.marks.push(Mark { at: line.start, rank: Rank::part(line.indent() / 2) });
        }
        let closed = memchr(b'>', &self.text.as_bytes()[inside..self.end]);
        closed.map_or(self.end, |at| inside + at + 1)
    }
}

/// Bytes of a comment, a declaration or a processing instruction with which a text begins.
fn island(text: &str) -> Option<usize> {
    let (open, close) = ISLANDS.iter().find(|(open, _)| text.starts_with(open))?;
    let end = memmem::find(&text.as_bytes()[open.len()..], close.as_bytes());
    Some(end.map_or(text.len(), |at| open.len() + at + close.len()))
}
