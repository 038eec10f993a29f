//! How counts of one endpoint stand to what they are held against, by its last replies.

use std::collections::VecDeque;

use portion_core::tokens::accuracy::{FAR, NEAR};

use super::super::Sample;

/// Replies that are looked back on. It takes as many to say that counts are near again.
const LAST: usize = 5;
/// Those that there must be for their median to say that counts are badly wrong.
const ENOUGH: usize = 3;

/// What is known of an endpoint.
#[derive(Default)]
pub(super) struct Recent {
    pub(super) standing: Standing,
    errors: VecDeque<f64>,
}

/// How counts stand to what they are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    #[default]
    Near,
    TooLow,
    TooHigh,
}

impl Recent {
    /// Takes note of a reply. The standing from now on, with the error that it follows from, where it is another one.
    ///
    /// It follows from the median of the last replies: badly wrong above 30 %, near again below 20 %. A single reply that
    /// is far too low is enough by itself.
    pub(super) fn turn(&mut self, sample: Sample) -> Option<(Standing, f64)> {
        if self.errors.len() == LAST {
            self.errors.pop_front();
        }
        self.errors.push_back(sample.error());
        let median = self.median();
        let enough = if self.standing == Standing::Near { ENOUGH } else { LAST };
        let (standing, error) = if sample.is_far_too_low() {
            (Standing::TooLow, sample.error())
        } else {
            (self.standing_at(median, self.errors.len() >= enough), median)
        };
        if standing == self.standing {
            return None;
        }
        self.standing = standing;
        // What was before says nothing of whether it is over.
        self.errors.clear();
        Some((standing, error))
    }

    fn standing_at(&self, median: f64, is_enough: bool) -> Standing {
        match self.standing {
            standing if !is_enough => standing,
            _ if median < -FAR => Standing::TooLow,
            _ if median > FAR => Standing::TooHigh,
            standing if median.abs() >= NEAR => standing,
            _ => Standing::Near,
        }
    }

    fn median(&self) -> f64 {
        let mut errors: Vec<f64> = self.errors.iter().copied().collect();
        errors.sort_by(f64::total_cmp);
        let upper = errors.len() / 2;
        if errors.len() % 2 == 1 { errors[upper] } else { f64::midpoint(errors[upper - 1], errors[upper]) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Recent, Sample, Standing};

    /// Replies that cost 1,000 tokens by so many counted, and what follows from each.
    fn check(estimates: &[usize], expect: &[(usize, Standing)]) {
        let mut recent = Recent::default();
        let turns = estimates.iter().enumerate().filter_map(|(at, estimated)| {
            let (standing, _) = recent.turn(Sample { estimated: *estimated, actual: 1_000 })?;
            Some((at, standing))
        });
        assert_eq!(turns.collect::<Vec<_>>(), expect, "{estimates:?}");
    }

    use Standing::{Near, TooHigh, TooLow};

    #[test]
    fn it_is_the_median_of_the_last_that_decides() {
        check(&[1_000, 1_100, 900, 1_000], &[]);
        // One that is off is an exception, three are not.
        check(&[1_500, 1_000, 1_000, 1_500, 1_500], &[(4, TooHigh)]);
        check(&[680, 680], &[]);
        check(&[680, 680, 680], &[(2, TooLow)]);
        check(&[1_400, 1_400, 1_400], &[(2, TooHigh)]);
    }

    #[test]
    fn one_that_is_far_too_low_is_enough() {
        check(&[660], &[(0, TooLow)]);
        check(&[1_000, 1_000, 1_000, 1_000, 1_000, 500], &[(5, TooLow)]);
        // Nothing follows from one that is far too high: nothing overflows by it.
        check(&[9_000], &[]);
        check(&[1_400, 1_400, 1_400, 500], &[(2, TooHigh), (3, TooLow)]);
    }

    #[test]
    fn it_is_over_later_than_it_began() {
        check(&[660, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow)]);
        check(&[660, 1_000, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow), (5, Near)]);
        // At a quarter off nothing begins, and nothing ends.
        check(&[750; 20], &[]);
        check(&[660, 750, 750, 750, 750, 750, 750], &[(0, TooLow)]);
        check(&[1_400, 1_400, 1_400, 680, 680, 680, 680, 680], &[(2, TooHigh), (7, TooLow)]);
    }
}
