//! Delimiter-separated values, and tables of documents, as `items`, one column per field.

use std::fmt::Write as _;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_json::span::Span;
use portion_text::column_form::{ColumnForm, FormLearner};
use portion_text::delimited::{DelimitedFormat, DelimitedRow};
use portion_text::document_table::DocumentTable;
use portion_text::names::UniqueNames;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundTable, RowBuffer, RowSource, TableRows, should_stop_at};

/// Source of the rows below the header of a delimited text.
pub(crate) struct CsvSource {
    pub(crate) text: Slice,
    pub(crate) format: DelimitedFormat,
}

struct CsvRows {
    text: Slice,
    format: DelimitedFormat,
    rows: Vec<Span>,
    /// Columns of the fields.
    fields: Vec<ColumnDef>,
}

impl RowSource for CsvSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let (names, rows) = self.format.columns_and_rows(&self.text);
        CsvRows::read(&self.text, self.format, &names, rows, deadline)
    }
}

/// Most characters of a row that a hint shows.
const MAX_SHOWN_CHARS: usize = 40;
/// Separator of the cells of a table in a document.
const CELL_SEPARATOR: char = '\u{1f}';

/// Source of the rows of a table in a document. Its cells are written as delimited text when the table is opened.
pub(crate) struct DocumentTableSource {
    pub(crate) text: Slice,
    pub(crate) table: DocumentTable,
}

impl RowSource for DocumentTableSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let mut rows = self.table.rows(&self.text, &|count| should_stop_at(count, deadline))?;
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let names = DocumentTable::column_names(&header, &rows);
        let mut text = String::new();
        for row in rows {
            for (at, cell) in row.into_iter().take(names.len()).enumerate() {
                if at > 0 {
                    text.push(CELL_SEPARATOR);
                }
                // An empty line would be no row.
                let is_plain = !cell.is_empty() && !cell.contains(['"', '\n', '\r', CELL_SEPARATOR]);
                if is_plain {
                    text.push_str(&cell);
                } else {
                    let _ = write!(text, "\"{}\"", cell.replace('"', "\"\""));
                }
            }
            text.push('\n');
        }
        let (text, format) = (Slice::new(text), DelimitedFormat::of_rows(CELL_SEPARATOR as u8));
        let mut reader = format.reader(&text);
        let rows = std::iter::from_fn(|| reader.next_row());
        CsvRows::read(&text, format, &names, rows, deadline)
    }
}

impl CsvRows {
    /// Keeps the places of all rows, and learns the forms of the columns.
    fn read(
        text: &Slice,
        format: DelimitedFormat,
        names: &[String],
        records: impl Iterator<Item = DelimitedRow>,
        deadline: &QueryDeadline,
    ) -> Option<FoundTable> {
        let mut unique = UniqueNames::default();
        let mut columns: Vec<ColumnDef> =
            names.iter().map(|name| ColumnDef::new(unique.unique(name), ValueKinds::default(), 0)).collect();
        let mut learners = vec![FormLearner::default(); columns.len()];
        let (mut rows, mut max_width) = (Vec::new(), columns.len());
        // Numbers of rows that may be none of the table, and the first of them: of one cell, or shorter at the end.
        let (mut overlong_row_count, mut single, mut short_end) = (0, (0, 0), (0, 0));
        let add = |odd: &mut (usize, usize), at| *odd = (odd.0 + 1, if odd.0 == 0 { at } else { odd.1 });
        for record in records {
            for ((column, learner), cell) in columns.iter_mut().zip(&mut learners).zip(record.cells()) {
                column.present_count += usize::from(!cell.is_empty());
                learner.insert(cell);
            }
            let has_empty_end = record.len() == columns.len() + 1 && record.cell(columns.len()) == Some("");
            let width = record.len() - usize::from(has_empty_end);
            max_width = max_width.max(width);
            overlong_row_count += usize::from(width > columns.len());
            if width == 1 && columns.len() > 2 {
                add(&mut single, rows.len());
            }
            if width < columns.len() {
                add(&mut short_end, rows.len());
            } else {
                short_end = (0, 0);
            }
            rows.push(record.span);
            if should_stop_at(rows.len(), deadline) {
                return None;
            }
        }
        let forms = FormLearner::forms(learners.iter());
        for ((column, form), learner) in columns.iter_mut().zip(forms).zip(&learners) {
            column.form = form;
            column.set_facts(learner);
            // Plain numbers of a cell are numbers as they are written, with words among them.
            column.kinds = match form {
                ColumnForm::Number if learner.has_fractions() => ValueKinds::REAL,
                ColumnForm::Number => ValueKinds::INTEGER,
                _ => ValueKinds::TEXT,
            };
            column.is_cell = form == ColumnForm::Number;
            if column.is_cell && learner.has_words() {
                column.kinds.insert(ValueKinds::TEXT);
            }
            column.has_padded_fractions =
                column.is_cell && !learner.has_words() && learner.has_padded_fractions();
            if column.present_count < rows.len() {
                column.kinds.insert(ValueKinds::NULL);
            }
        }
        let fields = columns.clone();
        ColumnDef::push_record_columns(&mut columns, &mut unique, rows.len());
        let (odd_count, first) = single.max(short_end);
        let first = rows.get(first).filter(|_| odd_count > 0).map(|row| row.slice(text).trim());
        let odd_rows = first.map(|first| (odd_count, first.chars().take(MAX_SHOWN_CHARS).collect()));
        let (row_count, heap_bytes) = (rows.len(), size_of_val(rows.as_slice()));
        let unlisted_field_count = max_width - fields.len();
        let rows = Self { text: text.clone(), format, rows, fields };
        let table = FoundTable::new(text, columns, row_count, rows);
        Some(FoundTable { heap_bytes, unlisted_field_count, overlong_row_count, odd_rows, ..table })
    }
}

impl TableRows for CsvRows {
    /// Locates the cells in the text itself, if none is in quotes: a reader takes longer to create than to read a row.
    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        row.spans.clear();
        row.owned_text.clear();
        let Some(span) = self.rows.get(at) else { return };
        let written = span.slice(&self.text);
        if !self.format.is_quoted || memchr::memchr(b'"', written.as_bytes()).is_none() {
            let line = written.trim_matches(['\r', '\n']);
            let mut start =
                span.start as usize + (written.len() - written.trim_start_matches(['\r', '\n']).len());
            for cell in line.split(char::from(self.format.delimiter)) {
                let before = if self.format.is_padded { cell.len() - cell.trim_start().len() } else { 0 };
                let len = if self.format.is_padded { cell.trim().len() } else { cell.len() };
                row.spans.push(Span::new(start + before, start + before + len));
                start += cell.len() + 1;
            }
            return;
        }
        let record = self.format.row_reader(written).next_row().unwrap_or_default();
        let mut start = 0;
        for end in &record.ends {
            row.spans.push(Span::new(start, *end));
            start = *end;
        }
        row.owned_text = record.text;
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.fields.len()) {
            None => match self.cell_text(row, column).unwrap_or_default() {
                "" => Cell::Null,
                cell => Cell::text(cell),
            },
            Some(0) => Cell::Text(self.row_as_object(row).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl CsvRows {
    fn cell_text<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Option<&'a str> {
        let range = row.spans.get(column)?.range();
        if row.owned_text.is_empty() {
            return self.text.get(range);
        }
        std::str::from_utf8(row.owned_text.get(range)?).ok()
    }

    /// Returns a row as a JSON object. Cells beyond the columns are named by their number.
    fn row_as_object(&self, row: &RowBuffer) -> String {
        let member = |name: &str, value: &str| format!("{}:{value}", quote(name));
        let fields = self.fields.iter().enumerate().map(|(at, column)| {
            let cell = self.cell_text(row, at).unwrap_or_default();
            // A plain number keeps its text.
            let is_number = column.form == ColumnForm::Number && column.form.number(cell).is_some();
            let value = if is_number { cell.to_owned() } else { quote(cell) };
            member(&column.name, if cell.is_empty() { "null" } else { &value })
        });
        let more = (self.fields.len()..row.spans.len()).filter_map(|at| {
            let text = self.cell_text(row, at).unwrap_or_default();
            let is_shown = at + 1 < row.spans.len() || !text.is_empty();
            is_shown.then(|| member(&format!("column_{}", at + 1), &quote(text)))
        });
        format!("{{{}}}", fields.chain(more).collect::<Vec<_>>().join(","))
    }
}
