//! Markdown: sections, and in them paragraphs, list items, tables and fences.

use super::line::Line;
use super::mark::Marker;
use super::{Chunker, Mark, Rank, Sample, Window, sentence};

mod block;
pub mod outline;
mod state;

use block::{Blocks, Kind};

/// The one kind of text whose sections have headings.
pub(crate) const NAME: &str = "markdown";
/// Columns of a list item's second and following lines; what is indented less ends the list.
const ITEM_INDENT: usize = 2;

/// Chunks of whole blocks.
#[derive(Debug)]
pub(super) struct Markdown;

impl Chunker for Markdown {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A heading, a fence or a table among blank lines, and signs of markdown in one line of thirty.
    fn claims(&self, sample: &Sample) -> bool {
        let mut blocks = Blocks::at_start(sample.text());
        let (mut sure, mut signs, mut said) = (0, 0, 0);
        let mut after_blank = true;
        for line in sample.all() {
            let kind = blocks.kind(line.text);
            said += usize::from(!matches!(kind, Kind::Blank | Kind::Fenced));
            match kind {
                Kind::Heading(_) if after_blank => sure += 1,
                Kind::FenceOpen | Kind::Delimiter | Kind::Underline(1) => sure += 1,
                Kind::Item | Kind::Quote => signs += 1,
                Kind::Text => signs += usize::from(line.text.contains("](") || line.text.contains("**")),
                _ => {}
            }
            after_blank = matches!(kind, Kind::Blank);
        }
        sure > 0 && (sure + signs) * 30 >= said && (sure > 1 || signs > 0 || said < 30)
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        let mut blocks = state::at(window);
        let mut amid = !window.begins_line();
        let mut lines = Vec::new();
        for line in window.lines() {
            // The rest of a line says nothing about its kind.
            let kind = match std::mem::take(&mut amid) {
                true if blocks.in_fence() => Kind::Fenced,
                true => Kind::Text,
                false => blocks.kind(line.text),
            };
            lines.push((kind, line));
        }
        let mut reader = Reader::default();
        for (index, (kind, line)) in lines.iter().enumerate() {
            let next = lines.get(index + 1).map_or(Kind::Blank, |(kind, _)| *kind);
            reader.read(*kind, line, next);
        }
        reader.finish(window)
    }
}

/// Reads the lines of a window and marks what begins.
#[derive(Default)]
struct Reader {
    marker: Marker,
    /// What the last line of content was.
    above: Option<Kind>,
    /// How far the last line of content is indented.
    indent: usize,
    in_list: bool,
    /// Whether the last line of content announces what follows it: `such as:`.
    announces: bool,
    /// Rows of the present table.
    rows: usize,
    /// Stretches of running text, for their sentences.
    running: Vec<(usize, usize)>,
}

impl Reader {
    fn read(&mut self, kind: Kind, line: &Line, next: Kind) {
        if kind == Kind::Blank || kind == Kind::Fenced && line.is_blank() {
            self.marker.blank(line);
            return;
        }
        let after_gap = self.marker.after_gap();
        self.rows = if matches!(kind, Kind::Row | Kind::Delimiter) { self.rows + 1 } else { 0 };
        let inside = matches!(kind, Kind::Item | Kind::Fenced | Kind::FenceEnd);
        let ends_list = after_gap && !inside || matches!(kind, Kind::Heading(_));
        if ends_list && line.indent() < ITEM_INDENT {
            self.in_list = false;
        }
        match self.above.and_then(|above| self.rank(kind, above, line, next)) {
            Some(rank) => self.marker.begin(line, rank),
            None => self.marker.go_on(),
        }
        self.note(kind, line);
    }

    /// Remembers a line for those that follow it.
    fn note(&mut self, kind: Kind, line: &Line) {
        if matches!(kind, Kind::Text | Kind::Item | Kind::Quote) {
            match self.running.last_mut() {
                Some((_, end)) if *end == line.start => *end = line.end,
                _ => self.running.push((line.start, line.end)),
            }
        }
        self.in_list |= kind == Kind::Item;
        self.announces = kind == Kind::Text && line.text.trim_end().ends_with([':', '：']);
        self.above = Some(kind);
        self.indent = line.indent();
    }

    fn rank(&self, kind: Kind, above: Kind, line: &Line, next: Kind) -> Option<Rank> {
        let after_gap = self.marker.after_gap();
        let after_heading = matches!(above, Kind::Heading(_) | Kind::Underline(_));
        let depth = 1 + line.indent() / ITEM_INDENT;
        // The first of the nested ones stays with what it is nested in.
        let nested = if line.indent() > self.indent { Rank::part(depth) } else { Rank::item(depth) };
        // What was announced, and what a heading heads, stays with it unless both are too large.
        let block = if after_heading || self.announces { Rank::Part(0) } else { Rank::Unit };
        match kind {
            Kind::Heading(_) if after_heading => Some(Rank::Part(0)),
            Kind::Heading(level) => Some(Rank::Section(level)),
            Kind::Fenced => (after_gap && above == Kind::Fenced).then(|| Rank::part(8 + line.indent() / 2)),
            Kind::FenceEnd | Kind::Hidden | Kind::HtmlEnd => None,
            Kind::Html if !after_gap && matches!(above, Kind::Html | Kind::HtmlEnd) => {
                line.text.trim_start().starts_with('<').then_some(Rank::part(2 + line.indent() / 2))
            }
            Kind::Item | Kind::FenceOpen if self.in_list && line.indent() >= ITEM_INDENT => Some(nested),
            Kind::Item | Kind::FenceOpen => Some(block),
            Kind::Row | Kind::Delimiter if self.rows > 1 => (self.rows > 3).then_some(Rank::Part(1)),
            _ if after_gap || after_heading || matches!(above, Kind::FenceEnd | Kind::Row | Kind::Hidden) => {
                if self.in_list && line.indent() >= ITEM_INDENT {
                    Some(nested)
                } else if let (Kind::Underline(level), Kind::Text) = (next, kind) {
                    Some(if after_heading { Rank::Part(0) } else { Rank::Section(level) })
                } else {
                    Some(block)
                }
            }
            _ => None,
        }
    }

    fn finish(self, window: &Window) -> Vec<Mark> {
        let mut marks = self.marker.finish();
        for (start, end) in self.running {
            sentence::mark(window.text, start..end, &mut marks);
        }
        marks
    }
}
