//! The end of a text.

use serde_json::Value;

use super::text_description::{TextDescription, closing_words};

/// Longest closing excerpt, in characters.
const MAX_CLOSING_CHARS: usize = 150;

/// Returns the last line that is not blank.
pub(super) fn last_line(text: &str) -> &str {
    let trimmed = text.trim_end();
    trimmed.rsplit('\n').next().unwrap_or_default()
}

/// Returns the end of a running text, shorter in scripts with more tokens per character.
pub(super) fn closing_excerpt(text: &str, description: &TextDescription) -> Value {
    let width = description.max_quote_chars().min(MAX_CLOSING_CHARS);
    let all = Value::from(closing_words(text, width));
    if description.value_cost(&all) <= width / 2 { all } else { closing_words(text, width * 2 / 3).into() }
}
