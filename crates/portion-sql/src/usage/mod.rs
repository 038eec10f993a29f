//! Columns that a statement uses: SQL must not compute with redacted values, and results say if numbers were rounded.

mod redaction;
mod rounding;
mod unread_numbers;

pub(crate) use redaction::RedactionUsage;
pub(crate) use rounding::RoundingUsage;
pub(crate) use unread_numbers::UnreadNumbers;
