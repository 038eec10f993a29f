//! The words that a field's name is made of: `guestName`, `guest_name`, `GuestName` and `guestname` say the same.

/// Endings of names that are written in one piece; what is before one is a word of its own.
const ENDINGS: [&str; 18] = [
    "name", "date", "type", "status", "state", "price", "total", "amount", "code", "time", "level", "size",
    "email", "phone", "number", "count", "title", "url",
];
/// Moments written in one piece: `createdat`.
const HAPPENED: [&str; 10] = [
    "created",
    "updated",
    "closed",
    "merged",
    "deleted",
    "started",
    "finished",
    "published",
    "modified",
    "pushed",
];
/// Words that end like another by chance.
const WHOLE: [&str; 10] = [
    "account",
    "candidate",
    "discount",
    "estimate",
    "lifetime",
    "mandate",
    "prototype",
    "runtime",
    "subtitle",
    "timestamp",
];

/// The lower-case words of a name: `createdAt` is `created`, `at`.
pub(crate) fn split(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut letters = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let begins = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                // `HTTPServer`: the last capital belongs to what follows.
                || before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !c.is_alphanumeric() {
            push(&mut words, &mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    push(&mut words, &mut word);
    words
}

/// Adds a word, taken apart where two are written in one piece.
fn push(words: &mut Vec<String>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    let word = std::mem::take(word);
    let parted = if WHOLE.contains(&word.as_str()) {
        None
    } else if let Some(head) = word.strip_suffix("at").or_else(|| word.strip_suffix("on"))
        && HAPPENED.contains(&head)
    {
        Some(head.len())
    } else {
        let head = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending));
        head.filter(|head| head.len() >= 3).map(str::len)
    };
    match parted {
        Some(at) => words.extend([word[..at].to_owned(), word[at..].to_owned()]),
        None => words.push(word),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    fn check(name: &str, words: &str) {
        assert_eq!(split(name).join(" "), words, "{name}");
    }

    #[test]
    fn names_of_every_style_are_the_same_words() {
        for name in
            ["guestName", "guest_name", "GuestName", "guest-name", "guest.name", "guestname", "GUEST_NAME"]
        {
            check(name, "guest name");
        }
        for name in ["createdAt", "created_at", "createdat", "created-at", "CreatedAt"] {
            check(name, "created at");
        }
        check("listingMapId", "listing map id");
        check("HTTPServerID", "http server id");
        check("contactPhone1", "contact phone1");
        check("x", "x");
        check("", "");
        check("__", "");
        check("Straße_ÄÖ", "straße äö");
    }

    #[test]
    fn a_word_is_not_taken_apart_by_chance() {
        for word in ["account", "candidate", "runtime", "update", "discount", "state", "timestamp"] {
            check(word, word);
        }
    }
}
