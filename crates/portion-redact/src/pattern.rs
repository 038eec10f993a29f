//! Word lists and regular expressions, compiled when they are first needed.

use regex::{Regex, RegexSet};

/// Returns true if a word is in a list.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|known| known == word)
}

/// Compiles a pattern of this crate, all of which are valid.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|_| unreachable!())
}

/// Compiles patterns of this crate, all of which are valid.
pub(super) fn regex_set(patterns: &[String]) -> RegexSet {
    RegexSet::new(patterns).unwrap_or_else(|_| unreachable!())
}

/// Returns a pattern for one of the words, in any case.
pub(super) fn any_word(words: &str) -> String {
    format!("(?i:{})", words.replace(' ', "|"))
}
