//! Errors of the command line that its parser does not find, and the errors that end the program with the code of wrong
//! usage.

use std::error::Error;

use portion_config::{Errors, find};
use portion_policy::upstream::UpstreamTargetError;
use thiserror::Error;

/// An invalid command line: arguments that do not go together, or a value that cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

impl From<String> for UsageError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for UsageError {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

/// Returns true for an error of the command line or of the configuration.
pub(crate) fn is_wrong_usage(error: &(dyn Error + 'static)) -> bool {
    error.is::<UsageError>()
        || error.is::<UpstreamTargetError>()
        || error.is::<Errors>()
        || error.is::<find::UnreadableFile>()
}
