//! How near estimates come to exact counts, where somebody counted exactly.

/// How far off an estimate may be to count as near, of the exact count.
pub const NEAR: f64 = 0.2;
/// From where on it is badly wrong.
pub const FAR: f64 = 0.3;
/// The share of estimates that are to be near at least.
pub const NEAR_SHARE: f64 = 0.85;
/// Tokens that make no error. Estimates are whole and rounded up: of `hello`, two tokens, one more would be half of it.
const ROUNDING: u64 = 2;

/// How near estimates come to exact counts, where somebody counted exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Replies that were counted exactly.
    pub sampled: u64,
    /// Those whose [`error`] was within 20 %.
    pub near: u64,
    /// Those for which it was above 30 %.
    pub far: u64,
    /// Sum of the errors, each as a share of the exact count: positive where estimates are too high.
    pub errors: f64,
}

impl Accuracy {
    /// Adds a reply.
    pub fn add(&mut self, estimated: u64, actual: u64) {
        let error = error(estimated, actual);
        self.sampled += 1;
        self.near += u64::from(error.abs() <= NEAR);
        self.far += u64::from(error.abs() > FAR);
        self.errors += error;
    }

    /// Adds what was added to another one.
    pub fn join(&mut self, other: &Self) {
        self.sampled += other.sampled;
        self.near += other.near;
        self.far += other.far;
        self.errors += other.errors;
    }

    /// Share of the estimates that were within 20 %. `None` where nobody counted.
    pub fn near_share(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.near as f64 / self.sampled as f64)
    }

    /// By how much estimates are too high, on average, as a share; negative: too low. `None` where nobody counted.
    pub fn bias(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.errors / self.sampled as f64)
    }
}

/// By how much an estimate is too high, as a share of the exact count; not at all where it is off by a token or two.
pub fn error(estimated: u64, actual: u64) -> f64 {
    if estimated.abs_diff(actual) <= ROUNDING {
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
            assert_eq!((accuracy.near, accuracy.far, accuracy.bias()), (near, far, bias), "{samples:?}");
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
            assert_eq!((estimated, actual, error(estimated, actual)), (estimated, actual, 0.0));
        }
        assert_eq!((error(5, 2), error(1, 4), error(13, 10)), (1.5, -0.75, 0.3));
    }
}
