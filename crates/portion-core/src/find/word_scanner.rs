//! The next of a few words in a long text. Each is looked for by itself, at many bytes a nanosecond where it is rare:
//! an expression for all of them at once has to stop wherever any two letters may begin one.

use std::ops::Range;

use super::FindError;
use super::fuel::Fuel;
use super::regex_engine::RegexEngine;

/// Words that are looked for one by one; more are looked for together.
const MAX_SEPARATE_WORDS: usize = 6;

/// Words that are looked for in one text, from its beginning on.
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

/// Any of some words, the longest first, as an expression.
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
        let sought = |pattern: &String| {
            Ok(ScannedWord { engine: RegexEngine::new(pattern, true)?, next: NextMatch::Unknown })
        };
        patterns.iter().map(sought).collect::<Result<_, _>>().map(Self)
    }

    /// The first of the words from a byte on, of those that begin there the longest; the bytes asked for ascend.
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
    use crate::find::fuel::Fuel;
    use crate::find::regex_engine::RegexEngine;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// One by one, words stand where they do for an expression of all.
        #[test]
        fn words_stand_where_any_of_them_does(
            words in prop::collection::hash_set("[abk']{1,3}|\u{e9}|\u{6240}", 1..9),
            text in "([abkABK' ]|\u{e9}|\u{212a}|\u{6240}){0,80}",
        ) {
            let words: Vec<String> = words.into_iter().collect();
            let mut fuel = Fuel::for_bytes(0);
            let mut all = RegexEngine::new(&alternation_pattern(&words), true)?;
            let mut ahead = WordScanner::new(&words)?;
            let mut from = 0;
            loop {
                let found = all.find(&text, from, &mut fuel)?;
                prop_assert_eq!(&found, &ahead.find(&text, from, &mut fuel)?);
                let Some(found) = found else { break };
                from = found.end;
            }
        }
    }
}
