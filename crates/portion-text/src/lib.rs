//! Structure of plain text: chunk boundaries, entries of logs, tables, and names.
//!
//! [`chunk`] splits a text where the text itself ends something; [`log_entry`] reads logs, [`delimited`] separated values,
//! [`column_form`] the texts of a column,
//! [`document_table`] tables of documents, [`html`] HTML, [`diff`] diffs, [`timestamp`] times; [`encoding`] and [`charset`] decode bytes; [`glob`],
//! [`spelling`], [`name_words`] and [`unique_names`] compare names; [`counted`] writes numbers with nouns, [`yaml`] texts as
//! YAML; [`printable`] makes text safe for a terminal, [`width`] counts its columns there; [`repeated`] shortens names for
//! messages. Nothing here does IO, recurses on the depth of its input, or panics on any input.

pub mod charset;
pub mod chunk;
pub mod column_form;
pub mod counted;
pub mod delimited;
pub mod diff;
pub mod document_table;
pub mod encoding;
pub mod glob;
pub mod html;
pub mod log_entry;
pub mod name_words;
pub mod notation;
pub mod printable;
pub mod repeated;
pub mod spelling;
pub mod timestamp;
pub mod unique_names;
pub mod width;
pub mod yaml;
