//! What is told of one field, in words.

use std::fmt::Write as _;

use super::counts::{self, CATEGORY, COMMONEST, plain};
use super::field::{Gathered, LONG};
use super::moment::{self, Moments};
use super::sum::Extreme;
use super::tally::Tally;
use crate::snapshot::salience;

/// What is told of a field.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// What it is, for the order.
    pub sort: Sort,
    /// The words.
    pub text: String,
}

/// What a field is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Records are told apart by it.
    Identity,
    /// It can be added up.
    Quantity,
    /// Records can be counted by it.
    Category,
    /// It says when.
    Moment,
    /// It is different in every record, or a list, or an object.
    Other,
    /// It is the same in all records.
    Constant,
}

/// Different numbers from which they are quantities.
const QUANTITY: usize = 4;
/// Seconds since 1970 that moments lie between: 1990 and 2070.
const EPOCH: [f64; 2] = [631_152_000.0, 3_155_760_000.0];

/// What is told of a field of so many records. `holder` names a record.
pub(super) fn told(
    field: &Gathered,
    records: usize,
    text: &str,
    is_identity: bool,
    holder: &dyn Fn(usize) -> Option<String>,
) -> Told {
    let case = Case { field, text, holder, distinct: field.distinct() };
    let present = field.present();
    let absent = records.saturating_sub(present + field.nulls);
    let all_here = present == records;
    let (sort, mut words) = if present == 0 {
        (Sort::Constant, if absent == 0 { "always null".to_owned() } else { "no value".to_owned() })
    } else if is_identity && field.is_unique(records) {
        (Sort::Identity, "identity, all distinct".to_owned())
    } else if field.arrays == present {
        (Sort::Other, case.arrays())
    } else if field.objects == present {
        (Sort::Other, "objects".to_owned())
    } else if field.scalars() < present {
        (Sort::Other, case.mixture())
    } else if let Some((sort, words)) = case.constant(all_here) {
        (sort, words)
    } else if let Some(words) = case.quantity() {
        (Sort::Quantity, words)
    } else if let Some(words) = case.moments() {
        (Sort::Moment, words)
    } else if let Some(words) = counts::category(field, text) {
        (Sort::Category, words)
    } else {
        (Sort::Other, case.mixture())
    };
    let gaps = [(field.nulls, "null"), (absent, "absent")];
    for (count, what) in gaps.into_iter().filter(|(count, _)| *count > 0 && *count < records) {
        let _ = write!(words, ", {count} {what}");
    }
    Told { sort, text: words }
}

/// A field that is being told of.
struct Case<'a> {
    field: &'a Gathered,
    text: &'a str,
    holder: &'a dyn Fn(usize) -> Option<String>,
    /// Different scalars, `null` apart.
    distinct: Option<usize>,
}

impl Case<'_> {
    /// `always CA`, or `CA=5` where it is not in all records.
    fn constant(&self, all_here: bool) -> Option<(Sort, String)> {
        if self.distinct != Some(1) {
            return None;
        }
        let value =
            counts::values(self.field, self.text).and_then(|mut values| values.pop()).map(|(value, _)| value);
        Some(match (all_here, value) {
            (true, Some(value)) => (Sort::Constant, format!("always {value}")),
            (true, None) => (Sort::Constant, "always the same".to_owned()),
            (false, Some(value)) => (Sort::Category, format!("{value}={}", self.field.present())),
            (false, None) => (Sort::Other, format!("{} times the same", self.field.present())),
        })
    }

    /// `number 12…4890 (max at id=5), sum 712345`
    fn quantity(&self) -> Option<String> {
        let field = self.field;
        let numbers = &field.numbers;
        let asked = salience::weight(&field.path) > 0;
        // Few whole numbers under a name that says nothing are codes.
        let least = if asked || !numbers.whole() { QUANTITY } else { CATEGORY.min(field.present() / 4) + 1 };
        let few = self.distinct.is_some_and(|distinct| distinct < least);
        if numbers.count < field.present() || field.is_code || few || self.epoch().is_some() {
            return None;
        }
        let mut words = self.range()?;
        let greatest = numbers.greatest?;
        if greatest.holders > 1 {
            let _ = write!(words, " (max in {} records)", greatest.holders);
        } else if let Some(holder) = (self.holder)(greatest.record) {
            let _ = write!(words, " (max at {holder})");
        }
        if let Some(sum) = numbers.sum() {
            let _ = write!(words, ", sum {sum}");
        }
        if numbers.whole()
            && self.distinct.is_some_and(|distinct| distinct <= CATEGORY.min(field.present() / 2))
            && let Some(counts) = counts::counts(field, self.text, COMMONEST)
        {
            let _ = write!(words, "; {counts}");
        }
        Some(words)
    }

    /// `number 12…4890`
    fn range(&self) -> Option<String> {
        let written = |extreme: Extreme| extreme.at.of(self.text);
        let numbers = &self.field.numbers;
        Some(format!("number {}…{}", written(numbers.least?), written(numbers.greatest?)))
    }

    /// `2023-01-02…2024-05-06`
    fn moments(&self) -> Option<String> {
        let all = self.field.strings == self.field.present();
        match self.field.moments {
            Moments::All([earliest, latest]) if all => {
                let written = |(_, at): (moment::Moment, crate::span::Span)| plain(at.of(self.text));
                Some(format!("{}…{}", written(earliest), written(latest)))
            }
            _ => self.epoch(),
        }
    }

    /// The range of numbers that are seconds or milliseconds since 1970.
    fn epoch(&self) -> Option<String> {
        let numbers = &self.field.numbers;
        if numbers.count < self.field.present() || !salience::is_moment(&self.field.path) {
            return None;
        }
        let (least, greatest) = numbers.range()?;
        let within = |unit: f64| least >= EPOCH[0] * unit && greatest <= EPOCH[1] * unit;
        let unit = [1.0, 1e3].into_iter().find(|unit| within(*unit))?;
        let date = |float: f64| moment::written((float / unit).floor() as i64);
        Some(format!("{} ({}…{})", self.range()?, date(least), date(greatest)))
    }

    /// `arrays of 0–12 items`
    fn arrays(&self) -> String {
        match self.field.items.unwrap_or_default() {
            (0, 0) => "empty arrays".to_owned(),
            (1, 1) => "arrays of 1 item".to_owned(),
            (fewest, most) if fewest == most => format!("arrays of {most} items"),
            (fewest, most) => format!("arrays of {fewest}–{most} items"),
        }
    }

    /// Values of several kinds, or of one that has no better words: how many of each, and how many differ.
    fn mixture(&self) -> String {
        let field = self.field;
        let present = field.present();
        let mut parts = Vec::new();
        let mut add = |count: usize, words: String| {
            if count == present {
                parts.push(words);
            } else if count > 0 {
                parts.push(format!("{count} {words}"));
            }
        };
        add(field.numbers.count, self.range().unwrap_or_default().replacen("number", "numbers", 1));
        add(field.trues, "true".to_owned());
        add(field.falses, "false".to_owned());
        let long = field.longest > LONG;
        add(
            field.strings,
            if long { format!("texts of up to {} characters", field.longest) } else { "strings".to_owned() },
        );
        add(field.arrays, self.arrays());
        add(field.objects, "objects".to_owned());
        let scalars = field.scalars();
        let distinct = match (&field.tally, self.distinct) {
            _ if scalars == 0 => None,
            (_, Some(distinct)) if distinct == scalars => Some("all distinct".to_owned()),
            (_, Some(distinct)) => Some(format!("{distinct} distinct")),
            (Tally::Over(more), None) => Some(format!("over {more} distinct")),
            _ => None,
        };
        // Strings are what is expected of a field with many values.
        if field.strings == present && !long && distinct.is_some() {
            parts.clear();
        }
        parts.extend(distinct);
        if field.blank > 0 {
            parts.push(format!("{} empty", field.blank));
        }
        parts.join(", ")
    }
}
