//! Searches for literal text, with any line wrapping.

use std::fmt::Write as _;
use std::ops::Range;

use memchr::memmem::Finder;

use super::FindError;
use super::error::Fuel;

/// Cost of testing for a word at an offset, in nanoseconds.
const STEP_COST: usize = 16;

/// Literal text: a sequence of words with any white space between them.
///
/// The longest word is searched for, and the others are matched around each of its occurrences.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    pieces: Vec<LiteralPiece>,
    /// Index of the piece that is searched for.
    anchor: usize,
    finder: Finder<'static>,
    /// True if white space, or an end of the text, is required before the match, and after it.
    requires_whitespace: (bool, bool),
}

#[derive(Clone, Debug)]
struct LiteralPiece {
    text: String,
    /// Text allowed before this piece.
    gap: Gap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// One or more white space characters.
    Space,
    /// Nothing, or a line break with indentation: scripts without spaces wrap anywhere.
    Wrap,
}

impl Literal {
    /// Parses a pattern, or returns `None` if it contains only white space.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut pieces: Vec<LiteralPiece> = Vec::new();
        let mut last = ' ';
        for c in pattern.chars() {
            if !c.is_whitespace() {
                let wraps = is_unspaced(last) && is_unspaced(c);
                match pieces.last_mut() {
                    Some(piece) if !last.is_whitespace() && !wraps => piece.text.push(c),
                    _ => {
                        pieces.push(LiteralPiece {
                            text: c.into(),
                            gap: if wraps { Gap::Wrap } else { Gap::Space },
                        });
                    }
                }
            }
            last = c;
        }
        let anchor = (0..pieces.len()).rev().max_by_key(|at| pieces[*at].text.len())?;
        let finder = Finder::new(&pieces[anchor].text).into_owned();
        let spaced = (pattern.starts_with(char::is_whitespace), pattern.ends_with(char::is_whitespace));
        Some(Self { pieces, anchor, finder, requires_whitespace: spaced })
    }

    /// Returns the first match from an offset on.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let mut at = from;
        while let Some(found) = text.as_bytes().get(at..).and_then(|rest| self.finder.find(rest)) {
            fuel.burn(found / 16 + STEP_COST)?;
            let start = at + found;
            let around = self.match_around_anchor(text, start, fuel)?.filter(|place| place.start >= from);
            if around.is_some() {
                return Ok(around);
            }
            at = start + text.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        }
        Ok(None)
    }

    /// Returns the whole match around an occurrence of the anchor.
    fn match_around_anchor(
        &self,
        text: &str,
        at: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let anchor = at..at + self.pieces[self.anchor].text.len();
        let (mut start, mut end) = (anchor.start, anchor.end);
        for piece in &self.pieces[self.anchor + 1..] {
            let Some(after) = piece.match_after(text, end) else {
                return Ok(None);
            };
            fuel.burn(after - end + STEP_COST)?;
            end = after;
        }
        for at in (0..self.anchor).rev() {
            let Some(before) = self.pieces[at].match_before(self.pieces[at + 1].gap, text, start) else {
                return Ok(None);
            };
            fuel.burn(start - before + STEP_COST)?;
            start = before;
        }
        let open = |stands: bool, near: Option<char>| !stands || near.is_none_or(char::is_whitespace);
        let fits = open(self.requires_whitespace.0, text[..start].chars().next_back())
            && open(self.requires_whitespace.1, text[end..].chars().next());
        Ok(fits.then_some(start..end))
    }

    /// Returns the longest part that JSON always writes without escapes, or `None` if there is no such part.
    pub(super) fn longest_unescaped(&self) -> Option<&str> {
        let escaped = |c: char| matches!(c, '"' | '\\' | '/') || c.is_control();
        let parts = self.pieces.iter().flat_map(|piece| piece.text.split(escaped));
        parts.filter(|part| !part.is_empty()).rev().max_by_key(|part| part.len())
    }

    /// Returns the equivalent regular expression.
    pub(super) fn to_regex(&self) -> String {
        let mut regex = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            regex.push_str(match piece.gap {
                _ if at == 0 => "",
                Gap::Space => r"\s+",
                Gap::Wrap => r"(?:[ \t\x{3000}]*\r?\n[ \t\x{3000}]*)?",
            });
            let _ = write!(regex, "{}", regex_syntax::escape(&piece.text));
        }
        regex
    }

    /// Returns true if the whole text matches.
    pub(super) fn matches_whole(&self, text: &str) -> bool {
        match self.pieces.as_slice() {
            [piece] => text == piece.text,
            pieces => {
                let mut chars = text.split_whitespace().flat_map(str::chars);
                pieces.iter().flat_map(|piece| piece.text.chars()).all(|c| chars.next() == Some(c))
                    && chars.next().is_none()
            }
        }
    }
}

impl LiteralPiece {
    /// Returns the end of this piece if it follows the text before `at`.
    fn match_after(&self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let after = |rest: &str| Some(text.len() - rest.strip_prefix(self.text.as_str())?.len());
        match self.gap {
            Gap::Space => {
                let trimmed = rest.trim_start();
                if trimmed.len() == rest.len() { None } else { after(trimmed) }
            }
            Gap::Wrap => after(rest).or_else(|| {
                let line = rest.trim_start_matches(is_indent);
                let line = line.strip_prefix("\r\n").or_else(|| line.strip_prefix('\n'))?;
                after(line.trim_start_matches(is_indent))
            }),
        }
    }

    /// Returns the start of this piece if it precedes `at` with such a gap between.
    fn match_before(&self, gap: Gap, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(..at)?;
        let before = |rest: &str| Some(rest.strip_suffix(self.text.as_str())?.len());
        match gap {
            Gap::Space => {
                let trimmed = rest.trim_end();
                if trimmed.len() == rest.len() { None } else { before(trimmed) }
            }
            Gap::Wrap => before(rest).or_else(|| {
                let line = rest.trim_end_matches(is_indent).strip_suffix('\n')?;
                before(line.strip_suffix('\r').unwrap_or(line).trim_end_matches(is_indent))
            }),
        }
    }
}

fn is_indent(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{3000}')
}

/// Returns true for characters of scripts without spaces between words: Han, Kana and their punctuation.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fff}'
        | '\u{3001}'..='\u{312f}'
        | '\u{3190}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff01}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
}
