//! How near estimates come to exact counts, where somebody counted exactly.

/// How far off an estimate may be to count as near, of the exact count.
pub const ACCURATE_MAX_ERROR: f64 = 0.2;
/// From where on it is badly wrong.
pub const INACCURATE_MIN_ERROR: f64 = 0.3;
/// The share of estimates that are to be near at least.
pub const MIN_ACCURATE_SHARE: f64 = 0.85;
/// Tokens that make no error. Estimates are whole and rounded up: of `hello`, two tokens, one more would be half of it.
const ROUNDING_TOKENS: u64 = 2;

/// How near estimates come to exact counts, where somebody counted exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Replies that were counted exactly.
    pub sample_count: u64,
    /// Those whose [`relative_error`] was within 20 %.
    pub accurate_count: u64,
    /// Those for which it was above 30 %.
    pub inaccurate_count: u64,
    /// Sum of the errors, each as a share of the exact count: positive where estimates are too high.
    pub error_sum: f64,
}

impl Accuracy {
    /// Adds a reply.
    pub fn add(&mut self, estimated: u64, actual: u64) {
        let error = relative_error(estimated, actual);
        self.sample_count += 1;
        self.accurate_count += u64::from(error.abs() <= ACCURATE_MAX_ERROR);
        self.inaccurate_count += u64::from(error.abs() > INACCURATE_MIN_ERROR);
        self.error_sum += error;
    }

    /// Adds what was added to another one.
    pub fn merge(&mut self, other: &Self) {
        self.sample_count += other.sample_count;
        self.accurate_count += other.accurate_count;
        self.inaccurate_count += other.inaccurate_count;
        self.error_sum += other.error_sum;
    }

    /// Share of the estimates that were within 20 %. `None` where nobody counted.
    pub fn accurate_share(&self) -> Option<f64> {
        (self.sample_count > 0).then(|| self.accurate_count as f64 / self.sample_count as f64)
    }

    /// By how much estimates are too high, on average, as a share; negative: too low. `None` where nobody counted.
    pub fn bias(&self) -> Option<f64> {
        (self.sample_count > 0).then(|| self.error_sum / self.sample_count as f64)
    }
}

/// By how much an estimate is too high, as a share of the exact count; not at all where it is off by a token or two.
pub fn relative_error(estimated: u64, actual: u64) -> f64 {
    if estimated.abs_diff(actual) <= ROUNDING_TOKENS {
        return 0.0;
    }
    // Of nothing, one token is as far off as all of it.
    (estimated as f64 - actual as f64) / actual.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_the_exact_count() {
        let check = |samples: &[(u64, u64)], near, far, bias| {
            let mut accuracy = Accuracy::default();
            samples.iter().for_each(|(estimated, actual)| accuracy.add(*estimated, *actual));
            assert_eq!(
                (accuracy.accurate_count, accuracy.inaccurate_count, accuracy.bias()),
                (near, far, bias),
                "{samples:?}"
            );
        };
        check(&[], 0, 0, None);
        check(&[(120, 100), (80, 100)], 2, 0, Some(0.0));
        check(&[(125, 100)], 0, 0, Some(0.25));
        check(&[(150, 100), (100, 100)], 1, 1, Some(0.25));
        check(&[(0, 0)], 1, 0, Some(0.0));
        check(&[(4, 0)], 0, 1, Some(4.0));
    }

    #[test]
    fn a_token_or_two_is_no_error_but_more_is() {
        for (estimated, actual) in [(3, 2), (4, 2), (1, 2), (0, 2), (1, 0), (10, 8)] {
            assert_eq!((estimated, actual, relative_error(estimated, actual)), (estimated, actual, 0.0));
        }
        assert_eq!((relative_error(5, 2), relative_error(1, 4), relative_error(13, 10)), (1.5, -0.75, 0.3));
    }
}
