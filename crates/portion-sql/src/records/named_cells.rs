//! Rows whose cells are named elsewhere: arrays of values below a list of columns, and tables that are written column by column.

use portion_core::snapshot::{ColumnArrays, NamedRows, NamedTable, Slice};
use portion_json::containers;
use portion_json::scan::quote;
use portion_json::span::Span;
use portion_text::column_form::FormLearner;
use portion_text::names::UniqueNames;

use super::{MAX_COLUMNS, tree};
use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{ColumnSet, FoundTable, RowBuffer, RowSource, TableRows, should_stop_at};

/// An array of rows.
pub(crate) struct NamedRowsSource {
    pub(crate) text: Slice,
    pub(crate) span: Span,
    pub(crate) rows: NamedRows,
}

impl NamedRowsSource {
    pub(crate) fn new(text: &Slice, table: NamedTable) -> Self {
        Self { text: text.clone(), span: table.span, rows: table.rows }
    }
}

impl RowSource for NamedRowsSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let (text, rows) = (self.text.clone(), self.rows.clone());
        let mut items = Vec::new();
        for row in containers::items(&text, self.span).skip(rows.skipped) {
            items.push(row);
            if should_stop_at(items.len(), deadline) {
                return None;
            }
        }
        let (names, count, heap_bytes) = (rows.names.clone(), items.len(), size_of_val(items.as_slice()));
        let read = move |at: usize, cells: &mut [Span]| {
            rows.read_cells(&text, items.get(at).copied().unwrap_or_default(), cells);
        };
        Some(FoundTable { heap_bytes, ..NamedCells::table(&self.text, names, count, read, deadline)? })
    }
}

/// Arrays of equal length, each of which is a column.
pub(crate) struct ColumnArraysSource {
    pub(crate) text: Slice,
    pub(crate) arrays: ColumnArrays,
}

impl RowSource for ColumnArraysSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let mut columns = Vec::new();
        for column in &self.arrays.columns {
            if deadline.is_over() {
                return None;
            }
            columns.push(ColumnArrays::items(&self.text, column, self.arrays.row_count));
        }
        let read = move |at: usize, cells: &mut [Span]| {
            for (cell, column) in cells.iter_mut().zip(&columns) {
                *cell = column.get(at).copied().unwrap_or_default();
            }
        };
        NamedCells::table(&self.text, self.arrays.names(&self.text), self.arrays.row_count, read, deadline)
    }
}

/// The cells of rows, and their names.
struct NamedCells<F> {
    text: Slice,
    names: Vec<String>,
    /// Writes the spans of the cells of a row, in the order of the names. That of a missing cell is empty.
    read: F,
}

impl<F: Fn(usize, &mut [Span]) + Send + Sync + 'static> NamedCells<F> {
    /// Learns the columns of a table; `None` if the deadline was reached.
    fn table(
        text: &Slice,
        names: Vec<String>,
        row_count: usize,
        read: F,
        deadline: &QueryDeadline,
    ) -> Option<FoundTable> {
        let mut learnt = vec![(ValueKinds::default(), FormLearner::default()); names.len()];
        let mut cells = vec![Span::default(); names.len()];
        for at in 0..row_count {
            read(at, &mut cells);
            for ((kinds, learner), cell) in learnt.iter_mut().zip(&cells).filter(|(_, cell)| !cell.is_empty())
            {
                tree::learn_value(cell.slice(text), kinds, learner);
            }
            if should_stop_at(at, deadline) {
                return None;
            }
        }
        let (mut unique, mut unlike) = (UniqueNames::default(), names.clone());
        UniqueNames::number_variants(&mut unlike);
        let learnt = unlike.iter().zip(&learnt).take(MAX_COLUMNS);
        let column = |(name, (kinds, learner)): (&String, &(ValueKinds, FormLearner))| {
            ColumnDef::new(unique.unique(name), *kinds, row_count).with_form(learner)
        };
        let mut columns: Vec<ColumnDef> = learnt.map(column).collect();
        let unlisted_field_count = names.len() - columns.len();
        ColumnDef::push_record_columns(&mut columns, &mut unique, row_count);
        let rows = Self { text: text.clone(), names, read };
        Some(FoundTable { unlisted_field_count, ..FoundTable::new(text, columns, row_count, rows) })
    }
}

impl<F: Fn(usize, &mut [Span]) + Send + Sync> TableRows for NamedCells<F> {
    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        let spans = vec![Span::default(); self.names.len()];
        RowBuffer { wanted_columns: wanted, spans, ..RowBuffer::default() }
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        (self.read)(at, &mut row.spans);
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.names.len().min(MAX_COLUMNS)) {
            None => match row.spans.get(column) {
                Some(span) if !span.is_empty() => Cell::from_json(span.slice(&self.text)),
                _ => Cell::Null,
            },
            Some(0) => {
                let cells = self.names.iter().zip(&row.spans).filter(|(_, cell)| !cell.is_empty());
                let members = cells.map(|(name, cell)| format!("{}:{}", quote(name), cell.slice(&self.text)));
                Cell::Text(format!("{{{}}}", members.collect::<Vec<_>>().join(",")).into())
            }
            Some(_) => Cell::from_count(row.index),
        }
    }
}
