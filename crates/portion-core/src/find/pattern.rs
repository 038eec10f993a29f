//! Parses a pattern into the matchers that are tried in turn.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::FindError;
use super::fuel::Fuel;
use super::literal::{Literal, is_unspaced};
use super::regex_engine::RegexEngine;

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Metacharacters of regular expressions.
const METACHARACTERS: [char; 12] = ['.', '*', '+', '?', '|', '(', '[', '{', '^', '$', '\\', ')'];
/// Largest number of words that are searched one by one.
const MAX_WORDS: usize = 24;

/// A pattern as given.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    text: &'a str,
    literal: Literal,
}

/// A way to match a pattern in a text.
pub(super) enum Matcher {
    /// As written.
    Literal(Literal),
    /// By an expression. If a literal is given, the expression matches it without regard to case.
    Regex(Box<RegexEngine>, Option<Literal>),
}

impl<'a> Pattern<'a> {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns an error if the pattern is empty or too long.
    pub(super) fn parse(text: &'a str) -> Result<Self, FindError> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(FindError::TooLong { given: text.len(), most: MAX_PATTERN_BYTES });
        }
        let literal = Literal::new(text).ok_or(FindError::Empty)?;
        Ok(Self { text, literal })
    }

    /// Returns the pattern without surrounding white space.
    pub(super) fn text(&self) -> &'a str {
        self.text.trim()
    }

    /// Returns a matcher for the pattern as written.
    pub(super) fn literal(&self) -> Matcher {
        Matcher::Literal(self.literal.clone())
    }

    /// Returns a matcher for the regular expression between slashes, if there are slashes.
    pub(super) fn regex(&self) -> Option<Result<Matcher, FindError>> {
        let (inside, flags) = self.text.trim().strip_prefix('/')?.rsplit_once('/')?;
        let known = |c: char| matches!(c, 'i' | 'g' | 'm' | 'u');
        if inside.is_empty() || flags.len() > 4 || !flags.chars().all(known) {
            return None;
        }
        let engine = RegexEngine::new(inside, flags.contains('i'));
        Some(engine.map(|engine| Matcher::Regex(Box::new(engine), None)))
    }

    /// Returns a matcher for text without slashes that looks like a regular expression and cannot match empty
    /// text.
    pub(super) fn implied_regex(&self, ignore_case: bool) -> Option<Matcher> {
        if !self.text.contains(METACHARACTERS) {
            return None;
        }
        let engine =
            RegexEngine::new(self.text, ignore_case).ok().filter(|engine| !engine.can_match_empty())?;
        Some(Matcher::Regex(Box::new(engine), None))
    }

    /// Returns a matcher that ignores case, or `None` if the pattern is too long for one.
    pub(super) fn ignoring_case(&self) -> Option<Matcher> {
        let engine = RegexEngine::new(&self.literal.to_regex(), true).ok()?;
        Some(Matcher::Regex(Box::new(engine), Some(self.literal.clone())))
    }

    /// Returns the distinct words in lower case, or none if the pattern is a single word.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if !self.text.trim().contains(|c: char| c.is_whitespace() || is_unspaced(c)) {
            return words;
        }
        for word in self.text.unicode_words().map(str::to_lowercase) {
            if words.len() < MAX_WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }
}

impl Matcher {
    /// Returns the first match from an offset on.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        match self {
            Self::Literal(literal) => literal.find(text, from, fuel),
            Self::Regex(engine, _) => engine.find(text, from, fuel),
        }
    }

    /// Returns true if every occurrence is counted, rather than lines with an occurrence.
    pub(super) fn counts_occurrences(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Returns true if the whole value matches.
    pub(super) fn matches_whole(&self, value: &str) -> bool {
        match self {
            Self::Literal(literal) | Self::Regex(_, Some(literal)) => literal.matches_whole(value),
            Self::Regex(_, None) => false,
        }
    }

    /// Returns the part that is written without escapes in JSON and true if its case is ignored, or `None` if
    /// no part is.
    pub(super) fn longest_unescaped(&self) -> Option<(&str, bool)> {
        match self {
            Self::Literal(literal) => literal.longest_unescaped().map(|part| (part, false)),
            Self::Regex(_, Some(literal)) => literal.longest_unescaped().map(|part| (part, true)),
            Self::Regex(_, None) => None,
        }
    }
}
