//! Numbers of a field, added up without losing a digit.

use std::cmp::Ordering;

use super::number::{Number, power};
use crate::span::Span;

/// What was seen of the numbers of a field.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// How many there are.
    pub count: usize,
    /// The least of them.
    pub least: Option<Extreme>,
    /// The greatest.
    pub greatest: Option<Extreme>,
    /// Their sum, times 10 to the power of `places`; `None` once it is not exact.
    sum: Total,
    places: u8,
    /// The least and the greatest where all are whole and the sum is exact: what lies between needs only be added up.
    bounds: (i64, i64),
}

/// The least or the greatest of several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extreme {
    /// How it is written, where it is first.
    pub at: Span,
    /// The first record that holds it.
    pub record: usize,
    /// How many records hold it.
    pub holders: usize,
    number: Number,
}

/// A sum, exact as long as it can be.
#[derive(Clone, Copy, Debug)]
enum Total {
    Exact(i128),
    Near(f64),
}

impl Default for Total {
    fn default() -> Self {
        Self::Exact(0)
    }
}

impl Numbers {
    /// Takes a number in, and adds it up where it is a quantity.
    pub(super) fn add(&mut self, number: Number, at: Span, record: usize, quantity: bool) {
        self.take(number, at, record, quantity);
        let whole = |extreme: Option<Extreme>| match extreme?.number {
            Number::Decimal { digits, places: 0 } if self.whole() => Some(digits),
            _ => None,
        };
        self.bounds = whole(self.least).zip(whole(self.greatest)).unwrap_or_default();
    }

    /// The same for a whole number, where it is neither the least nor the greatest; `false` where it may be.
    #[inline]
    pub(super) fn add_between(&mut self, number: i64, quantity: bool) -> bool {
        let Total::Exact(sum) = &mut self.sum else { return false };
        let total = if quantity { sum.checked_add(i128::from(number)) } else { Some(*sum) };
        let between = self.bounds.0 < number && number < self.bounds.1;
        let Some(total) = total.filter(|_| between) else { return false };
        *sum = total;
        self.count += 1;
        true
    }

    fn take(&mut self, number: Number, at: Span, record: usize, quantity: bool) {
        self.count += 1;
        extend(&mut self.least, Ordering::Less, number, at, record);
        extend(&mut self.greatest, Ordering::Greater, number, at, record);
        if !quantity {
            if let Number::Decimal { places, .. } = number {
                self.places = self.places.max(places);
            }
            return;
        }
        self.sum = match (self.sum, number) {
            (Total::Exact(sum), Number::Decimal { digits, places }) if places == self.places => {
                sum.checked_add(i128::from(digits)).map_or(Total::Near(f64::INFINITY), Total::Exact)
            }
            (Total::Exact(sum), Number::Decimal { digits, places }) => self.rescaled(sum, digits, places),
            (Total::Exact(sum), number) => {
                Total::Near(sum as f64 / power(self.places) as f64 + number.float())
            }
            (Total::Near(sum), number) => Total::Near(sum + number.float()),
        };
    }

    /// The sum with a number of more or fewer places.
    fn rescaled(&mut self, sum: i128, digits: i64, places: u8) -> Total {
        let mut sum = Some(sum);
        if places > self.places {
            sum = sum.and_then(|sum| sum.checked_mul(power(places - self.places)));
            self.places = places;
        }
        let more = i128::from(digits) * power(self.places - places);
        sum.and_then(|sum| sum.checked_add(more)).map_or(Total::Near(f64::INFINITY), Total::Exact)
    }

    /// Whether all are whole.
    pub(super) fn whole(&self) -> bool {
        self.places == 0 && matches!(self.sum, Total::Exact(_))
    }

    /// Their sum, as people write it: exact up to six decimals, else marked `≈`. `None` where no figure can be given.
    pub(super) fn sum(&self) -> Option<String> {
        match self.sum {
            Total::Exact(sum) if self.places <= DECIMALS => Some(written(sum, self.places)),
            Total::Exact(sum) => Some(near(sum as f64 / power(self.places) as f64, DECIMALS)),
            Total::Near(sum) => sum.is_finite().then(|| near(sum, DECIMALS)),
        }
    }

    /// The least and the greatest as doubles.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        Some((self.least?.number.float(), self.greatest?.number.float()))
    }
}

/// Decimals that are told.
const DECIMALS: u8 = 6;

#[inline]
fn extend(best: &mut Option<Extreme>, way: Ordering, number: Number, at: Span, record: usize) {
    let order = best.map_or(way, |held| number.order(held.number));
    if order == way {
        *best = Some(Extreme { at, record, holders: 1, number });
    } else if order == Ordering::Equal
        && let Some(held) = best
    {
        held.holders += 1;
    }
}

/// `digits / 10^places` without trailing zeros.
fn written(digits: i128, places: u8) -> String {
    let scale = power(places);
    let sign = if digits < 0 { "-" } else { "" };
    let (whole, rest) =
        (digits.unsigned_abs() / scale.unsigned_abs(), digits.unsigned_abs() % scale.unsigned_abs());
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let rest = format!("{rest:0width$}", width = usize::from(places));
    format!("{sign}{whole}.{}", rest.trim_end_matches('0'))
}

/// A figure that was rounded, and says so.
fn near(figure: f64, places: u8) -> String {
    let text = format!("{figure:.*}", usize::from(places));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("≈{}", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::Numbers;
    use crate::span::Span;

    fn check(numbers: &[&str], sum: &str) {
        let mut seen = Numbers::default();
        for (i, number) in numbers.iter().enumerate() {
            seen.add(Number::of(number), Span::new(i, i + 1), i, true);
        }
        assert_eq!(seen.sum().unwrap_or_default(), sum, "{numbers:?}");
        let floats = || numbers.iter().map(|number| number.parse::<f64>().expect("a number"));
        let (least, greatest) = seen.range().expect("some");
        assert!(floats().all(|float| least <= float && float <= greatest), "{numbers:?}");
        assert!(
            floats().any(|float| least >= float) && floats().any(|float| greatest <= float),
            "{numbers:?}"
        );
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
    fn what_is_not_exact_says_so() {
        check(&["1e2", "1"], "≈101");
        check(&["12345678901234567890123", "1"], "≈12345678901234567741440");
        check(&["1e400", "1"], "");
    }
}
