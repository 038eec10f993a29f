//! Reasons why a request has no answer.

use portion_telemetry::read::ReadError;

use crate::query::InvalidParameter;
use crate::records::NoRecords;

/// Reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A parameter is invalid.
    Invalid(InvalidParameter),
    /// The path does not exist.
    NotFound(&'static str),
    /// There are no records.
    NoRecords(NoRecords),
}

impl From<InvalidParameter> for Failure {
    fn from(error: InvalidParameter) -> Self {
        Self::Invalid(error)
    }
}

impl From<NoRecords> for Failure {
    fn from(nothing: NoRecords) -> Self {
        Self::NoRecords(nothing)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::NoRecords(error.into())
    }
}
