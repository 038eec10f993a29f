//! A bound on the work of one search, without a clock.

use std::sync::atomic::{AtomicBool, Ordering};

use super::FindError;

/// What any search may cost, in steps of about a nanosecond.
const BASE: u64 = 1 << 30;
/// What it may cost more for each byte that is looked at.
const PER_BYTE: u64 = 32;

/// Work that may still be done, in steps of about a nanosecond: a byte through an automaton, or ten through a search for a
/// plain string.
#[derive(Debug)]
pub(super) struct Fuel<'a> {
    left: u64,
    /// Set once nobody waits for the outcome any more.
    stop: Option<&'a AtomicBool>,
}

impl<'a> Fuel<'a> {
    /// For a search through so many bytes.
    pub(super) fn for_bytes(bytes: usize) -> Self {
        Self { left: BASE.saturating_add((bytes as u64).saturating_mul(PER_BYTE)), stop: None }
    }

    /// The same, until the flag is set.
    pub(super) fn until(self, stop: Option<&'a AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// Takes some.
    pub(super) fn burn(&mut self, steps: usize) -> Result<(), FindError> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(FindError::TooCostly);
        }
        self.left = self.left.checked_sub(steps as u64).ok_or(FindError::TooCostly)?;
        Ok(())
    }
}
