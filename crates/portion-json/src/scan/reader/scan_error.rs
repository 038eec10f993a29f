//! The error of the reader.

use thiserror::Error;

/// The error for text that is not JSON (RFC 8259).
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("not JSON at byte {offset}: {expected}")]
pub struct ScanError {
    /// Offset of the first invalid byte.
    pub offset: usize,
    /// Description of what was expected there.
    pub expected: &'static str,
}
