//! The words of a name, whatever the style it is written in: `guestName`, `guest_name`, `GuestName`, `guest-name`.

/// The lower-case words of a name: capitals and whatever is no letter or digit part them.
pub(crate) fn split_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let begins = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                // `HTTPServer`: the last capital belongs to what follows.
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
