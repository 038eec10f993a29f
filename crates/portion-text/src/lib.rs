//! Structure of plain text: chunk boundaries, entries of logs, tables, and names.
//!
//! [`chunk`] splits a text where the text itself ends something; [`log_entry`] reads logs, [`delimited`] separated values,
//! [`column_form`] the texts of a column,
//! [`document_table`] tables of documents, [`html`] HTML, [`diff`] diffs, [`timestamp`] times; [`encoding`] decodes bytes; [`names`]
//! compares names; [`display`] writes text for people. Nothing here does IO, recurses on the depth of its input, or panics on any input.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `chunk` | chunk boundaries: one file per kind of text |
//! | `broken_json` | JSON that is cut off or faulty, completed so that it can be parsed |
//! | `encoding` | decodes bytes in an encoding that is recognised; in one that is declared, by `encoding_rs` |
//! | `log_entry` | entries of a log with time and level, and the day of a time |
//! | `delimited`, `document_table`, `diff` | rows of CSV and the like, with the type of each cell; tables of Markdown and HTML; files of a unified diff, with their commits |
//! | `html` | tags, headings and text of HTML |
//! | `row_ranges` | cells of rows as ranges of the text, also among other lines |
//! | `timestamp` | the parser of dates and times, with calendar arithmetic: for descriptions, SQL, and times that people write |
//! | `names` | patterns with `*`, words of a name, similar names for errors, names that differ regardless of case |
//! | `display` | text of others without what controls a terminal, the columns that it takes there, values shortened for messages; numbers with their nouns; texts as YAML |
//!
//! Times are recognised in three places, because these answer different questions. `timestamp` reads a whole value as one
//! point in time, so that descriptions and SQL can compute with it. `chunk/stamp` decides for every line of a text if an entry
//! begins there. It compares the first bytes with fixed patterns and parses nothing, because most lines of most texts have no
//! time. `log_entry` finds the bytes of the time in a line that begins an entry, also in forms without a year or a date, which
//! are no points in time. A law in `portion-text/tests/it/entries/laws.rs` holds that all three agree on each time that
//! `timestamp` writes.

pub mod broken_json;
pub mod chunk;
pub mod column_form;
pub mod delimited;
pub mod diff;
pub mod display;
pub mod document_table;
pub mod encoding;
pub mod html;
pub mod log_entry;
pub mod names;
pub mod notation;
pub mod row_ranges;
pub mod timestamp;
