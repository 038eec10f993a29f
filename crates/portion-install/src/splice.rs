//! Replacements of byte ranges in a text, and strings as source text.

use std::ops::Range;

use crate::format::Syntax;

/// A range and its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Splice {
    /// Replaces a range.
    pub(crate) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Inserts a text.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    /// Removes a range.
    pub(crate) fn remove(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// Returns the text with all replacements, whose ranges must not overlap.
pub(crate) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut edited = String::with_capacity(text.len() + 256 * splices.len());
    let mut copied = 0;
    for Splice { range, text: new } in splices {
        edited.push_str(text.get(copied..range.start).unwrap_or_default());
        edited.push_str(&new);
        copied = range.end.max(copied);
    }
    edited.push_str(text.get(copied..).unwrap_or_default());
    edited
}

/// Returns a list as source text.
pub(crate) fn list_text(words: &[String], syntax: Syntax) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word, syntax)).collect();
    format!("[{}]", words.join(", "))
}

/// Returns a string as source text. In TOML, a string without quotes and control characters can be literal, which
/// keeps the paths of Windows readable.
pub(crate) fn quote(word: &str, syntax: Syntax) -> String {
    let is_literal = word.contains('\\') && !word.contains('\'') && !word.chars().any(char::is_control);
    if syntax == Syntax::Toml && is_literal {
        return format!("'{word}'");
    }
    let quoted = serde_json::Value::from(word).to_string();
    // JSON allows it, TOML does not.
    if syntax == Syntax::Toml { quoted.replace('\u{7f}', "\\u007F") } else { quoted }
}
