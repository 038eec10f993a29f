//! The end of the time that something may take.

use std::time::{Duration, Instant};

/// A moment by which everybody who was given it is done. Copies mean the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline that ends after `duration`.
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// Returns the time left; zero once it is over.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Returns the earlier of this deadline and the end of `duration` from now, for a step that must leave time to
    /// others.
    #[must_use]
    pub fn at_most(self, duration: Duration) -> Self {
        self.min(Self::after(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_never_ends_after_the_whole() {
        let whole = Deadline::after(Duration::from_mins(1));
        assert!(whole.at_most(Duration::from_secs(1)) < whole);
        assert_eq!(whole.at_most(Duration::from_mins(2)), whole);
        assert_eq!(Deadline::after(Duration::ZERO).remaining(), Duration::ZERO);
    }
}
