//! Bounds the work of one search without a clock.

use std::sync::atomic::{AtomicBool, Ordering};

use super::FindError;

/// Budget of any search, in steps of about one nanosecond.
const BASE_STEPS: u64 = 1 << 30;
/// Additional steps for each byte searched.
const STEPS_PER_BYTE: u64 = 32;

/// Remaining work, in steps of about one nanosecond: one byte through an automaton, or about ten in a
/// substring search.
#[derive(Debug)]
pub(super) struct Fuel<'a> {
    remaining: u64,
    /// Set when the result is no longer wanted.
    stop_flag: Option<&'a AtomicBool>,
}

impl<'a> Fuel<'a> {
    /// Returns the fuel for a search through this many bytes.
    pub(super) fn for_bytes(bytes: usize) -> Self {
        Self {
            remaining: BASE_STEPS.saturating_add((bytes as u64).saturating_mul(STEPS_PER_BYTE)),
            stop_flag: None,
        }
    }

    /// Returns fuel that also runs out when the flag is set.
    pub(super) fn with_stop_flag(self, stop: Option<&'a AtomicBool>) -> Self {
        Self { stop_flag: stop, ..self }
    }

    /// Spends steps.
    ///
    /// # Errors
    /// Returns [`FindError::TooCostly`] if too few steps remain or the flag is set.
    pub(super) fn burn(&mut self, steps: usize) -> Result<(), FindError> {
        if self.stop_flag.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(FindError::TooCostly);
        }
        self.remaining = self.remaining.checked_sub(steps as u64).ok_or(FindError::TooCostly)?;
        Ok(())
    }
}
