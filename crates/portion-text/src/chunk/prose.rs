//! Finds boundaries in prose: paragraphs and sentences, with or without hard wrapping, blank lines and
//! pages.

use super::chunker::{BoundaryBuilder, Line};
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence};

/// Maximum characters of a line that may be hard-wrapped.
const MAX_WRAP_CHARS: usize = 120;
/// Minimum words in a line of prose; for scripts without spaces, minimum characters.
const MIN_WORDS: usize = 4;
const MIN_CHARS: usize = 12;
/// Maximum characters of a heading.
const MAX_HEADING_CHARS: usize = 80;

/// Cuts between paragraphs.
#[derive(Debug)]
pub(super) struct ProseChunker;

impl Chunker for ProseChunker {
    fn kind(&self) -> TextKind {
        TextKind::Prose
    }

    /// Matches text in which half of the lines have enough words and a tenth contain the end of a
    /// sentence.
    fn matches(&self, sample: &TextSample) -> bool {
        let (mut lines, mut wordy, mut complete) = (0, 0, 0);
        for line in sample.lines() {
            let content = line.trimmed();
            lines += 1;
            wordy += usize::from(is_wordy(content));
            complete += usize::from(sentence::has_sentence_end(line));
        }
        lines > 0 && (wordy * 2 >= lines && complete * 10 >= lines || lines == 1 && wordy == 1)
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let lines: Vec<_> = window.lines().collect();
        let width = WrapWidth::from_lines(&lines);
        let mut marker = BoundaryBuilder::default();
        let mut above: Option<Line> = None;
        let mut page: Option<usize> = None;
        for (index, line) in lines.iter().enumerate() {
            if line.is_blank() || is_page_edge(&lines, index) {
                marker.add_blank(line);
                if line.text.contains('\u{c}') {
                    page = Some(if line.is_blank() { line.end } else { line.start });
                }
                continue;
            }
            let next = lines.get(index + 1);
            match above.and_then(|above| width.boundary_level(&above, line, next, marker.after_gap())) {
                // A page header belongs to its page.
                Some(rank) => marker.add_at(page.unwrap_or(line.start), rank),
                None => marker.continue_unit(),
            }
            (above, page) = (Some(*line), None);
        }
        let mut boundaries = marker.finish();
        sentence::mark_sentences(window.text, window.range(), &mut boundaries);
        boundaries
    }
}

/// The width at which lines are wrapped, if they are.
struct WrapWidth(Option<usize>);

impl WrapWidth {
    /// Nine of ten lines are at most as wide as the wrap; the rest may hold long links.
    fn from_lines(lines: &[Line]) -> Self {
        let mut widths: Vec<_> =
            lines.iter().filter(|line| !line.is_blank()).map(|line| line.text.chars().count()).collect();
        widths.sort_unstable();
        Self(widths.get(widths.len() * 9 / 10).copied().filter(|width| *width <= MAX_WRAP_CHARS))
    }

    /// Returns the level of the boundary before a line, if there is one.
    fn boundary_level(
        &self,
        above: &Line,
        line: &Line,
        next: Option<&Line>,
        after_gap: bool,
    ) -> Option<BoundaryLevel> {
        let complete = sentence::is_complete(above.text);
        if !complete && continues_sentence(line.trimmed()) {
            return None;
        }
        if after_gap {
            let level = heading_level(line.text).filter(|_| next.is_none_or(Line::is_blank));
            return Some(match level {
                // A heading stays with its text, unless that is too large.
                _ if heading_level(above.text).is_some() => BoundaryLevel::Part(0),
                Some(level) => BoundaryLevel::Section(level),
                None => BoundaryLevel::Unit,
            });
        }
        // In wrapped text, a line with enough space for the next word was ended on purpose.
        let word = line.trimmed().split_whitespace().next().unwrap_or_default();
        let has_space =
            |width: usize| above.text.trim_end().chars().count() + 1 + word.chars().count() < width;
        if !self.0.is_none_or(has_space) {
            None
        } else if complete {
            Some(BoundaryLevel::Unit)
        } else {
            Some(BoundaryLevel::Part(0))
        }
    }
}

/// Returns true if a line continues the sentence above it.
fn continues_sentence(content: &str) -> bool {
    let mut chars = content.chars();
    chars.next().is_some_and(char::is_lowercase)
        && chars.next().is_some_and(|c| c.is_alphabetic() || c == ' ')
}

/// Returns the level of a heading such as `1.2 Terms`, `Chapter IV`, `THE END`.
pub fn heading_level(line: &str) -> Option<u8> {
    let content = line.trim_end();
    if content.is_empty()
        || content.starts_with([' ', '\t'])
        || content.len() > 4 * MAX_HEADING_CHARS
        || sentence::is_complete(content)
    {
        return None;
    }
    let mut words = content.split_whitespace();
    let first = words.next()?;
    let number = first.trim_end_matches('.');
    let numbered = number.starts_with(|c: char| c.is_ascii_digit())
        && number.len() <= 12
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    if content.chars().count() > MAX_HEADING_CHARS {
        None
    } else if numbered && words.next().is_some_and(|word| word.starts_with(char::is_alphabetic)) {
        Some(1 + number.matches('.').count() as u8)
    } else if ["chapter", "part", "book", "act", "appendix"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word))
    {
        Some(1)
    } else {
        let shouted = content.contains(char::is_uppercase) && !content.contains(char::is_lowercase);
        (shouted && content.chars().filter(|c| c.is_alphabetic()).count() >= 4).then_some(1)
    }
}

/// Returns true for the footer or header of a page: `… [Page 7]`, and the first line after a form feed.
fn is_page_edge(lines: &[Line], index: usize) -> bool {
    let content = lines[index].trimmed();
    let foot = content.ends_with(']') && content.contains("[Page ");
    let is_feed = |line: &Line| line.text.contains('\u{c}');
    foot || lines[..index].iter().rev().take(3).take_while(|line| line.is_blank()).any(is_feed)
        || is_feed(&lines[index])
}

fn is_wordy(content: &str) -> bool {
    let spaced =
        content.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).take(MIN_WORDS).count();
    spaced == MIN_WORDS
        || content.chars().filter(|c| *c > '\u{2e80}' && c.is_alphabetic()).take(MIN_CHARS).count()
            == MIN_CHARS
}
