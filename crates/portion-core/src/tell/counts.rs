//! The values of a field with how often each comes, in words.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::field::Gathered;
use super::tally::{Held, Tally};
use crate::scan::decoded;

/// Different values up to which a field is a category.
pub(super) const CATEGORY: usize = 20;
/// Values told of a category.
const VALUES: usize = 10;
/// Values told of a field that is more than a category, or nearly one.
pub(super) const COMMONEST: usize = 4;
/// Characters of a value that is quoted.
const QUOTED: usize = 60;

/// `CA=1200, NV=12, +3 more`
pub(super) fn category(field: &Gathered, text: &str) -> Option<String> {
    let distinct = field.distinct()?;
    if distinct <= CATEGORY {
        return counts(field, text, VALUES);
    }
    // Where all are about as common as each other, none is worth telling.
    let commonest = values(field, text)?.first()?.1;
    let stands_out = commonest * distinct >= field.present() * 2;
    let counts = stands_out.then(|| counts(field, text, COMMONEST)).flatten()?;
    Some(format!("{distinct} distinct: {counts}"))
}

/// The commonest values with their counts, where some come more than once.
pub(super) fn counts(field: &Gathered, text: &str, most: usize) -> Option<String> {
    let values = values(field, text)?;
    if values.len() > 1 && values.len() >= field.present() {
        return None;
    }
    let once = values.iter().filter(|(_, count)| *count == 1).count();
    let several = values.len() - once;
    // What comes once each is named where it is little.
    let shown = if once > 2 { several.min(most) } else { values.len().min(most) };
    let told: Vec<String> =
        values.iter().take(shown).map(|(value, count)| format!("{value}={count}")).collect();
    let mut words = told.join(", ");
    if shown < values.len() {
        let each = if shown == several { " (1 each)" } else { "" };
        let _ = write!(words, ", +{} more{each}", values.len() - shown);
    }
    Some(words)
}

/// All values with their counts, the commonest first, then by value; `None` where they are too many or too long.
pub(super) fn values(field: &Gathered, text: &str) -> Option<Vec<(String, usize)>> {
    let Tally::Few(few) = &field.tally else { return None };
    let mut held: Vec<Held> = few.values().copied().collect();
    held.sort_by_key(|held| (usize::MAX - held.count, held.at.start));
    let mut values = Vec::with_capacity(held.len() + 2);
    for Held { count, at } in held {
        let value = plain(at.of(text));
        if value.chars().count() > QUOTED {
            return None;
        }
        values.push((value, count));
    }
    let bools = [("true", field.trues), ("false", field.falses)];
    values.extend(bools.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| (word.to_owned(), n)));
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| by_value(&a.0, &b.0)));
    Some(values)
}

/// A value as it is told: in quotes where it could be read as something else.
pub(super) fn plain(json: &str) -> String {
    if !json.starts_with('"') {
        return json.to_owned();
    }
    let text = decoded(json);
    let literal = matches!(text.as_str(), "" | "true" | "false" | "null") || text.parse::<f64>().is_ok();
    let broken = text.trim().len() < text.len() || text.contains(['=', ',', ';', '\'', '\n']);
    if literal || broken { format!("'{}'", text.replace('\'', "''")) } else { text }
}

/// Numbers by size before all else by its letters.
fn by_value(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
