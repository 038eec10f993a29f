//! What is wrong with a search, in words that name the next move.

use thiserror::Error;

use crate::view::ViewError;

/// A search that cannot be made as it stands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FindError {
    /// Nothing is looked for.
    #[error("find is empty, but it is text, or a regular expression between slashes")]
    Empty,
    /// The pattern is too long.
    #[error("find has {given} bytes, but it has at most {most}")]
    TooLong {
        /// Its bytes.
        given: usize,
        /// The most there may be.
        most: usize,
    },
    /// The regular expression is malformed.
    #[error("find is no regular expression: {why}, at `{place}`")]
    Regex {
        /// What is wrong.
        why: String,
        /// The offending place of the pattern.
        place: String,
    },
    /// The fields that are to be shown are not there.
    #[error(transparent)]
    Fields(#[from] ViewError),
    /// The regular expression stands for too much.
    #[error("find is too large once its repetitions and classes are written out")]
    TooLarge,
    /// The search takes more work than any search may.
    #[error("find takes too much work on a payload of this size")]
    TooCostly,
}

impl FindError {
    /// The code a program can act on; `docs/replies.md` lists them all.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty | Self::TooLong { .. } | Self::Regex { .. } | Self::Fields(_) => "query_invalid",
            Self::TooLarge | Self::TooCostly => "query_too_costly",
        }
    }

    /// What to do next.
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
