//! Tables in documents as `items`.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_text::column_form::FormLearner;
use portion_text::document_table::DocumentTable;
use portion_text::unique_names::UniqueNames;

use super::csv::{json_cell, set_cell_forms};
use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;

/// Source of the rows of a table in a document.
pub(crate) struct DocumentTableSource {
    pub(crate) text: Slice,
    pub(crate) table: DocumentTable,
}

struct GridRows {
    rows: Vec<Vec<String>>,
    columns: Vec<ColumnDef>,
}

impl RowSource for DocumentTableSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut rows = self.table.rows(&self.text, &|count| should_stop_at(count, deadline))?;
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let mut names = UniqueNames::default();
        let mut columns: Vec<ColumnDef> = DocumentTable::column_names(&header, &rows)
            .iter()
            .map(|name| ColumnDef::new(names.unique(name), ValueKinds::default(), 0))
            .collect();
        let mut learners = vec![FormLearner::default(); columns.len()];
        for row in &rows {
            for ((column, learner), cell) in columns.iter_mut().zip(&mut learners).zip(row) {
                column.present_count += usize::from(!cell.is_empty());
                learner.insert(cell);
            }
        }
        set_cell_forms(&mut columns, &learners, rows.len());
        let builtin = |name: String, kinds| ColumnDef::new(name, kinds, rows.len()).into_hidden();
        let mut record = builtin(names.unique_builtin("item"), ValueKinds::OBJECT);
        record.is_record = true;
        columns.push(record);
        columns.push(builtin(names.unique_builtin("_index"), ValueKinds::INTEGER));
        Some(Arc::new(GridRows { rows, columns }))
    }
}

impl TableRows for GridRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.columns.len().saturating_sub(2)) {
            None => match self.text(row.index, column) {
                "" => Cell::Null,
                cell => Cell::text(cell),
            },
            Some(0) => Cell::Text(self.as_object(row.index).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl GridRows {
    fn text(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str)
    }

    fn as_object(&self, row: usize) -> String {
        let fields = self.columns.iter().take(self.columns.len().saturating_sub(2)).enumerate();
        let members = fields
            .map(|(at, column)| format!("{}:{}", quote(&column.name), json_cell(self.text(row, at), column)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}
