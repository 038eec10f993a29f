//! The share of near counts among the last replies, whatever their endpoint.

use std::collections::VecDeque;

use portion_core::tokens::accuracy::NEAR_SHARE;

use super::super::Figures;

/// Replies that are looked back on.
const LAST: usize = 1_000;
/// Those that there must be for their share to say something.
const ENOUGH: usize = 100;
/// The share from which enough are, once they were too few.
const HIGH: f64 = 0.9;

#[derive(Default)]
pub(super) struct Window {
    /// Whether each of the last was near.
    last: VecDeque<bool>,
    near: usize,
    sampled: u64,
    is_low: bool,
}

impl Window {
    /// Takes note of a reply. Whether too few are near from now on, and their share, where that is another answer.
    pub(super) fn note(&mut self, is_near: bool) -> Option<(bool, f64)> {
        self.sampled += 1;
        if self.last.len() == LAST && self.last.pop_front() == Some(true) {
            self.near -= 1;
        }
        self.last.push_back(is_near);
        self.near += usize::from(is_near);
        let share = self.share()?;
        let is_low = self.last.len() >= ENOUGH && share < if self.is_low { HIGH } else { NEAR_SHARE };
        let turns = is_low != self.is_low;
        self.is_low = is_low;
        turns.then_some((is_low, share))
    }

    pub(super) fn figures(&self) -> Figures {
        let Self { sampled, is_low, .. } = *self;
        let (recent, near_share) = (self.last.len() as u64, self.share());
        Figures { sampled, recent, near_share, is_low, ..Figures::default() }
    }

    fn share(&self) -> Option<f64> {
        (!self.last.is_empty()).then(|| self.near as f64 / self.last.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn too_few_are_told_of_once_and_enough_again() {
        let mut window = Window::default();
        let mut note =
            |many: usize, is_near: bool| (0..many).filter_map(|_| window.note(is_near)).collect::<Vec<_>>();
        assert_eq!(note(99, false), []);
        assert_eq!(note(1, true), [(true, 0.01)]);
        assert_eq!(note(889, true), []);
        assert_eq!(note(1, true), [(false, 0.9)]);
        // At 860 of 1,000 nothing begins.
        assert_eq!(note(9, true), []);
        assert_eq!((window.figures().recent, window.figures().sampled), (999, 999));
    }
}
