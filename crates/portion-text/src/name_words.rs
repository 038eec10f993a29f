//! Splits a name into words, in any style: `guestName`, `guest_name`, `GuestName`, `guest-name`.
//!
//! ```
//! use portion_text::name_words::split_name;
//!
//! assert_eq!(split_name("guestName"), ["guest", "name"]);
//! assert_eq!(split_name("HTTPServer-2"), ["http", "server", "2"]);
//! ```

/// Returns the lower-case words of a name. Words begin at capitals and after characters that are neither
/// letters nor digits.
pub fn split_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let begins = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                // `HTTPServer`: the last capital begins the next word.
                || before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}
