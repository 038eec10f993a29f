//! Error of a form that has no meaning here.

/// A form that has no meaning here, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DialectError {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl DialectError {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}
