//! A bound on the work of one search, without a clock.

use std::sync::atomic::{AtomicBool, Ordering};

use super::FindError;

/// What any search may cost, in steps of about a nanosecond.
const BASE_STEPS: u64 = 1 << 30;
/// What it may cost more for each byte that is looked at.
const STEPS_PER_BYTE: u64 = 32;

/// Work that may still be done, in steps of about a nanosecond: a byte through an automaton, or ten through a search for a
/// plain string.
#[derive(Debug)]
pub(super) struct Fuel<'a> {
    remaining: u64,
    /// Set once nobody waits for the outcome any more.
    stop_flag: Option<&'a AtomicBool>,
}

impl<'a> Fuel<'a> {
    /// For a search through so many bytes.
    pub(super) fn for_bytes(bytes: usize) -> Self {
        Self {
            remaining: BASE_STEPS.saturating_add((bytes as u64).saturating_mul(STEPS_PER_BYTE)),
            stop_flag: None,
        }
    }

    /// The same, until the flag is set.
    pub(super) fn with_stop_flag(self, stop: Option<&'a AtomicBool>) -> Self {
        Self { stop_flag: stop, ..self }
    }

    /// Takes some.
    pub(super) fn burn(&mut self, steps: usize) -> Result<(), FindError> {
        if self.stop_flag.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(FindError::TooCostly);
        }
        self.remaining = self.remaining.checked_sub(steps as u64).ok_or(FindError::TooCostly)?;
        Ok(())
    }
}
