//! Tables in documents as `items`.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_text::delimited::{ColumnCells, parse_number};
use portion_text::document_table::DocumentTable;
use portion_text::unique_names::UniqueNames;

use super::csv::value_kinds;
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
    keeps_text: Vec<bool>,
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
        let mut kinds = vec![ColumnCells::default(); columns.len()];
        for row in &rows {
            for ((column, kinds), cell) in columns.iter_mut().zip(&mut kinds).zip(row) {
                column.present_count += usize::from(!cell.is_empty());
                kinds.insert(cell);
            }
        }
        ColumnCells::mark_pointed_thousands(&mut kinds);
        for (column, kinds) in columns.iter_mut().zip(&kinds) {
            column.kinds = value_kinds(kinds);
        }
        let builtin = |name: String, kinds| ColumnDef::new(name, kinds, rows.len()).into_hidden();
        let mut record = builtin(names.unique_builtin("item"), ValueKinds::OBJECT);
        record.is_record = true;
        columns.push(record);
        columns.push(builtin(names.unique_builtin("_index"), ValueKinds::INTEGER));
        let keeps_text = kinds.iter().map(ColumnCells::keeps_text).collect();
        Some(Arc::new(GridRows { rows, columns, keeps_text }))
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
            None => self.field(row.index, column),
            Some(0) => Cell::Text(self.as_object(row.index).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl GridRows {
    fn field(&self, row: usize, column: usize) -> Cell<'_> {
        let keeps_text = self.keeps_text.get(column).copied().unwrap_or(true);
        match self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str) {
            "" => Cell::Null,
            cell if keeps_text => Cell::text(cell),
            cell => parse_number(cell).map_or(Cell::text(cell), Cell::from),
        }
    }

    fn as_object(&self, row: usize) -> String {
        let fields = self.columns.len().saturating_sub(2);
        let members: Vec<String> = (0..fields)
            .filter_map(|at| {
                let value = match self.field(row, at) {
                    Cell::Null => "null".to_owned(),
                    Cell::Text(text) => quote(&text),
                    Cell::Integer(_) | Cell::Real(_) => self.rows.get(row)?.get(at)?.clone(),
                };
                Some(format!("{}:{value}", quote(&self.columns.get(at)?.name)))
            })
            .collect();
        format!("{{{}}}", members.join(","))
    }
}
