//! Statistics of the numbers of a field, summed without loss of digits, and ranges of dates and times.

use std::cmp::Ordering;

use portion_json::scan::{ParsedNumber, power_of_ten};
use portion_json::span::Span;
use portion_text::timestamp::Timestamp;

/// Statistics of the numbers of a field.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberStats {
    /// Number of values.
    pub count: usize,
    /// Smallest value.
    pub min: Option<Extreme>,
    /// Largest value.
    pub max: Option<Extreme>,
    /// Sum, multiplied by 10 to the power of `decimal_places` while it is exact.
    sum: RunningSum,
    decimal_places: u8,
    /// Smallest and largest value if all are integers and the sum is exact: values in between only need to be
    /// added up.
    bounds: (i64, i64),
}

/// The smallest or largest of several values.
#[derive(Clone, Debug)]
pub(super) struct Extreme {
    /// Span of its first occurrence.
    pub span: Span,
    /// First record that contains it.
    pub first_record: usize,
    /// Number of records that contain it.
    pub record_count: usize,
    number: ParsedNumber,
}

/// A sum that is exact as long as possible.
#[derive(Clone, Copy, Debug)]
enum RunningSum {
    Exact(i128),
    Approximate(f64),
}

impl Default for RunningSum {
    fn default() -> Self {
        Self::Exact(0)
    }
}

impl NumberStats {
    /// Adds a number, and adds it to the sum if it is a quantity.
    pub(super) fn add(&mut self, number: &ParsedNumber, at: Span, record: usize, quantity: bool) {
        self.include(number, at, record, quantity);
        let whole = |extreme: Option<&Extreme>| match extreme?.number {
            ParsedNumber::Decimal { digits, places: 0 } if self.all_integers() => Some(digits),
            _ => None,
        };
        self.bounds = whole(self.min.as_ref()).zip(whole(self.max.as_ref())).unwrap_or_default();
    }

    /// Adds an integer if it is strictly between the bounds; returns `false` if it is not.
    #[inline]
    pub(super) fn add_between(&mut self, number: i64, quantity: bool) -> bool {
        let RunningSum::Exact(sum) = &mut self.sum else { return false };
        let total = if quantity { sum.checked_add(i128::from(number)) } else { Some(*sum) };
        let between = self.bounds.0 < number && number < self.bounds.1;
        let Some(total) = total.filter(|_| between) else { return false };
        *sum = total;
        self.count += 1;
        true
    }

    fn include(&mut self, number: &ParsedNumber, at: Span, record: usize, quantity: bool) {
        self.count += 1;
        update_extreme(&mut self.min, Ordering::Less, number, at, record);
        update_extreme(&mut self.max, Ordering::Greater, number, at, record);
        if !quantity {
            if let ParsedNumber::Decimal { places, .. } = number {
                self.decimal_places = self.decimal_places.max(*places);
            }
            return;
        }
        self.sum = match (self.sum, number) {
            (RunningSum::Exact(sum), ParsedNumber::Decimal { digits, places })
                if *places == self.decimal_places =>
            {
                sum.checked_add(i128::from(*digits))
                    .map_or(RunningSum::Approximate(f64::INFINITY), RunningSum::Exact)
            }
            (RunningSum::Exact(sum), ParsedNumber::Decimal { digits, places }) => {
                self.add_rescaled(sum, *digits, *places)
            }
            (RunningSum::Exact(sum), number) => RunningSum::Approximate(
                sum as f64 / power_of_ten(self.decimal_places) as f64 + number.to_f64(),
            ),
            (RunningSum::Approximate(sum), number) => RunningSum::Approximate(sum + number.to_f64()),
        };
    }

    /// Returns the sum with a number that has other decimal places.
    fn add_rescaled(&mut self, sum: i128, digits: i64, places: u8) -> RunningSum {
        let mut sum = Some(sum);
        if places > self.decimal_places {
            sum = sum.and_then(|sum| sum.checked_mul(power_of_ten(places - self.decimal_places)));
            self.decimal_places = places;
        }
        let more = i128::from(digits) * power_of_ten(self.decimal_places - places);
        sum.and_then(|sum| sum.checked_add(more))
            .map_or(RunningSum::Approximate(f64::INFINITY), RunningSum::Exact)
    }

    /// Returns true if all values are integers.
    pub(super) fn all_integers(&self) -> bool {
        self.decimal_places == 0 && matches!(self.sum, RunningSum::Exact(_))
    }

    /// Returns the sum in decimal notation: exact up to six decimals, otherwise rounded and marked `≈`.
    /// Returns `None` if it is not finite.
    pub(super) fn sum(&self) -> Option<String> {
        match self.sum {
            RunningSum::Exact(sum) if self.decimal_places <= MAX_DECIMALS => {
                Some(format_decimal(sum, self.decimal_places))
            }
            RunningSum::Exact(sum) => {
                Some(format_approximate(sum as f64 / power_of_ten(self.decimal_places) as f64, MAX_DECIMALS))
            }
            RunningSum::Approximate(sum) => sum.is_finite().then(|| format_approximate(sum, MAX_DECIMALS)),
        }
    }

    /// Returns the smallest and the largest value as doubles.
    pub(super) fn bounds_as_f64(&self) -> Option<(f64, f64)> {
        Some((self.min.as_ref()?.number.to_f64(), self.max.as_ref()?.number.to_f64()))
    }
}

/// Largest number of decimals shown.
const MAX_DECIMALS: u8 = 6;

#[inline]
fn update_extreme(
    best: &mut Option<Extreme>,
    direction: Ordering,
    number: &ParsedNumber,
    at: Span,
    record: usize,
) {
    let order = best.as_ref().map_or(direction, |stored| number.compare(&stored.number));
    if order == direction {
        *best = Some(Extreme { span: at, first_record: record, record_count: 1, number: number.clone() });
    } else if order == Ordering::Equal
        && let Some(stored) = best
    {
        stored.record_count += 1;
    }
}

/// Formats `digits / 10^places` without trailing zeros.
fn format_decimal(digits: i128, places: u8) -> String {
    let scale = power_of_ten(places);
    let sign = if digits < 0 { "-" } else { "" };
    let (whole, rest) =
        (digits.unsigned_abs() / scale.unsigned_abs(), digits.unsigned_abs() % scale.unsigned_abs());
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let rest = format!("{rest:0width$}", width = usize::from(places));
    format!("{sign}{whole}.{}", rest.trim_end_matches('0'))
}

/// Formats a rounded number with the mark `≈`.
fn format_approximate(figure: f64, places: u8) -> String {
    let text = format!("{figure:.*}", usize::from(places));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("≈{}", if text == "-0" { "0" } else { text })
}

/// Range of the timestamps of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum TimestampRange {
    /// No text yet.
    #[default]
    None,
    /// All texts are timestamps of the same precision: the earliest and the latest.
    Range([(Timestamp, Span); 2]),
    /// Some text is not such a timestamp.
    Mixed,
}

impl TimestampRange {
    /// Adds the timestamp in a text, if it is one.
    #[inline]
    pub(super) fn add(&mut self, timestamp: Option<Timestamp>, at: Span) {
        *self = match (timestamp, *self) {
            (Some(timestamp), Self::None) => Self::Range([(timestamp, at); 2]),
            (Some(timestamp), Self::Range([earliest, latest]))
                if precision(timestamp) == precision(latest.0) =>
            {
                Self::Range([
                    if order_key(timestamp) < order_key(earliest.0) { (timestamp, at) } else { earliest },
                    if order_key(timestamp) > order_key(latest.0) { (timestamp, at) } else { latest },
                ])
            }
            _ => Self::Mixed,
        };
    }
}

/// Returns the precision of a timestamp: without a time of day, and with a zone. Only timestamps of the same precision are
/// compared.
fn precision(timestamp: Timestamp) -> (bool, bool) {
    (timestamp.is_date, timestamp.is_zoned)
}

fn order_key(timestamp: Timestamp) -> (i64, u32) {
    (timestamp.seconds, timestamp.nanos)
}

/// Formats seconds since 1970 as `2024-05-01T10:00:00Z`.
pub(super) fn format_timestamp(seconds: i64) -> String {
    Timestamp { seconds, nanos: 0, is_date: false, separator: 'T', is_zoned: true }.write()
}

#[cfg(test)]
mod tests {
    use portion_json::scan::ParsedNumber;
    use portion_json::span::Span;
    use portion_text::timestamp::Timestamp;

    use super::{NumberStats, format_timestamp};

    fn check(numbers: &[&str], sum: &str) {
        let mut stats = NumberStats::default();
        for (i, number) in numbers.iter().enumerate() {
            stats.add(&ParsedNumber::parse(number), Span::new(i, i + 1), i, true);
        }
        assert_eq!(stats.sum().unwrap_or_default(), sum, "{numbers:?}");
        let floats = || numbers.iter().map(|number| number.parse::<f64>().expect("a number"));
        let (min, max) = stats.bounds_as_f64().expect("some");
        assert!(floats().all(|float| min <= float && float <= max), "{numbers:?}");
        assert!(floats().any(|float| min >= float) && floats().any(|float| max <= float), "{numbers:?}");
    }

    #[test]
    fn sums_are_exact_where_doubles_are_not() {
        check(&["1", "2", "3"], "6");
        check(&["1", "2"], "3");
        check(&["0.1", "0.2"], "0.3");
        check(&["1", "1", "2"], "4");
        check(&["-1.50", "1.5"], "0");
        check(&["-0.05", "0"], "-0.05");
        check(&["9007199254740993", "1"], "9007199254740994");
        check(&["9223372036854775807", "9223372036854775807"], "18446744073709551614");
        check(&["0.123456789", "0"], "≈0.123457");
    }

    #[test]
    fn inexact_sums_are_marked() {
        check(&["1e2", "1"], "≈101");
        check(&["12345678901234567890123", "1"], "≈12345678901234567741440");
        check(&["1e400", "1"], "");
    }

    #[test]
    fn seconds_are_written_as_they_are_read() {
        for seconds in [0, -1, 951_782_400, 1_714_558_830, 4_102_444_799, -2_208_988_800] {
            let read = Timestamp::parse_iso(&format_timestamp(seconds));
            assert_eq!(read.map(|timestamp| timestamp.seconds), Some(seconds));
        }
    }
}
