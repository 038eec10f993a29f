//! The table `items(path, added, removed, start_line, end_line, text)` of diffs, a row a file. That of a log with patches has
//! the column `commit` as well.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_text::diff::FileChange;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the changed files of a diff.
pub(crate) struct DiffSource {
    pub(crate) text: Slice,
    pub(crate) changes: Vec<FileChange>,
}

struct DiffRows {
    text: Slice,
    changes: Vec<FileChange>,
    columns: Vec<ColumnDef>,
}

const COLUMNS: [(&str, ValueKinds); 7] = [
    ("path", ValueKinds::TEXT),
    ("added", ValueKinds::INTEGER),
    ("removed", ValueKinds::INTEGER),
    ("start_line", ValueKinds::INTEGER),
    ("end_line", ValueKinds::INTEGER),
    ("text", ValueKinds::TEXT),
    ("commit", ValueKinds::TEXT),
];

impl RowSource for DiffSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let count =
            |is_present: fn(&FileChange) -> bool| self.changes.iter().filter(|file| is_present(file)).count();
        let text_count = count(|file| !file.is_binary);
        let commit_count = count(|file| file.commit.is_some());
        let columns = COLUMNS
            .into_iter()
            .map(|(name, kinds)| match name {
                "added" | "removed" => ColumnDef::new(name, kinds, text_count),
                "commit" => ColumnDef::new(name, kinds, commit_count),
                _ => ColumnDef::new(name, kinds, self.changes.len()),
            })
            .filter(|column| column.present_count > 0 || column.name != "commit")
            .collect();
        Some(Arc::new(DiffRows { text: self.text.clone(), changes: self.changes.clone(), columns }))
    }
}

impl TableRows for DiffRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.changes.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let Some(file) = self.changes.get(row.index) else { return Cell::Null };
        let own = file.span.slice(&self.text);
        match column {
            0 => Cell::text(&file.path),
            // The lines of binary content are not counted.
            1 | 2 if file.is_binary => Cell::Null,
            1 => Cell::from_count(file.added),
            2 => Cell::from_count(file.removed),
            3 => Cell::from_count(file.line),
            4 => Cell::from_count(file.line + own.lines().count().saturating_sub(1)),
            5 => Cell::text(own),
            _ => file.commit.map_or(Cell::Null, |commit| Cell::text(commit.slice(&self.text))),
        }
    }
}
