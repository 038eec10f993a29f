//! Names and values of a request or a response, as messages repeat them.

use std::borrow::Cow;

/// Largest number of characters of a name or value that a message repeats.
pub const MAX_REPEATED_CHARS: usize = 200;

/// Returns the beginning of a name or value that is too long for a message.
///
/// ```
/// use portion_text::repeated::shortened;
///
/// assert_eq!(shortened("2025-11-25"), "2025-11-25");
/// assert_eq!(shortened(&"é".repeat(201)), "é".repeat(200) + "…");
/// ```
pub fn shortened(given: &str) -> Cow<'_, str> {
    match given.char_indices().nth(MAX_REPEATED_CHARS) {
        Some((end, _)) => format!("{}…", &given[..end]).into(),
        None => given.into(),
    }
}
