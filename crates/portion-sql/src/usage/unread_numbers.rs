//! Texts that a statement reads as numbers although they are none.

use std::sync::{Mutex, PoisonError};

/// Longest example, in characters.
const MAX_EXAMPLE_CHARS: usize = 20;

/// The texts that sums and casts met and could not read, while a statement ran.
#[derive(Debug, Default)]
pub(crate) struct UnreadNumbers(Mutex<Unread>);

#[derive(Debug, Default)]
struct Unread {
    count: usize,
    example: Option<String>,
}

impl UnreadNumbers {
    /// Records a text that is no number. An empty one is no value.
    pub(crate) fn record(&self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unread.count += 1;
        unread.example.get_or_insert_with(|| text.trim().chars().take(MAX_EXAMPLE_CHARS).collect());
    }

    /// Returns a hint with their number and the first one; `None` if there were none.
    pub(crate) fn hint(&self) -> Option<String> {
        let unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let example = unread.example.as_deref()?.replace('\'', "''");
        let texts = match unread.count {
            1 => "1 text is no number".to_owned(),
            count => format!("{count} texts are no numbers"),
        };
        Some(format!("{texts} ('{example}'): a sum or cast counts it as 0, by its first digits, or as NULL"))
    }
}
