//! Finds the name that a misspelled name probably means.
//!
//! ```
//! use portion_text::spelling::{closest_name, equivalent_name, find_misspelled};
//!
//! let names = ["guest.name", "status"];
//! assert_eq!(closest_name("statsu", names).as_deref(), Some("status"));
//! assert_eq!(equivalent_name("Guest_Name", names), Some("guest.name"));
//! assert_eq!(find_misspelled("price", names), None);
//! ```

/// Returns the name closest to `given` by edit distance, ignoring case, if it is close enough to be a
/// typing error.
pub fn closest_name<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted: Vec<char> = given.to_lowercase().chars().take(64).collect();
    let slack = wanted.len() / 3 + 1;
    let scored = names.into_iter().filter_map(|name| {
        let chars: Vec<char> = name.to_lowercase().chars().take(64).collect();
        let part = chars.len() > 2 && wanted.len() > 2 && is_substring(&chars, &wanted);
        let edits = edit_distance(&wanted, &chars);
        let distance = if part { 1 } else { edits };
        // Of two names that contain `given`, the one within the edit distance is the more likely one.
        (distance <= slack).then_some(((distance, edits > slack), name))
    });
    scored.min_by_key(|(likeness, _)| *likeness).map(|(_, name)| name.to_owned())
}

/// Returns the word closest to `given` that is at most this many edits away: insertions, deletions and substitutions of
/// characters.
pub fn closest_within<'a>(
    given: &str,
    words: impl IntoIterator<Item = &'a str>,
    max_edits: usize,
) -> Option<&'a str> {
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    let wanted = chars(given);
    let near = words.into_iter().filter(|word| word.len().abs_diff(given.len()) <= max_edits);
    let scored = near.map(|word| (edit_distance(&wanted, &chars(word)), word));
    scored.filter(|(edits, _)| *edits <= max_edits).min_by_key(|(edits, _)| *edits).map(|(_, word)| word)
}

/// Returns the only name that differs from `given` in nothing but case and separators: `Guest_Name` is `guest.name`.
pub fn equivalent_name<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |name: &str| -> String {
        let plain = name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | '/' | ' '));
        plain.flat_map(char::to_lowercase).collect()
    };
    let wanted = letters(given);
    let mut equal = names.into_iter().filter(|name| !wanted.is_empty() && letters(name) == wanted);
    let first = equal.next()?;
    equal.all(|other| other == first).then_some(first)
}

fn is_substring(a: &[char], b: &[char]) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    long.windows(short.len()).any(|window| window == short)
}

/// Levenshtein distance.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// Returns the word that `given` misspells: they differ only in case, or by one edit in five letters or
/// two in seven.
///
/// Stricter than [`closest_name`]: for places where names other than the known words are allowed.
pub fn find_misspelled<'a>(given: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let chars = |text: &str| text.to_lowercase().chars().take(64).collect::<Vec<char>>();
    let wanted = chars(given);
    words.into_iter().find(|word| {
        *word != given && edit_distance(&wanted, &chars(word)) <= word.chars().count().saturating_sub(3) / 2
    })
}
