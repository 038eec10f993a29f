//! Lines of a text, with their places.

use std::ops::Range;

use memchr::memchr;

/// How many columns a tab indents by; only the order of depths matters.
const TAB_COLUMNS: usize = 4;

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Byte offset of its first byte.
    pub(super) start: usize,
    /// Byte offset after its line feed.
    pub(super) end: usize,
    /// What it says, without the line ending.
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// Columns before the first visible character.
    pub(super) fn indent(&self) -> usize {
        let white = self.text.bytes().take_while(|b| matches!(b, b' ' | b'\t'));
        white.map(|b| if b == b'\t' { TAB_COLUMNS } else { 1 }).sum()
    }

    /// The line without the white space around it.
    pub(super) fn trimmed(&self) -> &'a str {
        self.text.trim()
    }
}

/// The lines in a range of a text; the first and the last are cut where the range is.
pub(super) fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Line<'_>> {
    let Range { mut start, end: last } = range;
    std::iter::from_fn(move || {
        let rest = text.get(start..last).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest.as_bytes()).map_or(last, |feed| start + feed + 1);
        let said = &text[start..end];
        let said = said.strip_suffix('\n').unwrap_or(said);
        let line = Line { start, end, text: said.strip_suffix('\r').unwrap_or(said) };
        start = end;
        Some(line)
    })
}
