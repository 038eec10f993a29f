//! What is looked for, and how: each way in turn, until one finds something.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::FindError;
use super::fuel::Fuel;
use super::literal::{Literal, is_unspaced};
use super::regex_engine::RegexEngine;

/// Bytes that a pattern may have.
const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Characters that mean something else in a regular expression.
const METACHARACTERS: [char; 12] = ['.', '*', '+', '?', '|', '(', '[', '{', '^', '$', '\\', ')'];
/// Words of a pattern that are looked for one by one.
const MAX_WORDS: usize = 24;

/// A pattern as it was given.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    text: &'a str,
    literal: Literal,
}

/// One way of looking for a pattern in a text.
pub(super) enum Matcher {
    /// As it is written.
    Literal(Literal),
    /// By an expression, which stands for a literal whose case is ignored where one is given.
    Regex(Box<RegexEngine>, Option<Literal>),
}

impl<'a> Pattern<'a> {
    /// # Errors
    /// Where there is nothing to look for, or too much.
    pub(super) fn parse(text: &'a str) -> Result<Self, FindError> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(FindError::TooLong { given: text.len(), most: MAX_PATTERN_BYTES });
        }
        let literal = Literal::new(text).ok_or(FindError::Empty)?;
        Ok(Self { text, literal })
    }

    /// What was given, without the white space around it.
    pub(super) fn text(&self) -> &'a str {
        self.text.trim()
    }

    /// As it is written.
    pub(super) fn literal(&self) -> Matcher {
        Matcher::Literal(self.literal.clone())
    }

    /// As the regular expression between its slashes, where there are any.
    pub(super) fn regex(&self) -> Option<Result<Matcher, FindError>> {
        let (inside, flags) = self.text.trim().strip_prefix('/')?.rsplit_once('/')?;
        let known = |c: char| matches!(c, 'i' | 'g' | 'm' | 'u');
        if inside.is_empty() || flags.len() > 4 || !flags.chars().all(known) {
            return None;
        }
        let engine = RegexEngine::new(inside, flags.contains('i'));
        Some(engine.map(|engine| Matcher::Regex(Box::new(engine), None)))
    }

    /// As the regular expression that text without slashes is, where it has signs of one and stands for some text.
    pub(super) fn implied_regex(&self, ignore_case: bool) -> Option<Matcher> {
        let text = self.text.trim();
        if !text.contains(METACHARACTERS) {
            return None;
        }
        let engine = RegexEngine::new(text, ignore_case).ok().filter(|engine| !engine.can_match_empty())?;
        Some(Matcher::Regex(Box::new(engine), None))
    }

    /// As it is written but for the case of its letters; `None` where it is too long for that.
    pub(super) fn ignoring_case(&self) -> Option<Matcher> {
        let engine = RegexEngine::new(&self.literal.to_regex(), true).ok()?;
        Some(Matcher::Regex(Box::new(engine), Some(self.literal.clone())))
    }

    /// Its words in lower case, each once; none where it is written as one.
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
    /// The first match from a byte on.
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

    /// Whether each occurrence is counted, not just each line that has one.
    pub(super) fn counts_occurrences(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Whether a value is what is looked for and nothing else.
    pub(super) fn matches_whole(&self, value: &str) -> bool {
        match self {
            Self::Literal(literal) | Self::Regex(_, Some(literal)) => literal.matches_whole(value),
            Self::Regex(_, None) => false,
        }
    }

    /// The stretch of it that stands in JSON as it is, and whether its case is ignored; `None` where none need be.
    pub(super) fn longest_unescaped(&self) -> Option<(&str, bool)> {
        match self {
            Self::Literal(literal) => literal.longest_unescaped().map(|stretch| (stretch, false)),
            Self::Regex(_, Some(literal)) => literal.longest_unescaped().map(|stretch| (stretch, true)),
            Self::Regex(_, None) => None,
        }
    }
}
