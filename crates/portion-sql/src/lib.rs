//! Runs SQL queries over a snapshot.
//!
//! A client that wants to know how many records are in California should not have to page through ten
//! thousand. With [`query`], SQLite reads *virtual* tables. The columns that a statement needs are decoded once, each value in
//! SQLite's own storage class, and kept with the snapshot together with indexes. So a statement that SQLite accepts runs as
//! written. Nothing can be written; a deadline ends slow queries.
//!
//! | module | subject |
//! | --- | --- |
//! | `catalogue` | the tables of a view and their names |
//! | `table_rows`, `column`, `cell` | the interface of all tables: rows, column definitions, values and their kinds |
//! | `table` | a table of a view: its rows, its decoded columns and its indexes, each on first use |
//! | `typed_column` | the values of a column in compact arrays |
//! | `spellings` | the numbers of a column as they are written |
//! | `fields` | the table of all columns |
//! | `records` | JSON lists: their columns, learnt in one pass, and the cells of a row |
//! | `redaction` | columns with redacted values |
//! | `usage` | columns with redacted or rounded values that a statement uses |
//! | `text` | lines, sections, log entries, CSV rows |
//! | `index` | rows by value and in order |
//! | `vtab` | the bridge to SQLite, and the only `unsafe` code |
//! | `engine` | a connection that can only read, within the limits |
//! | `dialect` | statements of other SQL dialects, rewritten for SQLite on their syntax trees |
//! | `functions` | replacements for SQLite functions that could run too long; functions of other dialects |
//! | `sql_query`, `row_selection` | a query with its parameters; the query for `fields` and `sort` on a text |
//! | `query_result` | result rows as JSON, without columns that are NULL throughout |
//! | `outline` | tables and columns for errors about missing ones |
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::snapshot::capture;
//! use portion_core::view::View;
//! use portion_sql::{QueryLimits, SqlQuery, query};
//!
//! let text = Content::Text(r#"[{"state":"CA","pupils":120},{"state":"NY","pupils":80}]"#.to_owned());
//! let snapshot = capture(Payload { blocks: vec![Block::new("/content/0/text", text)], ..Payload::default() });
//! let question = SqlQuery { sql: "SELECT sum(pupils) AS pupils FROM items WHERE state = 'CA'", params: &[] };
//! let result = query(&snapshot, &View::default(), &question, &QueryLimits::default())?;
//! assert_eq!(result.json, r#"[{"pupils":120}]"#);
//! # Ok::<(), portion_sql::QueryError>(())
//! ```
//!
//! A statement goes to SQLite as written; only one that SQLite rejects, or that it would misread, is rewritten on a
//! syntax tree (`dialect`). `portion-text::column_form` decides what the texts of a column are: numbers, booleans, times,
//! or texts. Decoded columns, indexes and orders are part of `Snapshot::derived`: they count in `snapshotMemory`, and go
//! before any snapshot does.

mod catalogue;
mod cell;
mod column;
mod dialect;
mod engine;
mod error;
mod fields;
mod functions;
mod index;
mod limits;
mod outline;
mod query_result;
mod records;
mod redaction;
mod row_selection;
mod spellings;
mod sql_query;
mod table;
mod table_rows;
mod text;
mod typed_column;
mod usage;
mod vtab;

pub use error::QueryError;
pub use limits::QueryLimits;
pub use query_result::{EmptyReason, QueryResult};
pub use row_selection::select_rows;
pub use sql_query::{JoinedResult, SqlQuery};

use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// Runs a query on the content of a view.
///
/// `items` is the main list: each field is a column (nested ones dotted: `"price.total"`), the hidden
/// column `item` is the JSON of the record, and `_index` its index from 0. Every other array of objects
/// is a table of its own name. Texts are `lines(number, text)`, documents also `sections`, and
/// `fields(table_name, name, kind, present)` lists all columns of all tables.
///
/// Numbers are 64-bit integers if they are written as integers and fit, else 64-bit floats. Of numbers that
/// neither holds exactly, only `item` has every digit, and [`QueryResult::rounded_columns`] lists the
/// columns. `'now'` is the machine's clock; apart from it, the same query has the same answer.
///
/// # Errors
/// [`QueryError::Invalid`] if SQLite rejects the statement or it is not permitted;
/// [`QueryError::Redacted`] if it computes with redacted values; [`QueryError::TooCostly`] if it reaches
/// a limit.
pub fn query(
    snapshot: &Snapshot,
    view: &View,
    question: &SqlQuery<'_>,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    query_joined(snapshot, view, &[], question, limits)
}

/// Runs a query on the content of a view and of other results.
///
/// # Errors
/// The errors of [`query`].
pub fn query_joined(
    snapshot: &Snapshot,
    view: &View,
    joined: &[JoinedResult<'_>],
    question: &SqlQuery<'_>,
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    let names: Vec<&str> = joined.iter().map(|other| other.name).collect();
    // Longer statements are refused later, unread.
    let tables = if question.sql.len() > limits.max_sql_bytes {
        dialect::NamedTables::default()
    } else {
        dialect::name_tables(question.sql, &names)
    };
    let catalogue = catalogue::build(snapshot, view, &tables.paths, joined).map_err(QueryError::from)?;
    if let Some(name) = names.into_iter().find(|name| catalogue.has_own_table(name)) {
        let message = format!("with cannot name a result {name}: the main result has a table of that name");
        let hint = "choose another name, such as b, and read b.items".to_owned();
        return Err(QueryError::invalid(message, Some(hint)));
    }
    let renamed = SqlQuery { sql: tables.sql.as_deref().unwrap_or(question.sql), ..*question };
    let result = engine::run_query(&catalogue, &renamed, question.sql, limits);
    catalogue::settle(snapshot, joined);
    // A star stands for no column: a list without records has none.
    if matches!(&result, Err(QueryError::Invalid { message, .. }) if message == "no tables specified") {
        return Ok(QueryResult { json: "[]".to_owned(), ..QueryResult::default() });
    }
    Ok(query_result::leave_out(result?, question.sql))
}
