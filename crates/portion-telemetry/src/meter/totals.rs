//! What was served altogether.

use portion_core::event::Outcome;
use portion_core::tokens::accuracy::Accuracy;

use crate::read::share;

use super::{Meter, Sums};

/// What was served altogether since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Requests that were answered from a snapshot.
    pub follow_ups: u64,
    /// Replies that are errors, ours or the upstream's.
    pub errors: u64,
    /// Replies whose cost is known, and what they cost.
    pub counted: (u64, u64),
    /// Tokens of the payloads whose cost is known, and what was served of them, follow-ups included.
    pub tokens: (u64, u64),
    /// Bytes of payloads, and of replies.
    pub bytes: (u64, u64),
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// Those of them whose payload was above the budget.
    pub oversized: u64,
    /// How near estimates are.
    pub accuracy: Accuracy,
}

impl Meter {
    /// What was served altogether since the start.
    pub fn totals(&self) -> Totals {
        self.sums().totals()
    }
}

impl Sums {
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for cell in &self.cells {
            for (total, count) in totals.outcomes.iter_mut().zip(cell.outcomes) {
                *total += count;
            }
            totals.follow_ups += cell.follow_ups;
            totals.errors += cell.errors;
            totals.counted = (totals.counted.0 + cell.counted.0, totals.counted.1 + cell.counted.1);
            totals.tokens = (totals.tokens.0 + cell.tokens.0, totals.tokens.1 + cell.tokens.1);
            totals.bytes = (totals.bytes.0 + cell.bytes.0, totals.bytes.1 + cell.bytes.1);
            totals.sized += cell.sized;
            totals.oversized += cell.oversized;
        }
        for (_, estimates) in &self.estimates {
            totals.accuracy.join(&estimates.accuracy);
        }
        totals
    }
}

impl Totals {
    /// Requests, follow-ups among them.
    pub fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Requests of that outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Share of the replies that are a portion of a payload, follow-ups among them: neither the whole nor an error of ours.
    /// `None` where there was none.
    pub fn adoption(&self) -> Option<f64> {
        let whole = self.of(Outcome::Untouched) + self.of(Outcome::Unshaped);
        let refused = self.of(Outcome::Expired) + self.of(Outcome::Refused);
        let answered = self.requests() - refused;
        share(answered - whole, answered)
    }

    /// Share of the first calls whose payload was above the budget. `None` where no cost is known.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Share of the tokens that were kept out, follow-ups counted against it. `None` where no cost is known.
    pub fn reduction(&self) -> Option<f64> {
        share(self.tokens.1, self.tokens.0).map(|served| 1.0 - served)
    }

    /// Follow-ups for each first call. `None` where there was none.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests() - self.follow_ups)
    }

    /// Tokens of a reply, on average. `None` where none was counted.
    pub fn mean_tokens(&self) -> Option<f64> {
        share(self.counted.1, self.counted.0)
    }

    /// Bytes of a reply, on average. `None` where there was none.
    pub fn mean_bytes(&self) -> Option<f64> {
        share(self.bytes.1, self.requests())
    }
}
