//! What a first reply tells of a text that it cannot show.

mod code;
mod counts;
mod document;
mod headings;
mod log;
mod prose;
mod table;
mod telling;
pub(crate) mod text;
mod words;
