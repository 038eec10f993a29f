//! Reads statements, and rewrites those of other SQL dialects for SQLite.
//!
//! People and models write the SQL of Postgres, `MySQL`, `DuckDB` or T-SQL. A statement that SQLite accepts runs as written;
//! one that it rejects is parsed, and forms of other dialects are replaced on its tree. What the statement may do is decided
//! after that, by the same rules as for any statement.

mod calls;
mod checks;
mod clauses;
mod column_uses;
mod conditions;
mod edits;
mod elements;
mod literals;
mod rewriting;
mod syntax;
mod tables;
mod token;

pub(crate) use checks::with_checks;
pub(crate) use column_uses::{ColumnUse, column_uses, json_arguments};
pub(crate) use conditions::{Condition, HavingClause, TextComparison, WhereClause, impossible_condition};
pub(crate) use edits::{argument_of, is_alias, is_compared_value, normalized, select_columns};
pub(crate) use literals::ComparedType;
pub(crate) use rewriting::{ColumnTypes, rewrite, rewrite_misread};
pub(crate) use syntax::{Tree, is_scan};
pub(crate) use tables::{
    CatalogStatement, NamedTables, PathTable, TableUse, name_tables, parse_catalog_statement, table_uses,
};
pub(crate) use token::{string_literals, word_offsets};
