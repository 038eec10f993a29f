//! Choices of a generated case, as a strategy that shrinks.
//!
//! A generator calls [`Dice`] for each choice, and every choice is recorded. Shrinking edits the record of a failing
//! case: it deletes and zeroes runs of choices, then lowers single ones. A choice beyond the end of a record is 0.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use proptest::prelude::{Rng as _, Strategy};
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::TestRunner;

/// A source of choices. Equal seeds make equal choices, and so do equal records.
pub(crate) struct Dice {
    state: u64,
    /// Choices to repeat; `None` if they follow from the seed.
    replayed: Option<Vec<u64>>,
    record: Rc<RefCell<Vec<u64>>>,
}

/// Returns a strategy for sources of choices.
pub(crate) fn dice() -> impl Strategy<Value = Dice> {
    Choices
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, replayed: None, record: Rc::default() }
    }

    /// Repeats recorded choices, as a failing test prints them.
    pub(crate) fn replay(choices: &[u64]) -> Self {
        Self { replayed: Some(choices.to_vec()), ..Self::new(0) }
    }

    /// Returns any number.
    pub(crate) fn roll(&mut self) -> u64 {
        let number = self.next_number();
        self.choose(|| number, u64::MAX)
    }

    /// Returns a number below `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let (number, end) = (self.next_number(), end.max(1) as u64);
        self.choose(|| number % end, end - 1) as usize
    }

    /// Returns a number from `from` to `to`, inclusive.
    pub(crate) fn within(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// Returns true once in `times` calls, on average.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        let number = self.next_number();
        self.choose(|| u64::from(number.is_multiple_of(times.max(1) as u64)), 1) == 1
    }

    /// Makes a choice without changing any other choice of this seed. Each `turn` makes another one.
    pub(crate) fn aside<T: Copy>(&self, turn: u64, all: &[T]) -> T {
        let number = split_mix(&mut (self.state ^ (turn + 1).wrapping_mul(0x5851_f42d_4c95_7f2d)));
        all[self.choose(|| number % all.len() as u64, all.len() as u64 - 1) as usize]
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn next_number(&mut self) -> u64 {
        split_mix(&mut self.state)
    }

    /// Records and returns a choice of at most `last`: the replayed one, or else a new one.
    fn choose(&self, new: impl FnOnce() -> u64, last: u64) -> u64 {
        let mut record = self.record.borrow_mut();
        let choice = match &self.replayed {
            Some(choices) => choices.get(record.len()).map_or(0, |choice| (*choice).min(last)),
            None => new(),
        };
        record.push(choice);
        choice
    }
}

impl fmt::Debug for Dice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.replayed {
            Some(choices) => write!(f, "Dice::replay(&{choices:?})"),
            None => write!(f, "Dice::new({})", self.state),
        }
    }
}

/// Returns the next number of the `SplitMix64` generator.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Zeros in a row that are worth an attempt to delete them.
const FEW_ZEROS: usize = 16;

#[derive(Debug)]
struct Choices;

/// Shrinks the choices of a failing case.
#[derive(Debug)]
struct DiceTree {
    seed: u64,
    /// Choices of the simplest failing case so far; `None` before the first failure.
    failing: Option<Vec<u64>>,
    /// Choices that are tried next.
    candidate: Option<Vec<u64>>,
    /// Choices of the last source that was given away.
    record: RefCell<Rc<RefCell<Vec<u64>>>>,
    edit: Edit,
    /// True if an edit of the last pass was kept: then another pass may find more.
    has_improved: bool,
}

/// An edit of a run of choices.
#[derive(Clone, Copy, Debug)]
struct Edit {
    kind: EditKind,
    at: usize,
    /// Length of the run; 0 if all edits were tried.
    width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditKind {
    Delete,
    Zero,
    /// Lowers a single choice.
    Halve,
    Decrement,
}

impl Strategy for Choices {
    type Tree = DiceTree;
    type Value = Dice;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let edit = Edit { kind: EditKind::Delete, at: 0, width: 0 };
        let seed = runner.rng().next_u64();
        Ok(DiceTree {
            seed,
            failing: None,
            candidate: None,
            record: RefCell::default(),
            edit,
            has_improved: false,
        })
    }
}

impl ValueTree for DiceTree {
    type Value = Dice;

    fn current(&self) -> Dice {
        let choices = self.candidate.as_ref().or(self.failing.as_ref());
        let dice = choices.map_or_else(|| Dice::new(self.seed), |choices| Dice::replay(choices));
        self.record.replace(Rc::clone(&dice.record));
        dice
    }

    fn simplify(&mut self) -> bool {
        if let Some(candidate) = self.candidate.take() {
            self.failing = Some(candidate);
            self.has_improved = true;
            if self.edit.kind == EditKind::Zero {
                self.edit = self.edit.next();
            }
        } else {
            let recorded = self.record.take().take();
            self.edit.width = recorded.len().div_ceil(2).next_power_of_two();
            self.failing = Some(recorded);
        }
        self.try_next()
    }

    fn complicate(&mut self) -> bool {
        self.candidate = None;
        self.edit = self.edit.next();
        self.try_next()
    }
}

impl DiceTree {
    /// Prepares the next edit that changes the failing choices. Returns false if there is none.
    fn try_next(&mut self) -> bool {
        let failing = self.failing.as_deref().unwrap_or_default();
        while self.edit.width > 0 {
            if self.edit.at >= failing.len() {
                // Single choices are tried until none can be lowered.
                let again = self.has_improved && self.edit.width == 1;
                let width = if again { 1 } else { self.edit.width / 2 };
                self.edit = Edit { kind: EditKind::Delete, at: 0, width };
                self.has_improved = false;
                continue;
            }
            self.candidate = self.edit.of(failing);
            if self.candidate.is_some() {
                return true;
            }
            self.edit = self.edit.next();
        }
        false
    }
}

impl Edit {
    /// Returns the edited choices; `None` if they would be the same.
    fn of(self, choices: &[u64]) -> Option<Vec<u64>> {
        let run = self.at..(self.at + self.width).min(choices.len());
        // A record has many zeros. Deleting a few of them seldom helps.
        if self.width < FEW_ZEROS && choices[run.clone()].iter().all(|choice| *choice == 0) {
            return None;
        }
        let mut edited = choices.to_vec();
        match self.kind {
            EditKind::Delete => drop(edited.drain(run)),
            EditKind::Zero => edited[run].fill(0),
            EditKind::Halve => edited[self.at] /= 2,
            EditKind::Decrement => edited[self.at] = edited[self.at].saturating_sub(1),
        }
        (edited != choices).then_some(edited)
    }

    /// Returns the edit to try after this one failed or cannot be repeated.
    fn next(self) -> Self {
        let kind = match self.kind {
            EditKind::Delete => EditKind::Zero,
            EditKind::Zero if self.width == 1 => EditKind::Halve,
            EditKind::Halve => EditKind::Decrement,
            EditKind::Zero | EditKind::Decrement => {
                return Self { kind: EditKind::Delete, at: self.at + self.width, ..self };
            }
        };
        Self { kind, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{RngAlgorithm, TestError, TestRng};

    use super::*;

    fn numbers(dice: &mut Dice) -> Vec<usize> {
        (0..dice.below(500)).map(|_| dice.below(1_000)).collect()
    }

    #[test]
    fn a_failing_case_shrinks_to_its_cause() {
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let failure = TestRunner::new_with_rng(config, rng).run(&dice(), |mut dice| {
            let large = numbers(&mut dice).into_iter().filter(|number| *number >= 700).count();
            prop_assert!(large < 2);
            Ok(())
        });
        let Err(TestError::Fail(_, mut smallest)) = failure else { panic!("no failure: {failure:?}") };
        assert_eq!(format!("{smallest:?}"), "Dice::replay(&[2, 700, 700])");
        assert_eq!(numbers(&mut smallest), [700, 700]);
    }

    #[test]
    fn a_record_repeats_all_choices() {
        for seed in 0..50 {
            let mut dice = Dice::new(seed);
            let choices = |dice: &mut Dice| {
                let numbers = numbers(dice);
                let others = (dice.roll(), dice.once_in(3), dice.aside(7, &[1, 2, 3]), dice.within(4, 9));
                (numbers, others)
            };
            let first = choices(&mut dice);
            let record = dice.record.take();
            assert_eq!(choices(&mut Dice::replay(&record)), first);
        }
    }
}
