//! Errors of searches, each with advice for the next call, and the bound of their work.

use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use crate::error_code::ErrorCode;
use crate::view::ViewError;

/// A search that cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FindError {
    /// The pattern is empty.
    #[error("find is empty; it must be text or a /regular expression/")]
    Empty,
    /// The pattern is too long.
    #[error("find has {given} bytes; the maximum is {max}")]
    TooLong {
        /// Length in bytes.
        given: usize,
        /// Largest length in bytes.
        max: usize,
    },
    /// The regular expression is malformed.
    #[error("find is an invalid regex: {why} at `{place}`")]
    Regex {
        /// Reason.
        why: String,
        /// Part of the pattern with the error.
        place: String,
    },
    /// The requested fields do not exist.
    #[error(transparent)]
    Fields(#[from] ViewError),
    /// The regular expression is too large when expanded.
    #[error("find is too large once repetitions and classes are expanded")]
    TooLarge,
    /// The search exceeds its work limit.
    #[error("find is too costly on a payload of this size")]
    TooCostly,
}

impl FindError {
    /// Returns the code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Empty | Self::TooLong { .. } | Self::Regex { .. } | Self::Fields(_) => {
                ErrorCode::QueryInvalid
            }
            Self::TooLarge | Self::TooCostly => ErrorCode::QueryTooCostly,
        }
    }

    /// Returns advice for the next call.
    pub fn advice(&self) -> String {
        match self {
            Self::Empty => "set find to text, /regex/ or /regex/i".into(),
            Self::TooLong { .. } => "search for a short part".into(),
            Self::Regex { .. } => {
                "correct it, or omit the slashes to search for literal text; look-around and back-references are not supported"
                    .into()
            }
            Self::Fields(error) => error.advice(),
            Self::TooLarge => "repeat fewer times: `.*` costs less than `.{500}`, `a+` less than `a{500}`".into(),
            Self::TooCostly => "search for a literal, or first read one path and search its cursor".into(),
        }
    }
}

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
