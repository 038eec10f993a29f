//! Finds the offsets in JSON source text where a match is possible, so that other values can be skipped. Each of several
//! words is searched separately, at many bytes per nanosecond if it is rare: a single expression for all words stops
//! wherever any two letters may begin a word.

use std::ops::Range;

use memchr::memmem::Finder;

use super::FindError;
use super::error::Fuel;
use super::pattern::Matcher;
use super::regex_engine::RegexEngine;

/// Candidate offsets in a JSON text, found on demand.
pub(super) struct Candidates {
    prefilter: Prefilter,
    /// Prefix of escapes that may stand for a character of the pattern.
    escape_finder: Finder<'static>,
    positions: NextPositions,
}

/// Next literal occurrence and next escape after the last requested offset, if searched; `usize::MAX` if
/// there is none.
pub(super) type NextPositions = [Option<usize>; 2];

/// Returns the offset of the first numeric escape in a text, or `usize::MAX` if there is none.
pub(super) fn first_escape(text: &str) -> usize {
    memchr::memmem::find(text.as_bytes(), b"\\u").unwrap_or(usize::MAX)
}

enum Prefilter {
    /// Anywhere.
    Anywhere,
    /// At occurrences of this literal.
    Literal(Box<Finder<'static>>),
    /// At matches of this expression.
    Regex(Box<RegexEngine>),
    /// At occurrences of one of these words that no letter or digit follows.
    Words(WordScanner),
}

impl Candidates {
    fn new(matcher: &Matcher) -> Self {
        let (spelled, escapes) = match matcher.longest_unescaped() {
            None => (Prefilter::Anywhere, "\\u"),
            // An escaped ASCII character is `\u00` and two digits.
            Some((literal, false)) => {
                let escapes = if literal.is_ascii() { "\\u00" } else { "\\u" };
                (Prefilter::Literal(Box::new(Finder::new(literal).into_owned())), escapes)
            }
            Some((literal, true)) => {
                let engine = RegexEngine::new(&regex_syntax::escape(literal), true);
                (engine.map_or(Prefilter::Anywhere, |engine| Prefilter::Regex(Box::new(engine))), "\\u")
            }
        };
        Self { prefilter: spelled, escape_finder: Finder::new(escapes).into_owned(), positions: [None; 2] }
    }

    /// Creates candidates with known first positions.
    pub(super) fn with_positions(matcher: &Matcher, nearest: NextPositions) -> Self {
        Self { positions: nearest, ..Self::new(matcher) }
    }

    /// Returns the first positions in a text whose first escape is known, or `None` if nothing in it can
    /// match.
    pub(super) fn first_positions(
        matcher: &Matcher,
        text: &str,
        escape: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<NextPositions>, FindError> {
        let mut candidates = Self::with_positions(matcher, [None, Some(escape)]);
        Ok(candidates.next_from(text, 0, fuel)?.map(|_| candidates.positions))
    }

    /// Creates candidates for several words, none of which contains a character that JSON must escape.
    pub(super) fn of_words(words: &[String]) -> Result<Self, FindError> {
        let escapes = Finder::new("\\u").into_owned();
        Ok(Self {
            prefilter: Prefilter::Words(WordScanner::new(words)?),
            escape_finder: escapes,
            positions: [None; 2],
        })
    }

    /// Returns the first candidate from an offset on. Offsets must not decrease between calls.
    pub(super) fn next_from(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<usize>, FindError> {
        let [literal, escape] = &mut self.positions;
        let passed = |next: &Option<usize>| next.is_none_or(|at| at < from);
        if passed(literal) {
            let rest = || text.as_bytes().get(from..).unwrap_or_default();
            let found = match &mut self.prefilter {
                Prefilter::Anywhere => return Ok((from < text.len()).then_some(from)),
                Prefilter::Literal(finder) => finder.find(rest()).map(|at| from + at),
                Prefilter::Regex(engine) => {
                    let from = text.ceil_char_boundary(from);
                    engine.find(text, from, fuel)?.map(|found| found.start)
                }
                Prefilter::Words(words) => find_whole_word(words, text, from, fuel)?,
            };
            *literal = Some(found.unwrap_or(usize::MAX));
            fuel.burn(found.unwrap_or(text.len()).saturating_sub(from) / 16 + 16)?;
        }
        if passed(escape) {
            let found = self.escape_finder.find(text.as_bytes().get(from..).unwrap_or_default());
            *escape = Some(found.map_or(usize::MAX, |at| from + at));
        }
        Ok(self.positions.iter().flatten().copied().min().filter(|at| *at < text.len()))
    }
}

/// Returns the first of several words from an offset on that no letter or digit follows.
fn find_whole_word(
    words: &mut WordScanner,
    text: &str,
    from: usize,
    fuel: &mut Fuel<'_>,
) -> Result<Option<usize>, FindError> {
    let mut from = text.ceil_char_boundary(from);
    while let Some(found) = words.find(text, from, fuel)? {
        let alphanumeric = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
        if !(alphanumeric(found.end) && alphanumeric(found.end.saturating_sub(1))) {
            return Ok(Some(found.start));
        }
        from = text.ceil_char_boundary(found.start + 1);
    }
    Ok(None)
}

/// Largest number of words that are searched separately; more are searched together.
const MAX_SEPARATE_WORDS: usize = 6;

/// Words to find in one text, from its beginning on.
pub(super) struct WordScanner(Vec<ScannedWord>);

struct ScannedWord {
    engine: RegexEngine,
    next: NextMatch,
}

enum NextMatch {
    Unknown,
    At(Range<usize>),
    Exhausted,
}

/// Returns an expression that matches any of the words, the longest first.
pub(super) fn alternation_pattern(words: &[String]) -> String {
    let escaped: Vec<String> =
        sort_longest_first(words).into_iter().map(|word| regex_syntax::escape(word)).collect();
    escaped.join("|")
}

fn sort_longest_first(words: &[String]) -> Vec<&String> {
    let mut longest: Vec<&String> = words.iter().collect();
    longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
    longest
}

impl WordScanner {
    pub(super) fn new(words: &[String]) -> Result<Self, FindError> {
        let patterns: Vec<String> = if words.len() > MAX_SEPARATE_WORDS {
            vec![alternation_pattern(words)]
        } else {
            sort_longest_first(words).into_iter().map(|word| regex_syntax::escape(word)).collect()
        };
        let scanned = |pattern: &String| {
            Ok(ScannedWord { engine: RegexEngine::new(pattern, true)?, next: NextMatch::Unknown })
        };
        patterns.iter().map(scanned).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the first of the words from an offset on, and the longest of those that begin there. Offsets
    /// must not decrease between calls.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let mut first: Option<&Range<usize>> = None;
        for ScannedWord { engine, next } in &mut self.0 {
            let is_passed = match next {
                NextMatch::Unknown => true,
                NextMatch::At(place) => place.start < from,
                NextMatch::Exhausted => false,
            };
            if is_passed {
                *next = engine.find(text, from, fuel)?.map_or(NextMatch::Exhausted, NextMatch::At);
            }
            if let NextMatch::At(place) = next
                && first.is_none_or(|first| place.start < first.start)
            {
                first = Some(place);
            }
        }
        Ok(first.cloned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{WordScanner, alternation_pattern};
    use crate::find::error::Fuel;
    use crate::find::regex_engine::RegexEngine;

    proptest! {
        /// Separate searches find words at the same offsets as a single expression for all words.
    #[test]
    fn separate_searches_match_a_single_expression(
        words in prop::collection::hash_set("[abk']{1,3}|\u{e9}|\u{6240}", 1..9),
        text in "([abkABK' ]|\u{e9}|\u{212a}|\u{6240}){0,80}",
    ) {
        let words: Vec<String> = words.into_iter().collect();
        let mut fuel = Fuel::for_bytes(0);
        let mut all = RegexEngine::new(&alternation_pattern(&words), true)?;
        let mut scanner = WordScanner::new(&words)?;
        let mut from = 0;
        loop {
            let found = all.find(&text, from, &mut fuel)?;
            prop_assert_eq!(&found, &scanner.find(&text, from, &mut fuel)?);
            let Some(found) = found else { break };
            from = found.end;
        }
    }
    }
}
