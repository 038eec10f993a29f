//! Queries, and results that they may join.

use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// A query in SQL.
#[derive(Clone, Copy, Debug)]
pub struct SqlQuery<'a> {
    /// One `SELECT` (or `WITH … SELECT`, or `VALUES`).
    pub sql: &'a str,
    /// Named parameters, each a JSON value: bound to `:name`, `@name` or `$name`. Objects and arrays are
    /// bound as their JSON text, `true` and `false` as 1 and 0.
    pub params: &'a [(String, String)],
}

/// Another result that a query may join.
#[derive(Clone, Copy, Debug)]
pub struct JoinedResult<'a> {
    /// Name of the result: its tables are `name.items` and so on, and `name` is its first table.
    pub name: &'a str,
    /// Content of the result.
    pub snapshot: &'a Snapshot,
    /// Part of it that can be queried.
    pub view: &'a View,
}
