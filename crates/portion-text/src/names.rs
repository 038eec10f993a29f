//! Names: patterns for them, their words, the one that a misspelled name probably means, and ones that differ regardless of case.
//!
//! ```
//! use portion_text::names::{closest_name, equivalent_name, find_misspelled};
//!
//! let names = ["guest.name", "status"];
//! assert_eq!(closest_name("statsu", names).as_deref(), Some("status"));
//! assert_eq!(equivalent_name("Guest_Name", names), Some("guest.name"));
//! assert_eq!(find_misspelled("price", names), None);
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use strsim::generic_levenshtein;

/// Years that are names of columns, and the numbers of years between two of them.
const YEARS: RangeInclusive<i32> = 1800..=2200;
const YEAR_STEPS: [i32; 3] = [1, 5, 10];

/// Returns the name closest to `given` by edit distance, ignoring case, if it is close enough to be a
/// typing error.
pub fn closest_name<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted: Vec<char> = given.to_lowercase().chars().take(64).collect();
    let slack = wanted.len() / 3 + 1;
    let scored = names.into_iter().filter_map(|name| {
        let chars: Vec<char> = name.to_lowercase().chars().take(64).collect();
        let part = chars.len() > 2 && wanted.len() > 2 && is_substring(&chars, &wanted);
        let edits = generic_levenshtein(&wanted, &chars);
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
    let scored = near.map(|word| (generic_levenshtein(&wanted, &chars(word)), word));
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

/// Returns the word that `given` misspells: they differ only in case, or by one edit in five letters or
/// two in seven.
///
/// Stricter than [`closest_name`]: for places where names other than the known words are allowed.
pub fn find_misspelled<'a>(given: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let chars = |text: &str| text.to_lowercase().chars().take(64).collect::<Vec<char>>();
    let wanted = chars(given);
    words.into_iter().find(|word| {
        *word != given
            && generic_levenshtein(&wanted, &chars(word)) <= word.chars().count().saturating_sub(3) / 2
    })
}

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

/// Returns true for two or more years in steps of one size, which name columns though they are numbers.
///
/// ```
/// use portion_text::names::are_years;
///
/// assert!(are_years(["2019", "2020", "2021"]) && are_years(["2020", "2010"]));
/// assert!(!are_years(["2019", "2020", "2030"]) && !are_years(["2019"]) && !are_years(["3", "4"]));
/// ```
pub fn are_years<'a>(cells: impl IntoIterator<Item = &'a str>) -> bool {
    let year = |cell: &str| cell.trim().parse().ok().filter(|year: &i32| YEARS.contains(year));
    let years: Option<Vec<i32>> = cells.into_iter().map(year).collect();
    years.is_some_and(|years| {
        let mut steps = years.windows(2).map(|pair| pair[1] - pair[0]);
        steps.next().is_some_and(|first| YEAR_STEPS.contains(&first.abs()) && steps.all(|step| step == first))
    })
}

/// Names that are taken.
///
/// ```
/// use portion_text::names::UniqueNames;
///
/// let mut names = UniqueNames::default();
/// assert_eq!([names.unique("Id"), names.unique("id")], ["Id", "id_2"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
    /// Returns the name, with the first free number from 2 appended if it is taken.
    pub fn unique(&mut self, name: &str) -> String {
        // In C, a name ends at a NUL.
        let name = &name.replace('\0', "\u{fffd}");
        let free = |name: &str| !self.taken.contains(&name.to_lowercase());
        let name = if name.is_empty() { "_" } else { name };
        let name = if free(name) {
            name.to_owned()
        } else {
            // At least one of these is free.
            let numbered = (2..self.taken.len() + 3).map(|n| format!("{name}_{n}"));
            numbered.into_iter().find(|name| free(name)).unwrap_or_default()
        };
        self.taken.insert(name.to_lowercase());
        name
    }

    /// Numbers the names that differ in case only, from 1: `SQLite` would resolve each of them to the first.
    pub fn number_variants(names: &mut [String]) {
        let mut spellings: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            spellings.entry(name.to_lowercase()).or_default().push(at);
        }
        for places in spellings.into_values() {
            let differ = places.iter().any(|at| names[*at] != names[places[0]]);
            for (number, at) in places.into_iter().enumerate().filter(|_| differ) {
                names[at] = format!("{}_{}", names[at], number + 1);
            }
        }
    }

    /// Returns true if the name is not taken.
    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(&name.to_lowercase())
    }

    /// Returns a free name for a built-in column: `item`, or `_item` if a field has that name.
    pub fn unique_builtin(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.taken.contains(&name.to_lowercase()) {
            name.insert(0, '_');
        }
        self.taken.insert(name.to_lowercase());
        name
    }
}

/// Returns true if `name` matches: it contains the parts between the `*` in order, the first at its start
/// and the last at its end.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn patterns_match_names() {
        let check = |pattern: &str, name: &str, expect: bool| {
            assert_eq!(matches_pattern(pattern, name), expect, "{pattern} {name}");
        };
        check("list", "list", true);
        check("list", "lists", false);
        check("list_*", "list_items", true);
        check("*", "", true);
        check("*_all", "get_all", true);
        check("*_all", "get_all_", false);
        check("a*b*c", "a_b_b_c", true);
        check("a*b*c", "acb", false);
        check("ab*b", "ab", false);
        check("é*", "été", true);
    }
}
