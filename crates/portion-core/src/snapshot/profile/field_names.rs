//! Derives hints from the name of a field: its importance, its role, and the meaning of its numbers.

use portion_text::names::split_name;

use super::vocabulary::{CODES, IDENTITIES, IMPORTANT_WORDS, LESSER, MOMENTS, NAMES, NOISE, STATES, UNITS};

/// Hints derived from the name of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldNameHints {
    /// Importance, from 0 (never asked for) to 100.
    pub importance: usize,
    /// Rank as an identity for programs, 0 being the best; `None` if it is not one.
    pub identity_rank: Option<usize>,
    /// Rank as a name for people, 0 being the best; `None` if it is not one.
    pub name_rank: Option<usize>,
    /// True if it is a status.
    pub is_state: bool,
    /// True if it is metadata of the API itself.
    pub is_noise: bool,
    /// Number of words in the name.
    pub word_count: usize,
}

impl FieldNameHints {
    /// Derives the hints from the last step of a dotted path.
    pub(crate) fn from_path(path: &str) -> Self {
        let name = last_step(path);
        let mut words = split_words(name);
        // The last word of `created_at` and `duration_ms` does not say what is named, so it is ignored.
        while words.len() > 1 && words.last().is_some_and(|word| UNITS.contains(&word.as_str())) {
            words.pop();
        }
        let lower = name.to_lowercase();
        let Some((head, before)) = words.split_last() else {
            return Self {
                importance: 0,
                identity_rank: None,
                name_rank: None,
                is_state: false,
                is_noise: false,
                word_count: 0,
            };
        };
        let alone = usize::from(!before.is_empty());
        let named = NAMES.contains(&head.as_str())
            || head.len() > 3 && (head.ends_with("name") || head.ends_with("nm"));
        Self {
            importance: combine_importance(head, before),
            identity_rank: identity_rank(&lower, head, before),
            name_rank: named.then_some(if alone == 0 && (head == "name" || head == "title") {
                0
            } else {
                1 + alone
            }),
            is_state: STATES.contains(&head.as_str()),
            is_noise: NOISE.contains(&head.as_str()) || matches!(lower.as_str(), "node_id" | "nodeid"),
            word_count: words.len(),
        }
    }
}

/// Returns true for the id of an element that has the name of its list: `Instances.InstanceId`.
pub(crate) fn is_id_of_element(path: &str) -> bool {
    let Some((above, name)) = path.rsplit_once('.') else { return false };
    let mut words = split_words(name);
    let is_id = words.len() > 1 && words.pop().is_some_and(|word| word == "id");
    let (own, above) = (words.concat(), split_words(last_step(above)).concat());
    is_id && (above == own || above.strip_suffix('s') == Some(&own))
}

/// Ranks identities: `id` before `uid` before `unitid` before `listingMapId` before `sku`.
fn identity_rank(name: &str, head: &str, before: &[String]) -> Option<usize> {
    match (name, before) {
        ("id" | "_id" | "uuid" | "guid", _) => Some(0),
        (_, []) if IDENTITIES.contains(&head) => Some(1),
        (_, []) if head.len() > 3 && head.ends_with("id") => Some(2),
        (_, [_, ..]) if matches!(head, "id" | "uuid" | "guid" | "uid") => Some(3),
        (_, [_, ..]) if matches!(head, "key" | "number" | "no" | "num" | "code" | "sku" | "arn") => Some(4),
        _ => None,
    }
}

/// Returns the importance of a path, from 0 (never asked for) to 100; the last step counts.
pub(crate) fn importance(path: &str) -> usize {
    FieldNameHints::from_path(path).importance
}

fn combine_importance(head: &str, before: &[String]) -> usize {
    let own = word_importance(head);
    let weight = own.max(before.iter().map(|word| word_importance(word) / 2).max().unwrap_or(0));
    if weight == 0 {
        return 0;
    }
    let is = |words: &[&str]| before.iter().any(|word| words.contains(&word.as_str()));
    let lesser = if is(&LESSER) { 15 } else { 0 };
    // `total_price` is more important than `cleaning_fee_total_before_tax`, `paid` more than
    // `is_paid_by_card`.
    let weight = if is(&["is", "has", "can", "allow"]) { weight / 2 } else { weight };
    weight.saturating_sub(lesser + 2 * before.len().min(4)).max(1)
}

fn word_importance(word: &str) -> usize {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let of = |word: &str| {
        IMPORTANT_WORDS.iter().find(|(_, words)| words.contains(&word)).map(|(weight, _)| *weight)
    };
    of(word).or_else(|| of(word.strip_suffix('s')?)).unwrap_or(0)
}

/// Returns true if the numbers of a field are identifiers, places or years rather than quantities.
pub(crate) fn is_code(path: &str) -> bool {
    let words = split_words(last_step(path));
    let is = |word: &String| CODES.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()));
    match words.as_slice() {
        [] => false,
        // `number_of_guests` and `bedsNumber` are counts; `invoice_number` and `number` alone are not.
        [.., what, last] if last == "number" => !what.ends_with('s') || what.ends_with("ss"),
        [last] if last == "number" => true,
        [only] => is(only) || only.len() > 4 && only.ends_with("id"),
        [first, .., last] => is(last) || first == "is" || first == "has",
    }
}

/// Returns true if the numbers of a field may be timestamps.
pub(crate) fn is_timestamp(path: &str) -> bool {
    let words = split_words(last_step(path));
    words.last().is_some_and(|word| MOMENTS.contains(&word.as_str()))
}

/// Returns the last step of a dotted path.
pub(crate) fn last_step(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

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
        let head = |min: usize, endings: &[&str]| {
            let head = endings.iter().find_map(|ending| word.strip_suffix(ending));
            head.map(str::len).filter(|head| *head >= min)
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
    use super::{importance, is_code, is_timestamp, split_words};

    #[test]
    fn common_fields_are_the_most_important() {
        let order = ["status", "totalPrice", "created_at", "cleaningFee", "notes", "frobnication"];
        let weights: Vec<usize> = order.iter().map(|name| importance(name)).collect();
        assert!(weights.is_sorted_by(|a, b| a > b), "{weights:?}");
        assert!(importance("arrivalDate") > importance("previousArrivalDate"));
    }

    #[test]
    fn codes_are_not_quantities() {
        for name in [
            "id",
            "listingMapId",
            "zip_code",
            "latitude",
            "year",
            "phone1",
            "unitid",
            "invoiceNumber",
            "a.school_type",
        ] {
            assert!(is_code(name), "{name}");
        }
        for name in
            ["enrollment", "number_of_guests", "bedsNumber", "totalPrice", "teachers_fte", "nights", "paid"]
        {
            assert!(!is_code(name), "{name}");
        }
    }

    #[test]
    fn timestamps_are_recognized_by_name() {
        assert!(is_timestamp("created") && is_timestamp("updatedAt") && is_timestamp("a.expires_on"));
        assert!(!is_timestamp("amount") && !is_timestamp("format"));
    }

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
