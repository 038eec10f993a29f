//! The next of a few words in a long text. Each is looked for by itself, at many bytes a nanosecond where it is rare:
//! an expression for all of them at once has to stop wherever any two letters may begin one.

use std::ops::Range;

use super::FindError;
use super::engine::Engine;
use super::fuel::Fuel;

/// Words that are looked for one by one; more are looked for together.
const APART: usize = 6;

/// Words that are looked for in one text, from its beginning on.
pub(super) struct Ahead(Vec<Sought>);

struct Sought {
    engine: Engine,
    next: Next,
}

enum Next {
    Unknown,
    At(Range<usize>),
    Nowhere,
}

/// Any of some words, the longest first, as an expression.
pub(super) fn any_of(words: &[String]) -> String {
    let escaped: Vec<String> =
        longest_first(words).into_iter().map(|word| regex_syntax::escape(word)).collect();
    escaped.join("|")
}

fn longest_first(words: &[String]) -> Vec<&String> {
    let mut longest: Vec<&String> = words.iter().collect();
    longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
    longest
}

impl Ahead {
    pub(super) fn of(words: &[String]) -> Result<Self, FindError> {
        let patterns: Vec<String> = if words.len() > APART {
            vec![any_of(words)]
        } else {
            longest_first(words).into_iter().map(|word| regex_syntax::escape(word)).collect()
        };
        let sought =
            |pattern: &String| Ok(Sought { engine: Engine::new(pattern, true)?, next: Next::Unknown });
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
        for Sought { engine, next } in &mut self.0 {
            let is_passed = match next {
                Next::Unknown => true,
                Next::At(place) => place.start < from,
                Next::Nowhere => false,
            };
            if is_passed {
                *next = engine.find(text, from, fuel)?.map_or(Next::Nowhere, Next::At);
            }
            if let Next::At(place) = next
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

    use super::{Ahead, any_of};
    use crate::find::engine::Engine;
    use crate::find::fuel::Fuel;

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
            let mut all = Engine::new(&any_of(&words), true)?;
            let mut ahead = Ahead::of(&words)?;
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
