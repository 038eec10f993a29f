//! Errors of reading chunks.

use thiserror::Error;

/// Reason that a result has no chunks that can be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The tool reported an error.
    #[error("the tool reported an error: {0}")]
    Tool(String),
    /// The message is not the result of a tool.
    #[error("the answer is not the result of a tool: {0}")]
    NotAResult(String),
    /// The result is not the final one.
    #[error("the tool did not finish: its result is `{0}`, and only complete results can be read")]
    Incomplete(String),
    /// There is no list of chunks.
    #[error("no list of chunks in the result ({found}): name the member that holds it with --list-field")]
    NoList {
        /// Description of what there is.
        found: String,
    },
    /// The named list is not there.
    #[error(
        "no list at `{name}` in the result ({found}): --list-field names the member that holds the chunks"
    )]
    ListNotFound {
        /// The given name.
        name: String,
        /// Description of what there is.
        found: String,
    },
    /// There are several lists, and none comes first.
    #[error(
        "the result has chunks in several places ({found}): name the member that holds their list with --list-field"
    )]
    SeveralLists {
        /// Paths of the places.
        found: String,
    },
    /// No record has a text.
    #[error("no chunk has a text in `{name}` (its fields: {fields}): name the field with --text-field")]
    NoText {
        /// The given name, or the first of the common ones.
        name: String,
        /// Fields of the first record.
        fields: String,
    },
    /// No record has the named score.
    #[error("no chunk has a number in `{name}` (its fields: {fields}): name the field with --score-field")]
    NoScore {
        /// The given name.
        name: String,
        /// Fields of the first record.
        fields: String,
    },
}
