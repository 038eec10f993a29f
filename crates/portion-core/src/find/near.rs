//! Words that are there and much like one that is not.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation as _;

use super::scope::Scope;
use crate::nearest::nearest;

/// Bytes that are looked at of each text: a slip is guessed at, not searched for.
const LOOKED: usize = 64 << 10;
/// Words that are told.
const TOLD: usize = 3;
/// Characters of a word that can be guessed at.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=40;

/// Words of what is looked through that are like a word that is nowhere in it, the most alike first.
pub(super) fn words(scope: &Scope<'_>, word: &str) -> Vec<String> {
    let chars = word.chars().count();
    if !LENGTHS.contains(&chars) || word.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut there: BTreeSet<&str> = BTreeSet::new();
    for looked in &scope.looked {
        let text: &str = &looked.subject.text;
        let start = &text[..text.floor_char_boundary(LOOKED)];
        there.extend(start.unicode_words().filter(|own| {
            let len = own.chars().count();
            let close = LENGTHS.contains(&len) && len.abs_diff(chars) <= chars / 3 + 1;
            close && !own.eq_ignore_ascii_case(word)
        }));
    }
    let mut told = Vec::new();
    while told.len() < TOLD
        && let Some(word) = nearest(word, there.iter().copied())
    {
        there.remove(word.as_str());
        told.push(word);
    }
    told
}
