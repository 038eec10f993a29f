//! Structure of plain text: chunk boundaries, entries of logs, and names.
//!
//! [`chunk`] splits a text where the text itself ends something; [`log_entry`] reads logs, [`timestamp`] reads times;
//! [`encoding`] and [`charset`] decode bytes; [`glob`], [`spelling`] and [`name_words`] compare names. Nothing here does IO, recurses on the depth of its input, or panics on any input.

pub mod charset;
pub mod chunk;
pub mod encoding;
pub mod glob;
pub mod log_entry;
pub mod name_words;
pub mod spelling;
pub mod timestamp;
