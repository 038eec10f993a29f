//! A query with what is known of it before it runs: its tree, and the tables that it reads.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::SqlQuery;
use crate::catalogue::Catalogue;
use crate::dialect::{self, TableUse, Tree};
use crate::limits::{QueryDeadline, QueryLimits};
use crate::table::OpenTable;

/// A query that is being run.
pub(super) struct QueryRun<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) query: &'a SqlQuery<'a>,
    /// The statement before its tables were named, for the names of columns.
    pub(super) given_sql: &'a str,
    pub(super) limits: &'a QueryLimits,
    pub(super) deadline: Arc<QueryDeadline>,
    parsed: OnceCell<Option<Parsed>>,
}

/// A statement that was parsed, and the tables that it reads.
struct Parsed {
    tree: Tree,
    tables: Vec<TableUse>,
}

impl<'a> QueryRun<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        query: &'a SqlQuery<'a>,
        given_sql: &'a str,
        limits: &'a QueryLimits,
        deadline: Arc<QueryDeadline>,
    ) -> Self {
        Self { catalogue, query, given_sql, limits, deadline, parsed: OnceCell::new() }
    }

    /// Returns the tree of the statement; `None` if it cannot be parsed.
    pub(super) fn tree(&self) -> Option<&Tree> {
        self.parsed().map(|parsed| &parsed.tree)
    }

    /// Returns the tables that the statement reads.
    pub(super) fn table_uses(&self) -> &[TableUse] {
        self.parsed().map_or(&[], |parsed| &parsed.tables)
    }

    /// Calls `work` with the tree of the statement, which may have been repaired.
    pub(super) fn with_tree<T>(&self, sql: &str, work: impl FnOnce(&Tree) -> Option<T>) -> Option<T> {
        if sql == self.query.sql { self.tree().and_then(work) } else { work(&Tree::parse(sql)?) }
    }

    fn parsed(&self) -> Option<&Parsed> {
        let parse = || {
            let tree = Tree::parse(self.query.sql)?;
            let tables = dialect::table_uses(&tree);
            Some(Parsed { tree, tables })
        };
        self.parsed.get_or_init(parse).as_ref()
    }

    /// Returns true for the name of a column that is compared in its type: all of its values have one.
    pub(super) fn has_typed_column(&self, name: &str) -> bool {
        let named = self.columns_named(name, &[]);
        !named.is_empty() && named.iter().all(|(table, at)| table.columns()[*at].has_affinity())
    }

    /// Returns the columns that a name may mean: of the table whose name or alias comes before it, else of all tables that the
    /// statement reads. `renamed`: names that were read as others.
    pub(super) fn columns_named(
        &self,
        name: &str,
        renamed: &[(String, String)],
    ) -> Vec<(Arc<OpenTable>, usize)> {
        let uses = self.table_uses();
        let (prefix, tail) = name.split_once('.').unwrap_or(("", name));
        let qualifier = uses.iter().find(|used| used.alias.eq_ignore_ascii_case(prefix));
        let tables: Vec<_> =
            match qualifier.map(|used| (used.argument.is_some(), self.catalogue.table(&used.table))) {
                Some((true, _)) => Vec::new(),
                Some((false, Some(table))) => vec![table],
                _ => uses.iter().filter_map(|used| self.catalogue.table(&used.table)).collect(),
            };
        let is_given = |wanted: &str| wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(tail);
        let meant = renamed.iter().find(|(given, _)| is_given(given)).map(|(_, column)| column);
        let is_named = |column: &str| is_given(column) || meant.is_some_and(|meant| column == meant);
        let opened = tables.into_iter().filter_map(|table| table.open(&self.deadline));
        opened
            .filter_map(|table| {
                let at = table.columns().iter().position(|column| is_named(&column.name))?;
                Some((table, at))
            })
            .collect()
    }
}
