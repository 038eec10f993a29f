//! Headings in text without marks for them: `1.2 Terms`, `Chapter IV`, `SYNOPSIS`.

use crate::chunk::heading_level;
use crate::snapshot::Text;

use super::telling::quoted;

/// Headings that make an outline, and lines for each of them at least.
const FEWEST: usize = 4;
const LINES: usize = 5;
/// Characters of a heading.
const WIDTH: usize = 80;
/// Headings that are kept.
const MOST: usize = 2000;

/// The headings with their levels, each with the number of its line in front; none where there are too few.
///
/// A heading stands below a blank line and above one, or above what is indented.
pub(super) fn of(text: &str, index: &Text) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut after_gap = true;
    while let Some((at, line)) = lines.next() {
        let heads = |next: &str| next.trim().is_empty() || next.starts_with([' ', '\t']);
        if after_gap
            && lines.peek().is_some_and(|(_, next)| heads(next))
            && !line.contains("..")
            && let Some(level) = heading_level(line)
            && found.len() < MOST
        {
            found.push((level.min(6), format!("{}: {}", at + 1, quoted(line, WIDTH))));
        }
        after_gap = line.trim().is_empty();
    }
    let is_outline = found.len() >= FEWEST && found.len() * LINES <= index.line_count();
    if is_outline { found } else { Vec::new() }
}
