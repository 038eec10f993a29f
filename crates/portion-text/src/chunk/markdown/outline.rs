//! Lists the headings of a Markdown text and their sections.
//!
//! ```
//! use portion_text::chunk::outline::headings;
//!
//! let text = "# Guide\nIntro.\n## Install\nRun it.\n# FAQ\n";
//! let found = headings(text);
//! assert_eq!(found.iter().map(|heading| (heading.level, heading.title.as_ref())).collect::<Vec<_>>(), [
//!     (1, "Guide"),
//!     (2, "Install"),
//!     (1, "FAQ"),
//! ]);
//! assert_eq!(&text[found[1].start..found[1].end], "## Install\nRun it.\n");
//! ```

use std::borrow::Cow;

use super::block_state::{BlockState, LineKind};
use crate::chunk::chunker::{Line, lines};

/// A heading and the range of its section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading<'a> {
    /// Level, from 1 (highest) to 6.
    pub level: u8,
    /// Title without the heading markers.
    pub title: Cow<'a, str>,
    /// Byte offset of the start of its line.
    pub start: usize,
    /// Byte offset of the end of the section: the next heading of the same or a higher level, or the end
    /// of the text.
    pub end: usize,
}

/// Returns all headings, in order: `# …` and underlined ones, but none inside fences, comments or front
/// matter.
///
/// One pass over the text.
pub fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut blocks = BlockState::at_start(text);
    let mut found: Vec<Heading> = Vec::new();
    let mut above: [Option<(LineKind, Line)>; 2] = [None, None];
    for line in lines(text, 0..text.len()) {
        let kind = blocks.classify(line.text);
        if let Some((level, title, start)) = heading(kind, &line, above) {
            found.push(Heading { level, title: title.into(), start, end: text.len() });
        }
        above = [above[1], Some((kind, line))];
    }
    end_sections(&mut found);
    found
}

/// Ends the section of each heading at the next one of its level or above.
pub(crate) fn end_sections(found: &mut [Heading]) {
    // Indices of headings whose sections have not ended, levels ascending.
    let mut open: Vec<usize> = Vec::new();
    for at in 0..found.len() {
        let (level, start) = (found[at].level, found[at].start);
        while let Some(last) = open.pop_if(|last| found[*last].level >= level) {
            found[last].end = start;
        }
        open.push(at);
    }
}

/// Returns level, title and start of the heading that ends with this line.
fn heading<'a>(
    kind: LineKind,
    line: &Line<'a>,
    above: [Option<(LineKind, Line<'a>)>; 2],
) -> Option<(u8, &'a str, usize)> {
    match (kind, above) {
        (LineKind::Heading(level), _) => Some((level, title(line.trimmed()), line.start)),
        (LineKind::Underline(level), [before, Some((LineKind::Text, text))]) if !continues(before) => {
            Some((level, text.trimmed(), text.start))
        }
        _ => None,
    }
}

/// Returns true if a line after `before` continues a paragraph, an item, a quote or a table.
fn continues(before: Option<(LineKind, Line)>) -> bool {
    before.is_some_and(|(kind, _)| {
        matches!(
            kind,
            LineKind::Text
                | LineKind::ListItem
                | LineKind::Quote
                | LineKind::TableRow
                | LineKind::TableDelimiter
        )
    })
}

fn title(content: &str) -> &str {
    let title = content.trim_start_matches('#').trim();
    let open = title.trim_end_matches('#');
    if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { title }
}
