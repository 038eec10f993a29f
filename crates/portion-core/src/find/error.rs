//! Errors of searches, each with advice for the next call.

use thiserror::Error;

use crate::view::ViewError;

/// A search that cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FindError {
    /// The pattern is empty.
    #[error("find is empty, but it is text, or a regular expression between slashes")]
    Empty,
    /// The pattern is too long.
    #[error("find has {given} bytes, but it has at most {most}")]
    TooLong {
        /// Length in bytes.
        given: usize,
        /// Largest length in bytes.
        most: usize,
    },
    /// The regular expression is malformed.
    #[error("find is no regular expression: {why}, at `{place}`")]
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
    #[error("find is too large once its repetitions and classes are written out")]
    TooLarge,
    /// The search exceeds its work limit.
    #[error("find takes too much work on a payload of this size")]
    TooCostly,
}

impl FindError {
    /// Returns the code for programs. `docs/replies.md` lists all codes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty | Self::TooLong { .. } | Self::Regex { .. } | Self::Fields(_) => "query_invalid",
            Self::TooLarge | Self::TooCostly => "query_too_costly",
        }
    }

    /// Returns advice for the next call.
    pub fn advice(&self) -> String {
        match self {
            Self::Empty => "give find as text, or as /regex/ or /regex/i".into(),
            Self::TooLong { .. } => "look for a telling part of it".into(),
            Self::Regex { .. } => {
                "mend it there, or give the text without slashes to look for it as it is; look-around and back-references are not known"
                    .into()
            }
            Self::Fields(error) => error.advice(),
            Self::TooLarge => "repeat fewer times: `.*` costs less than `.{500}`, `a+` less than `a{500}`".into(),
            Self::TooCostly => "look for a literal part of it, or narrow what is looked at by path first".into(),
        }
    }
}
