//! Suggests words that are similar to one without matches.

use std::collections::BTreeSet;

use portion_text::spelling::closest_name;
use unicode_segmentation::UnicodeSegmentation as _;

use super::scope::SearchScope;

/// Bytes read of each text: suggestions are a guess, not a search.
const MAX_SCANNED_BYTES: usize = 64 << 10;
/// Largest number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// Lengths in characters of words with suggestions.
const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 3..=40;

/// Returns words of the targets that are similar to a word without matches, the most similar first.
pub(super) fn similar_words(scope: &SearchScope<'_>, word: &str) -> Vec<String> {
    let chars = word.chars().count();
    if !WORD_LENGTHS.contains(&chars) || word.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut present: BTreeSet<&str> = BTreeSet::new();
    for target in &scope.targets {
        let text: &str = &target.indexed_text.text;
        let start = &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)];
        present.extend(start.unicode_words().filter(|own| {
            let len = own.chars().count();
            let close = WORD_LENGTHS.contains(&len) && len.abs_diff(chars) <= chars / 3 + 1;
            close && !own.eq_ignore_ascii_case(word)
        }));
    }
    let mut suggestions = Vec::new();
    while suggestions.len() < MAX_SUGGESTIONS
        && let Some(word) = closest_name(word, present.iter().copied())
    {
        present.remove(word.as_str());
        suggestions.push(word);
    }
    suggestions
}
