//! Strings and lists as source text.

use crate::format::Syntax;

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
