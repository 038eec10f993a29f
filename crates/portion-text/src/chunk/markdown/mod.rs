//! Finds boundaries in Markdown: sections, and in them paragraphs, list items, tables and fences.

mod block_state;
pub mod outline;

use super::chunker::{BoundaryBuilder, Line};
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence};
use block_state::{BlockState, LineKind};

/// Name of the kind of text whose sections have headings.
pub const NAME: &str = TextKind::Markdown.name();
/// Columns by which the following lines of a list item are indented; a smaller indentation ends the list.
const ITEM_INDENT: usize = 2;

/// Cuts between blocks.
#[derive(Debug)]
pub(super) struct MarkdownChunker;

impl Chunker for MarkdownChunker {
    fn kind(&self) -> TextKind {
        TextKind::Markdown
    }

    /// Matches text with a heading, fence or table after blank lines, and Markdown syntax in one of
    /// thirty lines. The rows of a table are no lines of content.
    fn matches(&self, sample: &TextSample) -> bool {
        let mut blocks = BlockState::at_start(sample.text());
        let (mut sure, mut signs, mut content_lines) = (0, 0, 0);
        let (mut after_blank, mut in_table) = (true, false);
        for line in sample.all_lines() {
            let kind = blocks.classify(line.text);
            let is_row = kind == LineKind::TableRow || kind == LineKind::Text && line.text.contains('|');
            in_table = kind == LineKind::TableDelimiter || in_table && is_row;
            content_lines += usize::from(!in_table && !matches!(kind, LineKind::Blank | LineKind::Fenced));
            match kind {
                LineKind::Heading(_) if after_blank => sure += 1,
                LineKind::FenceOpen | LineKind::TableDelimiter | LineKind::Underline(1) => sure += 1,
                LineKind::ListItem | LineKind::Quote => signs += 1,
                LineKind::Text => signs += usize::from(line.text.contains("](") || line.text.contains("**")),
                _ => {}
            }
            after_blank = matches!(kind, LineKind::Blank);
        }
        sure > 0 && (sure + signs) * 30 >= content_lines && (sure > 1 || signs > 0 || content_lines < 30)
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut blocks = block_state::open_blocks(window);
        let mut amid = !window.begins_line();
        let mut lines = Vec::new();
        for line in window.lines() {
            // The rest of a partial line does not show its kind.
            let kind = match std::mem::take(&mut amid) {
                true if blocks.in_fence() => LineKind::Fenced,
                true => LineKind::Text,
                false => blocks.classify(line.text),
            };
            lines.push((kind, line));
        }
        let mut reader = MarkdownMarker::default();
        for (index, (kind, line)) in lines.iter().enumerate() {
            let next = lines.get(index + 1).map_or(LineKind::Blank, |(kind, _)| *kind);
            reader.read_line(*kind, line, next);
        }
        reader.finish(window)
    }
}

/// Reads the lines of a window and collects boundaries.
#[derive(Default)]
struct MarkdownMarker {
    boundaries: BoundaryBuilder,
    /// Kind of the last line with content.
    previous_kind: Option<LineKind>,
    /// Indentation of the last line with content.
    previous_indent: usize,
    in_list: bool,
    /// True if the last line with content announces the next one: `such as:`.
    previous_announces: bool,
    /// Rows so far in the current table.
    table_row_count: usize,
    /// Ranges of running text, in which sentences are marked.
    prose_ranges: Vec<(usize, usize)>,
}

impl MarkdownMarker {
    fn read_line(&mut self, kind: LineKind, line: &Line, next: LineKind) {
        if kind == LineKind::Blank || kind == LineKind::Fenced && line.is_blank() {
            self.boundaries.add_blank(line);
            return;
        }
        let after_gap = self.boundaries.after_gap();
        self.table_row_count = if matches!(kind, LineKind::TableRow | LineKind::TableDelimiter) {
            self.table_row_count + 1
        } else {
            0
        };
        let inside = matches!(kind, LineKind::ListItem | LineKind::Fenced | LineKind::FenceEnd);
        let ends_list = after_gap && !inside || matches!(kind, LineKind::Heading(_));
        if ends_list && line.indent() < ITEM_INDENT {
            self.in_list = false;
        }
        match self.previous_kind.and_then(|above| self.boundary_level(kind, above, line, next)) {
            Some(rank) => self.boundaries.add(line, rank),
            None => self.boundaries.continue_unit(),
        }
        self.remember(kind, line);
    }

    /// Stores the state that the following lines need.
    fn remember(&mut self, kind: LineKind, line: &Line) {
        if matches!(kind, LineKind::Text | LineKind::ListItem | LineKind::Quote) {
            match self.prose_ranges.last_mut() {
                Some((_, end)) if *end == line.start => *end = line.end,
                _ => self.prose_ranges.push((line.start, line.end)),
            }
        }
        self.in_list |= kind == LineKind::ListItem;
        self.previous_announces = kind == LineKind::Text && line.text.trim_end().ends_with([':', '：']);
        self.previous_kind = Some(kind);
        self.previous_indent = line.indent();
    }

    fn boundary_level(
        &self,
        kind: LineKind,
        above: LineKind,
        line: &Line,
        next: LineKind,
    ) -> Option<BoundaryLevel> {
        let after_gap = self.boundaries.after_gap();
        let after_heading = matches!(above, LineKind::Heading(_) | LineKind::Underline(_));
        let depth = 1 + line.indent() / ITEM_INDENT;
        // The first nested item stays with the item that contains it.
        let nested = if line.indent() > self.previous_indent {
            BoundaryLevel::part(depth)
        } else {
            BoundaryLevel::item(depth)
        };
        // A block that was announced, or that follows a heading, stays with that line unless both are too
        // large.
        let block = if after_heading || self.previous_announces {
            BoundaryLevel::Part(0)
        } else {
            BoundaryLevel::Unit
        };
        match kind {
            LineKind::Heading(_) if after_heading => Some(BoundaryLevel::Part(0)),
            LineKind::Heading(level) => Some(BoundaryLevel::Section(level)),
            LineKind::Fenced => {
                (after_gap && above == LineKind::Fenced).then(|| BoundaryLevel::part(8 + line.indent() / 2))
            }
            LineKind::FenceEnd | LineKind::NonContent | LineKind::HtmlEnd => None,
            LineKind::Html if !after_gap && matches!(above, LineKind::Html | LineKind::HtmlEnd) => {
                line.text.trim_start().starts_with('<').then_some(BoundaryLevel::part(2 + line.indent() / 2))
            }
            LineKind::ListItem | LineKind::FenceOpen if self.in_list && line.indent() >= ITEM_INDENT => {
                Some(nested)
            }
            LineKind::ListItem | LineKind::FenceOpen => Some(block),
            LineKind::TableRow | LineKind::TableDelimiter if self.table_row_count > 1 => {
                (self.table_row_count > 3).then_some(BoundaryLevel::Part(1))
            }
            _ if after_gap
                || after_heading
                || matches!(above, LineKind::FenceEnd | LineKind::TableRow | LineKind::NonContent) =>
            {
                if self.in_list && line.indent() >= ITEM_INDENT {
                    Some(nested)
                } else if let (LineKind::Underline(level), LineKind::Text) = (next, kind) {
                    Some(if after_heading { BoundaryLevel::Part(0) } else { BoundaryLevel::Section(level) })
                } else {
                    Some(block)
                }
            }
            _ => None,
        }
    }

    fn finish(self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = self.boundaries.finish();
        for (start, end) in self.prose_ranges {
            sentence::mark_sentences(window.text, start..end, &mut boundaries);
        }
        boundaries
    }
}
