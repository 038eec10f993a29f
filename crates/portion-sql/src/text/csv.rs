//! Delimiter-separated values as the table `items`, one column per field.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_json::span::Span;
use portion_text::delimited::{CellNumber, ColumnCells, DelimitedFormat, DelimitedReader, parse_number};
use portion_text::unique_names::UniqueNames;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;

/// Source of the rows below the header of a delimited text.
pub(crate) struct CsvSource {
    pub(crate) text: Slice,
    pub(crate) format: DelimitedFormat,
}

struct CsvRows {
    text: Slice,
    delimiter: u8,
    rows: Vec<Span>,
    columns: Vec<ColumnDef>,
    keeps_text: Vec<bool>,
    /// Number of cells of the longest row.
    max_width: usize,
}

impl RowSource for CsvSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut reader = self.format.reader(&self.text);
        let first = reader.next_row().unwrap_or_default();
        let mut names = UniqueNames::default();
        let mut columns: Vec<ColumnDef> = self
            .format
            .column_names(&first)
            .iter()
            .map(|name| ColumnDef::new(names.unique(name), ValueKinds::default(), 0))
            .collect();
        let mut kinds = vec![ColumnCells::default(); columns.len()];
        let (mut rows, mut max_width) = (Vec::new(), first.len());
        let mut next = if self.format.has_header { reader.next_row() } else { Some(first) };
        while let Some(record) = next {
            for ((column, kinds), cell) in columns.iter_mut().zip(&mut kinds).zip(record.cells()) {
                column.present_count += usize::from(!cell.is_empty());
                kinds.insert(cell);
            }
            let has_empty_end = record.len() == columns.len() + 1 && record.cell(columns.len()) == Some("");
            max_width = max_width.max(record.len() - usize::from(has_empty_end));
            rows.push(record.span);
            if should_stop_at(rows.len(), deadline) {
                return None;
            }
            next = reader.next_row();
        }
        ColumnCells::mark_pointed_thousands(&mut kinds);
        for (column, kinds) in columns.iter_mut().zip(&kinds) {
            column.kinds = value_kinds(kinds);
        }
        let mut record =
            ColumnDef::new(names.unique_builtin("item"), ValueKinds::OBJECT, rows.len()).into_hidden();
        record.is_record = true;
        columns.push(record);
        columns.push(
            ColumnDef::new(names.unique_builtin("_index"), ValueKinds::INTEGER, rows.len()).into_hidden(),
        );
        let keeps_text = kinds.iter().map(ColumnCells::keeps_text).collect();
        let (text, delimiter) = (self.text.clone(), self.format.delimiter);
        Some(Arc::new(CsvRows { text, delimiter, rows, columns, keeps_text, max_width }))
    }
}

/// Returns the kinds of the cells of a column.
pub(super) fn value_kinds(cells: &ColumnCells) -> ValueKinds {
    let counts = if cells.keeps_text() {
        [(ValueKinds::TEXT, 1), (ValueKinds::NULL, cells.empty_count)].to_vec()
    } else {
        vec![
            (ValueKinds::INTEGER, cells.integer_count),
            (ValueKinds::REAL, cells.real_count),
            (ValueKinds::TEXT, cells.text_count),
            (ValueKinds::NULL, cells.empty_count),
        ]
    };
    let mut kinds = ValueKinds::default();
    counts.into_iter().filter(|(_, count)| *count > 0).for_each(|(kind, _)| kinds.insert(kind));
    kinds
}

impl From<CellNumber> for Cell<'_> {
    fn from(number: CellNumber) -> Self {
        match number {
            CellNumber::Integer(integer) => Self::Integer(integer),
            CellNumber::Real(real) => Self::Real(real),
        }
    }
}

impl TableRows for CsvRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn unlisted_field_count(&self) -> usize {
        self.max_width.saturating_sub(self.field_count())
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        row.spans.clear();
        let Some(span) = self.rows.get(at) else { return };
        let record =
            DelimitedReader::new(span.slice(&self.text), self.delimiter).next_row().unwrap_or_default();
        let mut start = 0;
        for end in &record.ends {
            row.spans.push(Span::new(start, *end));
            start = *end;
        }
        row.owned_text = record.text;
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.field_count()) {
            None => self.field_cell(row, column),
            Some(0) => Cell::Text(self.row_as_object(row).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl CsvRows {
    /// Returns the number of columns that are fields.
    fn field_count(&self) -> usize {
        self.columns.len().saturating_sub(2)
    }

    fn field_cell<'a>(&self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let keeps_text = self.keeps_text.get(column).copied().unwrap_or(true);
        match Self::cell_text(row, column).unwrap_or_default() {
            "" => Cell::Null,
            cell if keeps_text => Cell::text(cell),
            cell => parse_number(cell).map_or(Cell::text(cell), Cell::from),
        }
    }

    fn cell_text(row: &RowBuffer, column: usize) -> Option<&str> {
        std::str::from_utf8(row.owned_text.get(row.spans.get(column)?.range())?).ok()
    }

    /// Returns a row as a JSON object. Cells beyond the columns are named by their number.
    fn row_as_object(&self, row: &RowBuffer) -> String {
        let mut object = String::from("{");
        for (at, column) in self.columns.iter().take(self.field_count()).enumerate() {
            if at > 0 {
                object.push(',');
            }
            object.push_str(&quote(&column.name));
            object.push(':');
            match self.field_cell(row, at) {
                Cell::Null => object.push_str("null"),
                Cell::Text(text) => object.push_str(&quote(&text)),
                // Numbers keep their original text.
                Cell::Integer(_) | Cell::Real(_) => {
                    object.push_str(Self::cell_text(row, at).unwrap_or("null"));
                }
            }
        }
        for at in self.field_count()..row.spans.len() {
            let text = Self::cell_text(row, at).unwrap_or_default();
            if at + 1 < row.spans.len() || !text.is_empty() {
                object.push(',');
                object.push_str(&quote(&format!("column_{}", at + 1)));
                object.push(':');
                object.push_str(&quote(text));
            }
        }
        object.push('}');
        object
    }
}
