//! Questions to a snapshot, in SQL.
//!
//! An agent that wants to know how many records are in California should not have to page through
//! ten thousand. [`query`] lets SQLite answer over *virtual* tables: its engine asks for rows and
//! cells, and they are read out of the snapshot's own text where they stand. Nothing is copied in and
//! nothing can be written; a clock ends what takes too long.
//!
//! | module | subject |
//! | --- | --- |
//! | `catalogue` | which tables a view has, and what they are called |
//! | `fields` | the table of all columns |
//! | `records` | lists of JSON: their columns, learnt in one pass, and the cells of a row |
//! | `redacted` | columns whose values were redacted, and what a statement does with them |
//! | `text` | lines, sections, entries, comma-separated rows |
//! | `index` | the rows that have a value, for joins |
//! | `vtab` | the bridge to SQLite, and the only `unsafe` code |
//! | `engine` | a connection that can only read, and only for so long |
//! | `functions` | functions of SQLite's that could take for ever, written anew; `REGEXP` |
//! | `answer` | result rows as JSON |

mod catalogue;
mod cell;
mod column;
mod engine;
mod error;
mod fields;
mod functions;
mod index;
mod limits;
mod params;
mod query_result;
mod quote_repair;
mod records;
mod redaction;
mod table;
mod text;
mod vtab;

pub use error::{QueryError, TableColumns};
pub use limits::QueryLimits;
pub use query_result::QueryResult;

use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// A question in SQL.
#[derive(Clone, Copy, Debug)]
pub struct SqlQuery<'a> {
    /// One `SELECT` (or `WITH … SELECT`, or `VALUES`).
    pub sql: &'a str,
    /// Named parameters, each a JSON value: bound to `:name`, `@name` or `$name`. Objects and arrays are bound as
    /// their JSON text, `true` and `false` as 1 and 0.
    pub params: &'a [(String, String)],
}

/// Asks a question about what a view looks at.
///
/// The tables are those of the view's subjects: `items` is the main list, a column a field (nested ones dotted:
/// `"price.total"`), with the record's JSON in the hidden column `item` and its place, from 0, in `_index`. Every other
/// array of objects is a table of its own name; texts are `lines(number, text)`, documents `sections` besides; and
/// `fields(table_name, name, kind, present)` lists all columns of all tables.
///
/// Numbers are 64-bit integers where they are spelled so and fit, else 64-bit floats: of a whole number beyond, only
/// `item` has every digit, and [`QueryResult::rounded_columns`] tells when one was shown. `'now'` is the machine's clock; but for it,
/// the same question has the same answer.
///
/// # Errors
/// [`QueryError::Invalid`] where SQLite does not understand the question or may not do what it says;
/// [`QueryError::TooCostly`] where a limit was reached before the answer was.
pub fn query(
    snapshot: &Snapshot,
    view: &View,
    question: &SqlQuery<'_>,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    engine::run_query(&catalogue::for_view(snapshot, view), question, limits)
}
