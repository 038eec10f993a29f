//! Prose: paragraphs and sentences, hard-wrapped or not, with or without blank lines between
//! paragraphs, in pages or not.

use super::boundary::BoundaryBuilder;
use super::line::Line;
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextSample, sentence};

/// Lines up to this many characters are taken for hard-wrapped ones.
const MAX_WRAP_CHARS: usize = 120;
/// Words that make a line one of prose; scripts without spaces need this many characters instead.
const MIN_WORDS: usize = 4;
const MIN_CHARS: usize = 12;
/// A heading has at most this many characters.
const MAX_HEADING_CHARS: usize = 80;

/// Chunks of whole paragraphs.
#[derive(Debug)]
pub(super) struct ProseChunker;

impl Chunker for ProseChunker {
    fn name(&self) -> &'static str {
        "prose"
    }

    /// Half of the lines have words enough, and sentences end in a tenth of them.
    fn matches(&self, sample: &TextSample) -> bool {
        let (mut lines, mut wordy, mut complete) = (0, 0, 0);
        for line in sample.lines() {
            let said = line.trimmed();
            lines += 1;
            wordy += usize::from(is_wordy(said));
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
                // The head of a page goes with the page.
                Some(rank) => marker.add_at(page.unwrap_or(line.start), rank),
                None => marker.continue_unit(),
            }
            (above, page) = (Some(*line), None);
        }
        let mut marks = marker.finish();
        sentence::mark_sentences(window.text, window.range(), &mut marks);
        marks
    }
}

/// How wide the lines are, where they are wrapped.
struct WrapWidth(Option<usize>);

impl WrapWidth {
    /// Nine lines of ten are at most as wide as the wrap; one may be a long link.
    fn from_lines(lines: &[Line]) -> Self {
        let mut widths: Vec<_> =
            lines.iter().filter(|line| !line.is_blank()).map(|line| line.text.chars().count()).collect();
        widths.sort_unstable();
        Self(widths.get(widths.len() * 9 / 10).copied().filter(|width| *width <= MAX_WRAP_CHARS))
    }

    /// What begins with a line, if anything does.
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
                // A heading stays with what it heads, unless that is too large.
                _ if heading_level(above.text).is_some() => BoundaryLevel::Part(0),
                Some(level) => BoundaryLevel::Section(level),
                None => BoundaryLevel::Unit,
            });
        }
        // In wrapped text a line that had room for the next word was ended on purpose.
        let word = line.trimmed().split_whitespace().next().unwrap_or_default();
        let room = |width: usize| above.text.trim_end().chars().count() + 1 + word.chars().count() < width;
        if !self.0.is_none_or(room) {
            None
        } else if complete {
            Some(BoundaryLevel::Unit)
        } else {
            Some(BoundaryLevel::Part(0))
        }
    }
}

/// Whether a line goes on with the sentence above it.
fn continues_sentence(said: &str) -> bool {
    let mut chars = said.chars();
    chars.next().is_some_and(char::is_lowercase)
        && chars.next().is_some_and(|c| c.is_alphabetic() || c == ' ')
}

/// The level of a heading: `1.2 Terms`, `Chapter IV`, `THE END`.
pub(crate) fn heading_level(line: &str) -> Option<u8> {
    let said = line.trim_end();
    if said.is_empty()
        || said.starts_with([' ', '\t'])
        || said.len() > 4 * MAX_HEADING_CHARS
        || sentence::is_complete(said)
    {
        return None;
    }
    let mut words = said.split_whitespace();
    let first = words.next()?;
    let number = first.trim_end_matches('.');
    let numbered = number.starts_with(|c: char| c.is_ascii_digit())
        && number.len() <= 12
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    if said.chars().count() > MAX_HEADING_CHARS {
        None
    } else if numbered && words.next().is_some_and(|word| word.starts_with(char::is_alphabetic)) {
        Some(1 + number.matches('.').count() as u8)
    } else if ["chapter", "part", "book", "act", "appendix"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word))
    {
        Some(1)
    } else {
        let shouted = said.contains(char::is_uppercase) && !said.contains(char::is_lowercase);
        (shouted && said.chars().filter(|c| c.is_alphabetic()).count() >= 4).then_some(1)
    }
}

/// Whether a line is the foot or the head of a page: `… [Page 7]`, and the first line after a form feed.
fn is_page_edge(lines: &[Line], index: usize) -> bool {
    let said = lines[index].trimmed();
    let foot = said.ends_with(']') && said.contains("[Page ");
    let is_feed = |line: &Line| line.text.contains('\u{c}');
    foot || lines[..index].iter().rev().take(3).take_while(|line| line.is_blank()).any(is_feed)
        || is_feed(&lines[index])
}

fn is_wordy(said: &str) -> bool {
    let spaced =
        said.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).take(MIN_WORDS).count();
    spaced == MIN_WORDS
        || said.chars().filter(|c| *c > '\u{2e80}' && c.is_alphabetic()).take(MIN_CHARS).count() == MIN_CHARS
}
