//! Describes the values of a field with their counts.

use std::cmp::Ordering;
use std::fmt::Write as _;

use portion_json::scan::unescape;

use super::distinct_values::{DistinctValues, ValueCount};
use super::field_stats::FieldStats;

/// Largest number of distinct values of a category.
pub(super) const MAX_CATEGORY_VALUES: usize = 20;
/// Values listed of a category.
const MAX_LISTED_VALUES: usize = 10;
/// Values listed of a field with more distinct values than a category.
const MAX_COMMON_VALUES: usize = 4;
/// Longest value that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Describes a category: `CA=1200, NV=12, +3 more`
pub(super) fn describe_category(field: &FieldStats, text: &str) -> Option<String> {
    let distinct = field.distinct_count()?;
    if distinct <= MAX_CATEGORY_VALUES {
        return describe_counts(field, text, MAX_LISTED_VALUES);
    }
    let counts = describe_common(field, text)?;
    Some(format!("{distinct} distinct: {counts}"))
}

/// Describes the most common values with their counts. If all values are about equally common, none is worth listing.
pub(super) fn describe_common(field: &FieldStats, text: &str) -> Option<String> {
    let distinct = field.distinct_count()?;
    let commonest = value_counts(field, text)?.first()?.1;
    let stands_out = distinct <= MAX_COMMON_VALUES || commonest * distinct >= field.present_count() * 2;
    stands_out.then(|| describe_counts(field, text, MAX_COMMON_VALUES)).flatten()
}

/// Describes the most common values with their counts, if some occur more than once.
fn describe_counts(field: &FieldStats, text: &str, most: usize) -> Option<String> {
    let values = value_counts(field, text)?;
    if values.len() > 1 && values.len() >= field.present_count() {
        return None;
    }
    let once = values.iter().filter(|(_, count)| *count == 1).count();
    let several = values.len() - once;
    // Values that occur once each are listed if there are at most two.
    let shown = if once > 2 { several.min(most) } else { values.len().min(most) };
    let listed: Vec<String> =
        values.iter().take(shown).map(|(value, count)| format!("{value}={count}")).collect();
    let mut words = listed.join(", ");
    if shown < values.len() {
        let each = if shown == several { " (1 each)" } else { "" };
        let _ = write!(words, ", +{} more{each}", values.len() - shown);
    }
    Some(words)
}

/// Returns all values with their counts, the most common first, then by value, or `None` if there are too
/// many or too long values.
pub(super) fn value_counts(field: &FieldStats, text: &str) -> Option<Vec<(String, usize)>> {
    let DistinctValues::Counted(few) = &field.tally else { return None };
    let mut held: Vec<ValueCount> = few.values().copied().collect();
    held.sort_by_key(|held| (usize::MAX - held.count, held.first_span.start));
    let mut values = Vec::with_capacity(held.len() + 2);
    for ValueCount { count, first_span: at } in held {
        let value = display_value(at.slice(text));
        if value.chars().count() > MAX_QUOTED_CHARS {
            return None;
        }
        values.push((value, count));
    }
    let bools = [("true", field.true_count), ("false", field.false_count)];
    values.extend(bools.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| (word.to_owned(), n)));
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare_values(&a.0, &b.0)));
    Some(values)
}

/// Returns a value as displayed: in quotes if it is ambiguous otherwise.
pub(super) fn display_value(json: &str) -> String {
    if !json.starts_with('"') {
        return json.to_owned();
    }
    let text = unescape(json);
    let literal = matches!(text.as_str(), "" | "true" | "false" | "null") || text.parse::<f64>().is_ok();
    let broken = text.trim().len() < text.len() || text.contains(['=', ',', ';', '\'', '\n']);
    if literal || broken { format!("'{}'", text.replace('\'', "''")) } else { text }
}

/// Compares values: numbers by size, before other values in alphabetical order.
fn compare_values(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
