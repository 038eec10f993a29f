//! Words that are there and much like one that is not.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation as _;

use super::scope::SearchScope;
use crate::spelling::closest_name;

/// Bytes that are looked at of each text: a slip is guessed at, not searched for.
const MAX_SCANNED_BYTES: usize = 64 << 10;
/// Words that are told.
const MAX_SUGGESTIONS: usize = 3;
/// Characters of a word that can be guessed at.
const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 3..=40;

/// Words of what is looked through that are like a word that is nowhere in it, the most alike first.
pub(super) fn similar_words(scope: &SearchScope<'_>, word: &str) -> Vec<String> {
    let chars = word.chars().count();
    if !WORD_LENGTHS.contains(&chars) || word.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut there: BTreeSet<&str> = BTreeSet::new();
    for looked in &scope.targets {
        let text: &str = &looked.indexed_text.text;
        let start = &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)];
        there.extend(start.unicode_words().filter(|own| {
            let len = own.chars().count();
            let close = WORD_LENGTHS.contains(&len) && len.abs_diff(chars) <= chars / 3 + 1;
            close && !own.eq_ignore_ascii_case(word)
        }));
    }
    let mut told = Vec::new();
    while told.len() < MAX_SUGGESTIONS
        && let Some(word) = closest_name(word, there.iter().copied())
    {
        there.remove(word.as_str());
        told.push(word);
    }
    told
}
