//! The table `items(path, added, removed, start_line, end_line, text)` of diffs, a row a file. That of a log with patches has
//! the column `commit` as well.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_text::diff::FileChange;

use crate::cell::{Cell, ValueKinds};
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows};

/// Source of the changed files of a diff.
pub(crate) struct DiffSource {
    pub(crate) text: Slice,
    pub(crate) changes: Vec<FileChange>,
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
        let mut columns = FoundRows::<()>::columns(&COLUMNS, self.changes.len());
        let count =
            |is_present: fn(&FileChange) -> bool| self.changes.iter().filter(|file| is_present(file)).count();
        for column in &mut columns {
            match column.name.as_str() {
                "added" | "removed" => column.present_count = count(|file| !file.is_binary),
                "commit" => column.present_count = count(|file| file.commit.is_some()),
                _ => {}
            }
        }
        columns.retain(|column| column.present_count > 0 || column.name != "commit");
        Some(Arc::new(FoundRows { text: self.text.clone(), rows: self.changes.clone(), columns, cell }))
    }
}

fn cell<'a>(text: &'a str, (_, file): (usize, &'a FileChange), column: usize) -> Cell<'a> {
    let own = file.span.slice(text);
    match column {
        0 => Cell::text(&file.path),
        // The lines of binary content are not counted.
        1 | 2 if file.is_binary => Cell::Null,
        1 => Cell::from_count(file.added),
        2 => Cell::from_count(file.removed),
        3 => Cell::from_count(file.line),
        4 => Cell::from_count(file.line + own.lines().count().saturating_sub(1)),
        5 => Cell::text(own),
        _ => file.commit.map_or(Cell::Null, |commit| Cell::text(commit.slice(text))),
    }
}
