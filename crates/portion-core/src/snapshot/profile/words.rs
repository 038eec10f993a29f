//! Splits the name of a field into words: `guestName`, `guest_name`, `GuestName` and `guestname` are
//! equal.

use portion_text::name_words::split_name;

/// Endings of names in one piece; the text before the ending is a word of its own.
const SPLIT_ENDINGS: [&str; 18] = [
    "name", "date", "type", "status", "state", "price", "total", "amount", "code", "time", "level", "size",
    "email", "phone", "number", "count", "title", "url",
];
/// Endings that are split off even after one or two letters: `stype`, `iclevel`.
const SHORT_PREFIX_ENDINGS: [&str; 5] = ["name", "type", "level", "status", "size"];
/// Participles that precede `at` or `on` in one piece: `createdat`.
const EVENT_PARTICIPLES: [&str; 10] = [
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
/// Words that end like another one by chance.
const UNSPLIT_WORDS: [&str; 10] = [
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

/// Returns the lower-case words of a name: `createdAt` is `created`, `at`.
pub(crate) fn split_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    split_name(name).into_iter().for_each(|word| push_split(&mut words, word));
    words
}

/// Adds a word, split in two if it is a compound in one piece.
fn push_split(words: &mut Vec<String>, word: String) {
    let split_at = if UNSPLIT_WORDS.contains(&word.as_str()) {
        None
    } else if let Some(head) = word.strip_suffix("at").or_else(|| word.strip_suffix("on"))
        && EVENT_PARTICIPLES.contains(&head)
    {
        Some(head.len())
    } else {
        let head = |least: usize, endings: &[&str]| {
            let head = endings.iter().find_map(|ending| word.strip_suffix(ending));
            head.map(str::len).filter(|head| *head >= least)
        };
        head(3, &SPLIT_ENDINGS).or_else(|| head(1, &SHORT_PREFIX_ENDINGS))
    };
    match split_at {
        Some(at) => words.extend([word[..at].to_owned(), word[at..].to_owned()]),
        None => words.push(word),
    }
}

#[cfg(test)]
mod tests {
    use super::split_words;

    fn check(name: &str, words: &str) {
        assert_eq!(split_words(name).join(" "), words, "{name}");
    }

    #[test]
    fn every_style_gives_the_same_words() {
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
        check("stype", "s type");
        check("iclevel", "ic level");
        check("x", "x");
        check("", "");
        check("__", "");
        check("Straße_ÄÖ", "straße äö");
    }

    #[test]
    fn words_that_only_look_compound_are_not_split() {
        for word in ["account", "candidate", "runtime", "update", "discount", "state", "timestamp"] {
            check(word, word);
        }
    }
}
