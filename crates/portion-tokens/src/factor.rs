//! A factor on every count, fitted by an operator to what a model really charged.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{TokenCounter, Tokenizer};

/// Factor on token counts, in thousandths, from 0.25 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factor(u32);

/// The factor 1, in thousandths.
const THOUSANDTHS: u32 = 1_000;

impl Factor {
    /// Leaves counts unchanged.
    pub const ONE: Self = Self(THOUSANDTHS);
    /// Smallest factor; anything below is treated as a mistake.
    pub const MIN: f64 = 0.25;
    /// Largest factor.
    pub const MAX: f64 = 4.0;

    /// Returns the factor nearest to a number; `None` if that is below 0.25 or above 4.
    pub fn from_f64(number: f64) -> Option<Self> {
        let thousandths = || (number * f64::from(THOUSANDTHS)).round() as u32;
        (Self::MIN..=Self::MAX).contains(&number).then(|| Self(thousandths()))
    }

    /// Returns the factor as a number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(THOUSANDTHS)
    }

    /// Multiplies a token count by the factor and rounds up.
    pub(super) fn scale(self, tokens: usize) -> usize {
        let scaled = (tokens as u128 * u128::from(self.0)).div_ceil(u128::from(THOUSANDTHS));
        usize::try_from(scaled).unwrap_or(usize::MAX)
    }

    /// Returns the largest count that is at most `limit` when multiplied.
    fn unscale_limit(self, limit: usize) -> usize {
        let max = limit as u128 * u128::from(THOUSANDTHS) / u128::from(self.0);
        usize::try_from(max).unwrap_or(usize::MAX)
    }
}

impl Default for Factor {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

/// A counter whose counts are multiplied by a factor.
///
/// A scaled count fits a limit exactly if the unscaled count fits the limit divided by the factor,
/// rounded down. So every method calls the same method of the unscaled counter, and the laws of
/// [`TokenCounter`] hold.
struct ScaledCounter {
    tokenizer: Tokenizer,
    factor: Factor,
}

impl ScaledCounter {
    fn counter(&self) -> &'static dyn TokenCounter {
        self.tokenizer.counter()
    }
}

impl TokenCounter for ScaledCounter {
    fn name(&self) -> &'static str {
        self.counter().name()
    }

    fn count(&self, text: &str) -> usize {
        self.factor.scale(self.counter().count(text))
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        let count = self.counter().count_within(text, self.factor.unscale_limit(limit))?;
        Some(self.factor.scale(count))
    }

    fn fits(&self, text: &str, limit: usize) -> bool {
        self.counter().fits(text, self.factor.unscale_limit(limit))
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        self.counter().prefix_within(text, self.factor.unscale_limit(limit))
    }

    fn part_costs(&self, text: &str, ends: &[usize]) -> Vec<u32> {
        let costs = self.counter().part_costs(text, ends);
        costs.into_iter().map(|cost| super::thousandths(self.factor.scale(cost as usize) as u64)).collect()
    }
}

/// Returns the counter of a tokenizer and factor: one per combination, kept for the life of the process.
pub(super) fn scaled_counter(tokenizer: Tokenizer, factor: Factor) -> &'static dyn TokenCounter {
    static KNOWN: Mutex<Vec<&'static ScaledCounter>> = Mutex::new(Vec::new());
    if factor == Factor::ONE {
        return tokenizer.counter();
    }
    let mut counters = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = counters.iter().find(|scaled| scaled.tokenizer == tokenizer && scaled.factor == factor);
    if let Some(scaled) = found {
        return *scaled;
    }
    let scaled: &'static ScaledCounter = Box::leak(Box::new(ScaledCounter { tokenizer, factor }));
    counters.push(scaled);
    scaled
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::Factor;
    use crate::Tokenizer;

    #[test]
    fn factors_are_parsed_within_their_range() {
        let check = |number: f64, expect: Option<&str>| {
            assert_eq!(
                Factor::from_f64(number).map(|factor| factor.to_string()).as_deref(),
                expect,
                "{number}"
            );
        };
        check(1.0, Some("1"));
        check(0.25, Some("0.25"));
        check(1.2344, Some("1.234"));
        check(4.0, Some("4"));
        check(0.249, None);
        check(4.1, None);
        check(f64::NAN, None);
        assert_eq!(Factor::from_f64(1.0), Some(Factor::default()));
    }

    #[test]
    fn counts_are_multiplied_and_rounded_up() {
        let factor = Factor::from_f64(1.1).expect("a factor");
        assert_eq!([0, 1, 10, 11].map(|tokens| factor.scale(tokens)), [0, 2, 11, 13]);
        assert_eq!([0, 1, 2, 11, 12].map(|limit| factor.unscale_limit(limit)), [0, 0, 1, 10, 10]);
        assert_eq!(
            (factor.scale(usize::MAX), Factor::ONE.unscale_limit(usize::MAX)),
            (usize::MAX, usize::MAX)
        );
    }

    #[test]
    fn one_counter_is_kept_for_each_factor() {
        let scaled =
            |number: f64| Tokenizer::O200k.scaled_counter(Factor::from_f64(number).expect("a factor"));
        assert!(ptr::addr_eq(scaled(1.5), scaled(1.5)));
        assert!(!ptr::addr_eq(scaled(1.5), scaled(1.6)));
        assert!(ptr::addr_eq(scaled(1.0), Tokenizer::O200k.counter()));
    }
}
