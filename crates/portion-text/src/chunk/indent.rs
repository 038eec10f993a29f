//! Derives structure from indentation: a deeper line belongs to the line above it. So does the chunker for text of no other
//! kind: listings, unstamped logs, YAML.

use super::chunker::{Boundary, BoundaryBuilder, BoundaryLevel, Line};
use super::{ChunkWindow, Chunker, TextKind, TextSample, sentence, stamp};

/// Columns per level of depth.
const COLUMNS_PER_LEVEL: usize = 2;
/// Words that continue the block of the lines above.
const CONTINUATION_WORDS: &[&str] = &[
    "end", "else", "elif", "elsif", "except", "finally", "catch", "rescue", "ensure", "then", "fi", "done",
    "esac", "endif",
];

/// A line with its context, for choosing its level.
pub(super) struct LineContext<'a> {
    pub(super) line: Line<'a>,
    /// Last line with content before it.
    pub(super) above: Line<'a>,
    /// True if blank lines separate the two.
    pub(super) after_gap: bool,
}

/// Marks the lines for which `is_unit` holds as units and indented lines as parts, deeper ones finer.
/// Lines after a blank line are coarser than the others of their depth.
pub(super) fn mark_units<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    is_unit: impl Fn(&LineContext) -> bool,
) -> Vec<Boundary> {
    mark_levels(lines, |context| is_unit(context).then_some(BoundaryLevel::Unit))
}

/// Marks the boundaries, where `known` gives the level of some lines.
pub(super) fn mark_levels<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    known: impl Fn(&LineContext) -> Option<BoundaryLevel>,
) -> Vec<Boundary> {
    let mut marker = BoundaryBuilder::default();
    let mut above: Option<Line> = None;
    for line in lines {
        if line.is_blank() {
            marker.add_blank(&line);
            continue;
        }
        let context = above.map(|above| LineContext { line, above, after_gap: marker.after_gap() });
        match context.and_then(|context| known(&context).or_else(|| part_level(&context))) {
            Some(rank) => marker.add(&line, rank),
            None => marker.continue_unit(),
        }
        above = Some(line);
    }
    marker.finish()
}

fn part_level(context: &LineContext) -> Option<BoundaryLevel> {
    let indent = context.line.indent();
    let begins_body = indent > context.above.indent() && !context.after_gap;
    let part = BoundaryLevel::part(2 * (indent / COLUMNS_PER_LEVEL) + usize::from(!context.after_gap));
    (!begins_body && !continues_block(context)).then_some(part)
}

/// Returns true if the line ends or continues a block that began above it.
pub(super) fn continues_block(context: &LineContext) -> bool {
    let line = context.line.trimmed();
    match line.as_bytes().first() {
        Some(b'}' | b')' | b']') => true,
        Some(b'{') => !context.above.trimmed().ends_with([',', '[', '}']),
        Some(b'<') => line.starts_with("</"),
        Some(b'*') => line.starts_with("*/"),
        _ => {
            let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            CONTINUATION_WORDS.contains(&word)
        }
    }
}

/// Cuts between lines and their continuations.
#[derive(Debug)]
pub(super) struct LineChunker;

impl Chunker for LineChunker {
    fn kind(&self) -> TextKind {
        TextKind::Lines
    }

    fn matches(&self, _sample: &TextSample) -> bool {
        true
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = mark_units(window.lines(), |context| !stamp::continues_entry(context.line.text));
        sentence::mark_long_lines(window.lines(), window.text, &mut boundaries);
        boundaries
    }
}
