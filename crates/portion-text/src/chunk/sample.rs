//! A sample of a text, from which chunkers detect its kind.

use super::line::{Line, lines};

/// Bytes sampled from the start and from the middle: a banner or a preamble must not decide alone, and a
/// long text must not cost more than a short one.
const HEAD_BYTES: usize = 48 * 1024;
const MIDDLE_BYTES: usize = 16 * 1024;

/// Lines from the start and the middle of a text.
#[derive(Debug)]
pub struct TextSample<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
}

impl<'a> TextSample<'a> {
    /// Samples at most 64 KiB of a text.
    pub fn new(text: &'a str) -> Self {
        let head = text.floor_char_boundary(HEAD_BYTES);
        let middle = text.ceil_char_boundary(head.max(text.len() / 2));
        let last = text.floor_char_boundary(middle.saturating_add(MIDDLE_BYTES)).max(middle);
        let mut sampled: Vec<_> = lines(text, 0..head).collect();
        // The first line of the middle is usually partial.
        sampled.extend(lines(text, middle..last).skip(1));
        Self { text, lines: sampled }
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Yields the lines that are not blank.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| !line.is_blank())
    }

    /// Returns all lines.
    pub(super) fn all_lines(&self) -> &[Line<'a>] {
        &self.lines
    }
}
