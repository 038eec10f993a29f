//! Finds headings in text without heading marks: `1.2 Terms`, `Chapter IV`, `SYNOPSIS`.

use portion_text::chunk::heading_level;

use super::text_description::truncated_line;
use crate::snapshot::LineIndex;

/// Smallest number of headings in an outline, and of lines per heading.
const MIN_HEADINGS: usize = 4;
const MIN_LINES_PER_HEADING: usize = 5;
/// Longest heading shown, in characters.
const MAX_HEADING_CHARS: usize = 80;
/// Largest number of headings kept.
const MAX_HEADINGS: usize = 2000;

/// Returns the headings with their levels, each prefixed with its line number. Returns none if there are too
/// few.
///
/// A heading follows a blank line and precedes a blank or indented line.
pub(super) fn find(text: &str, index: &LineIndex) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut after_gap = true;
    while let Some((at, line)) = lines.next() {
        let heads = |next: &str| next.trim().is_empty() || next.starts_with([' ', '\t']);
        if after_gap
            && lines.peek().is_some_and(|(_, next)| heads(next))
            && !line.contains("..")
            && let Some(level) = heading_level(line)
            && found.len() < MAX_HEADINGS
        {
            found.push((level.min(6), format!("{}: {}", at + 1, truncated_line(line, MAX_HEADING_CHARS))));
        }
        after_gap = line.trim().is_empty();
    }
    let is_outline = found.len() >= MIN_HEADINGS && found.len() * MIN_LINES_PER_HEADING <= index.line_count();
    if is_outline { found } else { Vec::new() }
}
