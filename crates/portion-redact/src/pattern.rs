//! Word lists and regular expressions, compiled when they are first needed.

use regex::{Regex, RegexSet};

/// Returns true if a word is in a list.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|known| known == word)
}

/// Compiles a pattern of this crate, all of which are valid.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(&plain(pattern)).unwrap_or_else(|_| unreachable!())
}

/// Compiles patterns of this crate, all of which are valid.
pub(super) fn regex_set(patterns: &[String]) -> RegexSet {
    RegexSet::new(patterns.iter().map(|pattern| plain(pattern))).unwrap_or_else(|_| unreachable!())
}

/// Returns a pattern whose classes are those of ASCII, and whose letters are also all characters beyond: the classes of Unicode
/// take long to compile.
fn plain(pattern: &str) -> String {
    let letters = pattern.replace(r"\pL", r"[A-Za-z\u{80}-\u{10ffff}]").replace(r"\w", "[0-9A-Za-z_]");
    letters
        .replace(r"\d", "[0-9]")
        .replace(r"\pN", "[0-9]")
        .replace(r"\S", r"[^\t\n\r\x0b\x0c ]")
        .replace(r"\s", r"[\t\n\r\x0b\x0c ]")
}

/// Returns a pattern for one of the words, in any case.
pub(super) fn any_word(words: &str) -> String {
    format!("(?i-u:{})", words.replace(' ', "|"))
}
