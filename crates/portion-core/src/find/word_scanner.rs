//! Finds the next of several words in a long text. Each word is searched
//! separately, at many bytes per nanosecond if it is rare: a single expression for all words stops wherever any two
//! letters may begin a word.

use std::ops::Range;

use super::FindError;
use super::error::Fuel;
use super::regex_engine::RegexEngine;

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
