//! Describes one field in words.

use std::fmt::Write as _;

use super::distinct_values::{DistinctValues, MAX_CATEGORY_VALUES, display_value};
use super::field_stats::{FieldStats, LONG_TEXT_CHARS};
use super::number_stats::{Extreme, TimestampRange};
use super::record_layout::ITEMS_FIELD;
use super::{distinct_values, number_stats};
use crate::snapshot::field_names;

/// Description of a field.
#[derive(Clone, Debug)]
pub(super) struct FieldDescription {
    /// Role of the field, for the order of fields.
    pub role: FieldRole,
    /// The description in words.
    pub description: String,
    /// True if it answers questions: it has values, a range or a count. Other fields are named by their types.
    pub is_telling: bool,
}

/// Role of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldRole {
    /// It identifies records.
    Identity,
    /// A number that can be summed.
    Quantity,
    /// Records can be grouped by it.
    Category,
    /// A date or time.
    Timestamp,
    /// It differs in every record, or is a list or an object.
    Other,
    /// It is the same in all records.
    Constant,
}

/// Number of distinct values from which numbers under a meaningful name are quantities.
const MIN_QUANTITY_VALUES: usize = 4;
/// Records of which one is rare.
const RARE_SHARE: usize = 100;
/// Bounds of timestamps, in seconds since 1970: 1990 and 2070.
const EPOCH_BOUNDS: [f64; 2] = [631_152_000.0, 3_155_760_000.0];

/// Describes a field over all records. `holder` returns the label of a record.
pub(super) fn describe_field(
    field: &FieldStats,
    records: usize,
    text: &str,
    is_identity: bool,
    holder: &dyn Fn(usize) -> Option<String>,
) -> FieldDescription {
    let case = FieldDescriber { field, text, record_label: holder, distinct_count: field.distinct_count() };
    let present = field.present_count();
    let absent = records.saturating_sub(present + field.null_count + field.missing_count());
    let all_here = present == records;
    let (role, mut words) = if present == 0 {
        let only = field.missing_values().find(|(count, _)| *count == records);
        let is_null = field.null_count == records;
        let words = only.map(|(_, meaning)| format!("always {meaning}"));
        (
            FieldRole::Constant,
            words.unwrap_or_else(|| if is_null { "always null" } else { "no value" }.to_owned()),
        )
    } else if is_identity && field.is_unique(records) {
        (FieldRole::Identity, "identifier, all distinct".to_owned())
    } else if field.array_count == present {
        (FieldRole::Other, case.describe_arrays())
    } else if field.object_count == present {
        (FieldRole::Other, "objects".to_owned())
    } else if field.scalar_count() < present {
        (FieldRole::Other, case.describe_mixture())
    } else if let Some((role, words)) = case.describe_constant(all_here) {
        (role, words)
    } else if let Some(words) = case.describe_quantity() {
        (FieldRole::Quantity, words)
    } else if let Some(words) = case.describe_timestamps() {
        (FieldRole::Timestamp, words)
    } else if let Some(words) = distinct_values::describe_category(field, text) {
        (FieldRole::Category, words)
    } else {
        (FieldRole::Other, case.describe_mixture())
    };
    let is_telling = match role {
        // A long value cannot be shown.
        FieldRole::Constant => {
            field.numbers.count + field.string_count > 0
                && distinct_values::value_counts(field, text).is_some()
        }
        // Of items that are no records, there is nothing else to tell.
        FieldRole::Other => case.has_counts() || field.path == ITEMS_FIELD,
        _ => true,
    } && !is_rare(present, records);
    let gaps = [(field.null_count, "null".to_owned()), (absent, "absent".to_owned())];
    let gaps = gaps.into_iter().chain(field.missing_values());
    for (count, what) in gaps.filter(|(count, _)| *count > 0 && *count < records) {
        let _ = write!(words, ", {count} {what}");
    }
    FieldDescription { role, description: words, is_telling }
}

/// Returns true for a number of records that no question is about: at most one in a hundred.
fn is_rare(count: usize, records: usize) -> bool {
    count * RARE_SHARE <= records
}

/// A field to be described.
struct FieldDescriber<'a> {
    field: &'a FieldStats,
    text: &'a str,
    record_label: &'a dyn Fn(usize) -> Option<String>,
    /// Number of distinct scalars without `null`.
    distinct_count: Option<usize>,
}

impl FieldDescriber<'_> {
    /// Describes a field with one value: `always CA`, or `CA=5` if some records lack it.
    fn describe_constant(&self, all_here: bool) -> Option<(FieldRole, String)> {
        if self.distinct_count != Some(1) {
            return None;
        }
        let value = distinct_values::value_counts(self.field, self.text)
            .and_then(|mut values| values.pop())
            .map(|(value, _)| value);
        Some(match (all_here, value) {
            (true, Some(value)) => (FieldRole::Constant, format!("always {value}")),
            (true, None) => (FieldRole::Constant, "always the same".to_owned()),
            (false, Some(value)) => (FieldRole::Category, format!("{value}={}", self.field.present_count())),
            (false, None) => (FieldRole::Other, format!("{} equal values", self.field.present_count())),
        })
    }

    /// Describes a quantity: `number 12…4890 (max at id=5), sum 712345`
    fn describe_quantity(&self) -> Option<String> {
        let field = self.field;
        let numbers = &field.numbers;
        let meaningful = field_names::importance(&field.path) > 0;
        // A few integers under a meaningless name are codes.
        let min = if meaningful || !numbers.all_integers() {
            MIN_QUANTITY_VALUES
        } else {
            MAX_CATEGORY_VALUES.min(field.present_count() / 4) + 1
        };
        let few = self.distinct_count.is_some_and(|distinct| distinct < min);
        if numbers.count < field.present_count() || field.is_code || few || self.describe_epoch().is_some() {
            return None;
        }
        let mut words = self.describe_range()?;
        let max = numbers.max.as_ref()?;
        if max.record_count == 1
            && let Some(holder) = (self.record_label)(max.first_record)
        {
            let _ = write!(words, " (max at {holder})");
        }
        if let Some(sum) = numbers.sum() {
            let _ = write!(words, ", sum {sum}");
        }
        if numbers.all_integers()
            && self
                .distinct_count
                .is_some_and(|distinct| distinct <= MAX_CATEGORY_VALUES.min(field.present_count() / 2))
            && let Some(counts) = distinct_values::describe_common(field, self.text)
        {
            let _ = write!(words, "; {counts}");
        }
        Some(words)
    }

    /// Describes a range: `number 12…4890`
    fn describe_range(&self) -> Option<String> {
        let written = |extreme: &Extreme| extreme.span.slice(self.text);
        let numbers = &self.field.numbers;
        Some(format!("number {}…{}", written(numbers.min.as_ref()?), written(numbers.max.as_ref()?)))
    }

    /// Describes timestamps: `2023-01-02…2024-05-06`
    fn describe_timestamps(&self) -> Option<String> {
        let all = self.field.string_count == self.field.present_count();
        match self.field.timestamps {
            TimestampRange::Range([earliest, latest]) if all => {
                let written = |(_, at): (portion_text::timestamp::Timestamp, portion_json::span::Span)| {
                    display_value(at.slice(self.text))
                };
                Some(format!("{}…{}", written(earliest), written(latest)))
            }
            _ => self.describe_epoch(),
        }
    }

    /// Describes the range of numbers that are seconds or milliseconds since 1970.
    fn describe_epoch(&self) -> Option<String> {
        let numbers = &self.field.numbers;
        if numbers.count < self.field.present_count() || !field_names::is_timestamp(&self.field.path) {
            return None;
        }
        let (min, max) = numbers.bounds_as_f64()?;
        let within = |unit: f64| min >= EPOCH_BOUNDS[0] * unit && max <= EPOCH_BOUNDS[1] * unit;
        let unit = [1.0, 1e3].into_iter().find(|unit| within(*unit))?;
        let date = |float: f64| number_stats::format_timestamp((float / unit).floor() as i64);
        Some(format!("{} ({}…{})", self.describe_range()?, date(min), date(max)))
    }

    /// Returns true if a field without values to show has numbers, or an exact number of distinct texts.
    fn has_counts(&self) -> bool {
        let field = self.field;
        let is_counted = self.distinct_count.is_some_and(|distinct| distinct < field.scalar_count());
        field.numbers.count > 0 || field.scalar_count() > 0 && is_counted
    }

    /// Describes arrays: `arrays of 0–12 items`
    fn describe_arrays(&self) -> String {
        match self.field.item_count_range.unwrap_or_default() {
            (0, 0) => "empty arrays".to_owned(),
            (1, 1) => "arrays of 1 item".to_owned(),
            (min, max) if min == max => format!("arrays of {max} items"),
            (min, max) => format!("arrays of {min}–{max} items"),
        }
    }

    /// Describes values of several types, or values without a better description: the count of each type, and
    /// the number of distinct values.
    fn describe_mixture(&self) -> String {
        let field = self.field;
        let present = field.present_count();
        let mut parts = Vec::new();
        let mut add = |count: usize, words: String| {
            if count == present {
                parts.push(words);
            } else if count > 0 {
                parts.push(format!("{count} {words}"));
            }
        };
        add(field.numbers.count, self.describe_range().unwrap_or_default().replacen("number", "numbers", 1));
        add(field.true_count, "true".to_owned());
        add(field.false_count, "false".to_owned());
        let long = field.max_chars > LONG_TEXT_CHARS;
        add(
            field.string_count,
            if long {
                format!("texts of up to {} characters", field.max_chars)
            } else {
                "strings".to_owned()
            },
        );
        add(field.array_count, self.describe_arrays());
        add(field.object_count, "objects".to_owned());
        let scalars = field.scalar_count();
        let distinct = match (&field.tally, self.distinct_count) {
            _ if scalars == 0 => None,
            (_, Some(distinct)) if distinct == scalars => Some("all distinct".to_owned()),
            (_, Some(distinct)) => Some(format!("{distinct} distinct")),
            (DistinctValues::Exceeded(more), None) => Some(format!("over {more} distinct")),
            _ => None,
        };
        // A field with many values is assumed to hold strings. The items themselves have no name that suggests it.
        let is_assumed = field.path != ITEMS_FIELD;
        if is_assumed && field.string_count == present && !long && distinct.is_some() {
            parts.clear();
        }
        parts.extend(distinct);
        if field.blank_count > 0 {
            parts.push(format!("{} empty", field.blank_count));
        }
        parts.join(", ")
    }
}
