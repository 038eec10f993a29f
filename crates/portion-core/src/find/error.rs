//! Errors of searches, each with advice for the next call.

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
    #[error("find has {given} bytes; the maximum is {most}")]
    TooLong {
        /// Length in bytes.
        given: usize,
        /// Largest length in bytes.
        most: usize,
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
