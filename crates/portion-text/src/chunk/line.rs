//! Splits a text into lines with their offsets.

use std::ops::Range;

use memchr::memchr;

/// Columns that a tab indents by; only the order of depths matters.
const TAB_COLUMNS: usize = 4;

/// A line of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Offset of the first byte.
    pub(super) start: usize,
    /// Offset after the line feed.
    pub(super) end: usize,
    /// Content without the line ending.
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// Counts the columns before the first visible character.
    pub(super) fn indent(&self) -> usize {
        let white = self.text.bytes().take_while(|b| matches!(b, b' ' | b'\t'));
        white.map(|b| if b == b'\t' { TAB_COLUMNS } else { 1 }).sum()
    }

    /// Returns the line without surrounding white space.
    pub(super) fn trimmed(&self) -> &'a str {
        self.text.trim()
    }
}

/// Yields the lines in a range of a text; the first and the last are cut at the ends of the range.
pub(super) fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Line<'_>> {
    let Range { mut start, end: last } = range;
    std::iter::from_fn(move || {
        let rest = text.get(start..last).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest.as_bytes()).map_or(last, |feed| start + feed + 1);
        let content = &text[start..end];
        let content = content.strip_suffix('\n').unwrap_or(content);
        let line = Line { start, end, text: content.strip_suffix('\r').unwrap_or(content) };
        start = end;
        Some(line)
    })
}
